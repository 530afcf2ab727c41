"""The report for a browser: one file that needs no network and no script, rendered from the document alone.

`manual` is the URL of the manual of checks, relative to the report; empty where there is none.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from kubeflow_volcano.experiment.timeline import WIDTH, pictures
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import counted, say, speaking, tag, translated
from kubeflow_volcano.validators.report.clusters import (
    clusters_with,
    describe_cluster,
    describe_verdicts,
    differing_checks,
)
from kubeflow_volcano.validators.report.document import anchor
from kubeflow_volcano.validators.report.summary import (
    ATTENTION,
    MARKS,
    WORDS,
    affected,
    attention,
    counts,
    findings,
    gpus,
    name_of,
    number_of_nodes,
    rollout,
    said,
    simulation,
    skip_reasons,
    words,
)
from kubeflow_volcano.validators.report.wording import in_words, in_words_of_clusters

_ORDER = tuple(WORDS)
_CHECKS_FIRST = (
    "attention", "baseline", "hosts", "checks", "gang", "nodes", "images", "storage", "conformance", "run",
)  # fmt: skip
_STATE_FIRST = (
    "attention", "baseline", "gang", "nodes", "images", "storage", "checks", "conformance", "run",
)  # fmt: skip
_WORST_FIRST = ("fail", "incomplete", "warn", "pass")
_CLUSTER = "(cluster-wide)"  # not a valid name of a namespace
_MOST_EVIDENCE = 8_000
_MOST_SQUARES = 40
_MOST_NAMESPACES = 100


def render(document: Mapping[str, Any], evidence: Mapping[str, str], manual: str = "", language: str = ENGLISH) -> str:
    """HTML of a report document. `evidence` has the texts that are written beside it, by path."""
    with speaking(language):
        return _of_run(in_words(document), evidence, manual)


def _of_run(document: Mapping[str, Any], evidence: Mapping[str, str], manual: str) -> str:
    namespaces = _namespaces(document["checks"])
    families = list(dict.fromkeys(item["category"] for item in document["checks"]))
    script = _source("report.js")
    groups = attention(document)
    drawn = pictures(document)
    return _page(
        "report.html.j2",
        document,
        manual,
        _source("report.css") + _filters(families, namespaces),
        script=script,
        script_hash=_hash(script),
        kind=say("Preflight") if "hosts" in document else say("Validation"),
        sections=_sections(document, findings=bool(groups), pictures=bool(drawn)),
        groups=_by_family(document["checks"]),
        attention=groups,
        affected=[affected(document, items) for items in groups],
        simulation=simulation(document),
        rollout=rollout(document),
        gpus=gpus(document),
        number_of_nodes=number_of_nodes(document["cluster"]),
        share=_share(document["summary"]),
        families=families,
        namespaces=namespaces,
        classes={name: f"n{number}" for number, name in enumerate(namespaces)},
        hosts=_hosts(document),
        pictures=drawn,
        width=WIDTH,
        everywhere=_CLUSTER,
        evidence={path: text[-_MOST_EVIDENCE:] for path, text in evidence.items()},
        most_evidence=_MOST_EVIDENCE,
        most_squares=_MOST_SQUARES,
    )


def _sections(document: Mapping[str, Any], *, findings: bool, pictures: bool) -> dict[str, str]:
    """Title of each section by its id, in order: what a reader looks for after this verdict comes first."""
    of_hosts = "hosts" in document
    have = {
        "attention": say("Needs attention") if findings else "",
        "baseline": say("Compared") if document["baseline"] else "",
        "hosts": say("Hosts") if of_hosts else "",
        "checks": say("Checks"),
        "gang": say("Gang experiment") if pictures else "",
        "nodes": "" if of_hosts else say("Nodes and GPUs"),
        "images": "" if of_hosts else say("Images"),
        "storage": "" if of_hosts else say("Storage"),
        "conformance": say("AI conformance") if document["conformance"] else "",
        "run": say("This run"),
    }
    failed = document["summary"]["verdict"] in {"fail", "incomplete"}
    order = _CHECKS_FIRST if failed or of_hosts else _STATE_FIRST
    return {name: have[name] for name in order if have[name]}


def _by_family(checks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Checks of each family, the worst first; families with findings come first and are open."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for item in sorted(checks, key=lambda item: _ORDER.index(item["status"])):
        groups.setdefault(item["category"], []).append(item)
    return [
        {
            "name": name,
            "checks": items,
            "counts": {status: number for status in _ORDER if (number := _number(items, status))},
            "open": items[0]["status"] in ATTENTION,
            "namespaces": list(dict.fromkeys(found for item in items for found in _namespaces_of(item))),
        }
        for name, items in groups.items()
    ]


def _number(checks: Iterable[Mapping[str, Any]], status: str) -> int:
    return sum(item["status"] == status for item in checks)


def render_clusters(document: Mapping[str, Any], manual: str = "", language: str = ENGLISH) -> str:
    """HTML of a document of several clusters, with links to the report of each."""
    with speaking(language):
        return _of_clusters(in_words_of_clusters(document), manual)


def _of_clusters(document: Mapping[str, Any], manual: str) -> str:
    rows, rest = differing_checks(document)
    return _page(
        "clusters.html.j2",
        document,
        manual,
        _source("report.css"),
        verdicts=describe_verdicts(document),
        clusters=sorted(document["clusters"], key=lambda item: _WORST_FIRST.index(item["verdict"])),
        pages={item["name"]: item["files"].get("html", "") for item in document["clusters"]},
        rows=rows,
        rest=rest,
    )


def _page(template: str, document: Mapping[str, Any], manual: str, style: str, **more: Any) -> str:
    return (
        _environment()
        .get_template(template)
        .render(
            document=document, manual=manual, style=style, style_hash=_hash(style), words=words(), lang=tag(), **more
        )
    )


@cache
def _environment() -> jinja2.Environment:
    """Of templates by their file's name; they escape everything."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"marks": MARKS, "say": say, "counted": counted, "anchor": anchor, "name_of": name_of}
    environment.filters |= {
        "counts": counts,
        "skip_reasons": skip_reasons,
        "findings": findings,
        "said": said,
        "translated": translated,
        "describe_cluster": describe_cluster,
        "namespaces": _namespaces_of,
        "plain": _plain,
        "with_status": clusters_with,
    }
    return environment


