"""docs/scenarios.md: every scenario with what it showed. `python -m gang_demo.show.page FILE` writes it anew.

FILE is the gang-demo.json of a run of all scenarios; without it, the outcomes that lie beside the page stay.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from gang_demo.case import Case
from gang_demo.catalogue import CASES, told
from gang_demo.model import Outcome
from gang_demo.show.picture import draw
from gang_demo.show.report import read
from gang_demo.show.tables import side_by_side
from kubeflow_volcano.cluster.objects import Object

__all__ = ["DIRECTORY", "PAGE", "main", "manifests", "render"]

PAGE = "docs/scenarios.md"
DIRECTORY = "docs/scenarios"
"""Where pictures, manifests and outcomes lie."""

_NAMESPACE = "demo"
_HEAD = """\
# Scenarios

What people install Volcano for, each beside a control without it: on a rehearsal cluster with the real Volcano, the real training operator and the real default scheduler. Pods with GPUs lie on simulated nodes; who places them, and when, is real.

    make gang-demo
    make gang-demo SCENARIO=two-jobs

Each case runs in namespaces of its own, which are removed again. It is judged by everything that a watch saw from its beginning to its end, not by how it ended: a gang that was in part on nodes for a moment too long has failed. Where the watch broke off, somebody else took pods away, or pods of Volcano or of the operator started anew meanwhile, nobody can tell; such a case is played once more. The run prints these tables and writes `reports/gang-demo.json` and a picture of each scenario. Volcano's configuration is the same for all of them ([playbooks/gang_demo.yml](../playbooks/gang_demo.yml)); it, the wiring of the operator and the nodes are put back afterwards.

The manifests have what a case creates, in its order, some of it a moment after the rest; simulated pods end by an annotation of the rehearsal cluster.

This page is written by `.venv/bin/python -m gang_demo.show.page` from the scenarios and from the outcomes of one run. {measured}

| scenario | |
|---|---|
{contents}
"""  # noqa: E501  paragraphs are lines


def render(document: Mapping[str, Any]) -> str:
    """The page of the outcomes in a document of one run."""
    outcomes = read(document["outcomes"])
    contents = "\n".join(f"| [{name}](#{name}) | {_lines(name)[0]} |" for name in outcomes)
    parts = [_HEAD.format(measured=_measured(document), contents=contents)]
    parts += [_section(name, items) for name, items in outcomes.items()]
    return "\n".join(parts)


def _measured(document: Mapping[str, Any]) -> str:
    machine = document["machine"]
    finished = str(document["finished"]).partition("T")[0]
    return f"It was made on {finished} on {machine['cpus']} cores, at a load of {machine['load']:.0f}."


def _lines(scenario: str) -> list[str]:
    """Paragraphs of what a scenario shows, each on one line."""
    return [" ".join(paragraph.split()) for paragraph in told(scenario).split("\n\n")]


def _section(name: str, outcomes: Sequence[Outcome]) -> str:
    cases = [case for case in CASES if case.scenario == name]
    versions = ", ".join(f"{program} {version}" for program, version in outcomes[0].versions.items())
    return "\n".join(
        [
            f"## {name}",
            "",
            "\n\n".join(_lines(name)),
            "",
            f"Nodes: {_nodes(cases)}. Run on {versions}.",
            "",
            "```text",
            side_by_side(outcomes),
            "```",
            "",
            f"![Who had a node when, in each case of {name}](scenarios/{name}.svg)",
            "",
            f"Manifests: {_links(cases)}.",
            "",
        ]
    )


def _links(cases: Sequence[Case]) -> str:
    found = ((name, "; ".join(titles)) for name, (_, titles) in manifests(cases).items())
    return ", ".join(f"[{name}](scenarios/{name}) ({titles})" for name, titles in found)


def _nodes(cases: Sequence[Case]) -> str:
    sizes = dict.fromkeys((case.nodes.count, case.nodes.gpus) for case in cases)
    return " and ".join(f"{count} of {gpus} GPU{'' if gpus == 1 else 's'}" for count, gpus in sizes)


def manifests(cases: Sequence[Case]) -> dict[str, tuple[str, list[str]]]:
    """Each manifest once, by the name of its file, with the titles of the cases that it is of."""
    names: dict[str, str] = {}
    found: dict[str, tuple[str, list[str]]] = {}
    for case in cases:
        text = _text(case.manifest(_NAMESPACE))
        name = names.setdefault(text, f"{case.name}.yaml")
        found.setdefault(name, (text, []))[1].append(case.title)
    return found


def _text(objects: Sequence[Object]) -> str:
    """The objects behind their namespaces, for `kubectl apply`."""
    spaces = dict.fromkeys(item["metadata"]["namespace"] for item in objects if "namespace" in item["metadata"])
    whole = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces]
    # Through JSON, so that what is the same in memory gets no anchor.
    plain = json.loads(json.dumps([*whole, *objects]))
    return "".join(yaml.dump(item, Dumper=_Indented, sort_keys=False, explicit_start=True) for item in plain)


class _Indented(yaml.SafeDumper):
    """Lists stand two blanks behind their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  PyYAML's signature
        super().increase_indent(flow, indentless=False)


def main(arguments: Sequence[str]) -> int:
    """Write the page, and with a document also the outcomes and pictures beside it; returns the exit code."""
    root = Path(__file__).parents[2]
    kept = root / DIRECTORY / "outcomes.json"
    document = json.loads(Path(arguments[0]).read_text("utf-8") if arguments else kept.read_text("utf-8"))
    if arguments:
        if missing := {case.name for case in CASES} - {item["case"] for item in document["outcomes"]}:
            sys.stderr.write(f"{arguments[0]} has no {', '.join(sorted(missing))}; the page needs a run of all.\n")
            return 2
        kept.parent.mkdir(exist_ok=True)
        for name, items in read(document["outcomes"]).items():
            (kept.parent / f"{name}.svg").write_text(draw(items), "utf-8")
        for item in document["outcomes"]:
            item["events"] = []  # they are in the pictures
        kept.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for name, (text, _) in manifests(CASES).items():
        (kept.parent / name).write_text(text, "utf-8")
    (root / PAGE).write_text(render(document), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
