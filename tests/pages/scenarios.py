"""docs/scenarios.md: every scenario with its outcome, from the outcomes and pictures of one run, kept beside it.

`python -m tests.pages.scenarios FILE` keeps those of another run: FILE is its gang-demo.json. `make generate` then
writes the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.gang_demo.catalogue import CASES, describe
from kubeflow_volcano.gang_demo.model import Outcome
from kubeflow_volcano.gang_demo.play.stand import Case
from kubeflow_volcano.gang_demo.show.picture import draw
from kubeflow_volcano.gang_demo.show.report import read, side_by_side
from tests.places import ROOT

PAGE = "docs/scenarios.md"
DIRECTORY = "docs/scenarios"
"""Directory of pictures, manifests and outcomes."""

_NAMESPACE = "demo"
_HEAD = """\
# Scenarios

What people install Volcano for, each feature beside a control without it, on a rehearsal cluster with the real Volcano, the real training operator and the real default scheduler. Pods with GPUs run on simulated nodes; the schedulers that place them are real.

<!-- not run: tests/integration/test_gang_demo.py plays all scenarios -->
```sh
make gang-demo
```

One of them:

```sh
make gang-demo SCENARIO=two-jobs
```

Each case runs in namespaces of its own, which are deleted afterwards. It is judged by all changes that a watch saw, not by its end state: a gang that was partly on nodes for too long has failed. A case is inconclusive, and played once more, if the watch broke off, if something else deleted pods, or if pods of Volcano or of the operator restarted. The run prints these tables and writes `reports/gang-demo.json` and a picture of each scenario. All scenarios use the same configuration of Volcano ([playbooks/gang_demo.yml](../playbooks/gang_demo.yml)); the playbook restores the configuration, the wiring of the operator and the nodes afterwards. With `-e gang_scheduling_scheduler=kubernetes` the playbook plays source, two-jobs, preemption and elastic with Kubernetes' own gangs, as Jobs with a PodGroup ([what came of it](gang-scheduling.md#scenarios-with-kubernetes-own-gangs)). With `-e gang_scheduling_scheduler=scheduler-plugins` it plays these, job-kinds and pipelines with scheduler-plugins ([what need not hold](gang-scheduling.md#scenarios-with-scheduler-plugins)).

The manifests contain what a case creates, in order; some objects are created a moment after the others. Simulated pods end by an annotation of the rehearsal cluster.

`make generate` writes this page from the scenarios and the outcomes of one run. {measured}

| scenario | |
|---|---|
{contents}
"""  # noqa: E501  paragraphs are lines


def render(document: Mapping[str, Any]) -> str:
    """The page for the outcomes in the document of one run."""
    outcomes = read(document["outcomes"])
    contents = "\n".join(f"| [{name}](#{name}) | {_lines(name)[0]} |" for name in outcomes)
    parts = [_HEAD.format(measured=_measured(document), contents=contents)]
    parts += [_section(name, items) for name, items in outcomes.items()]
    return "\n".join(parts)


def _measured(document: Mapping[str, Any]) -> str:
    machine = document["machine"]
    finished = str(document["finished"]).partition("T")[0]
    return f"The run ended on {finished}, on {machine['cpus']} cores with a load of {machine['load']:.0f}."


def _lines(scenario: str) -> list[str]:
    """Paragraphs of the description of a scenario, each on one line."""
    return [" ".join(paragraph.split()) for paragraph in describe(scenario).split("\n\n")]


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
            f"![Pods and their nodes over time, in each case of {name}](scenarios/{name}.svg)",
            "",
            f"Manifests: {_links(cases)}.",
            "",
        ]
    )


def _links(cases: Sequence[Case]) -> str:
    links = ((name, "; ".join(titles)) for name, (_, titles) in manifests(cases).items())
    return ", ".join(f"[{name}](scenarios/{name}) ({titles})" for name, titles in links)


def _nodes(cases: Sequence[Case]) -> str:
    sizes = dict.fromkeys((case.nodes.count, case.nodes.gpus) for case in cases)
    return " and ".join(f"{count} of {gpus} GPU{'' if gpus == 1 else 's'}" for count, gpus in sizes)


def manifests(cases: Sequence[Case]) -> dict[str, tuple[str, list[str]]]:
    """Each manifest once, by the name of its file, with the titles of its cases."""
    names: dict[str, str] = {}
    by_path: dict[str, tuple[str, list[str]]] = {}
    for case in cases:
        text = _text(case.manifest(_NAMESPACE))
        name = names.setdefault(text, f"{case.name}.yaml")
        by_path.setdefault(name, (text, []))[1].append(case.title)
    return by_path


def _text(objects: Sequence[Object]) -> str:
    """The namespaces and then the objects, for `kubectl apply`."""
    spaces = dict.fromkeys(item["metadata"]["namespace"] for item in objects if "namespace" in item["metadata"])
    whole = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces]
    # Through JSON, so that YAML has no anchors for objects that are the same in memory.
    plain = read_json(json.dumps([*whole, *objects]))
    return "".join(yaml.dump(item, Dumper=_Indented, sort_keys=False, explicit_start=True) for item in plain)


class _Indented(yaml.SafeDumper):
    """Indents lists by two spaces."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  PyYAML's signature
        super().increase_indent(flow, indentless=False)


def main(arguments: Sequence[str]) -> int:
    """Keep the outcomes and pictures of a run of all cases; returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tests.pages.scenarios FILE, the gang-demo.json of a run of all scenarios\n")
        return 2
    document = read_json(Path(arguments[0]).read_text("utf-8"))
    if missing := {case.name for case in CASES} - {item["case"] for item in document["outcomes"]}:
        sys.stderr.write(f"{arguments[0]} lacks {', '.join(sorted(missing))}; the page needs a run of all cases.\n")
        return 2
    directory = ROOT / DIRECTORY
    directory.mkdir(exist_ok=True)
    for name, items in read(document["outcomes"]).items():
        (directory / f"{name}.svg").write_text(draw(items), "utf-8")
    for item in document["outcomes"]:
        item["events"] = []  # the pictures show them
    (directory / "outcomes.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