@cache
def _source(name: str) -> str:
    """Text of one file of the page."""
    return (files("kubeflow_volcano.validators.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Source expression with which a Content-Security-Policy allows this one style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _filters(families: Sequence[str], namespaces: Sequence[str]) -> str:
    """CSS rules that hide what is not selected. They contain numbers in place of the cluster's names.

    They reach only the form's siblings and their children: with rules for the whole page, a browser would take a minute
    to apply each one to the report of a large cluster.
    """
    rules = [
        *(f".filters:has(#s-{name}:not(:checked)) ~ .family > .check.{name}" for name in Status),
        *(f".filters:has(#f-{name}:not(:checked)) ~ .family.f-{name}" for name in families),
        *(
            f'.filters:has([value="n{number}"]:checked) ~ .family{of}:not(.n{number})'
            for number in range(len(namespaces))
            for of in ("", " > .check")
        ),
    ]
    return ",\n".join(rules) + "{display:none}\n"


def _namespaces_of(item: Mapping[str, Any]) -> list[str]:
    """Namespaces of the objects of a check."""
    return list(dict.fromkeys(ref["namespace"] or _CLUSTER for ref in item["objects"])) or [_CLUSTER]


def _namespaces(checks: Iterable[Mapping[str, Any]]) -> list[str]:
    names = {name for item in checks for name in _namespaces_of(item)}
    return sorted(names, key=lambda name: (name == _CLUSTER, name))[:_MOST_NAMESPACES]


def _share(summary: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Status, start and width of each part of the bar, in percent."""
    parts, start = [], 0.0
    for status in _ORDER:
        width = 100 * summary[status] / summary["planned"]
        parts.append((status, round(start, 2), round(width, 2)))
        start += width
    return [part for part in parts if part[2]]


def _hosts(document: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Findings of a preflight by host; every host of the run has an entry."""
    by_host: dict[str, list[dict[str, str]]] = {name: [] for name in document.get("hosts", {}).get("asked", ())}
    for item in document["checks"]:
        for row in item["observed"].get("findings", ()) if by_host else ():
            status = row.get("status", item["status"])
            for name in row["hosts"] if status != Status.PASS else ():
                by_host.setdefault(name, []).append({"id": item["id"], "status": status, "found": row["found"]})
    return by_host


def _plain(value: Any) -> str:
    """An observed value as text."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
