"""The report for CI systems, as JUnit XML: one suite for each family, one case for each check.

It uses the elements and attributes that Jenkins' xunit plugin (junit-10.xsd) and Ant's formatter have in common:
suites have properties, a case has at most one of failure, error and skipped, and everything else is its system-out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import counted, say, speaking, translated
from kubeflow_volcano.validators.report.clusters import Judged
from kubeflow_volcano.validators.report.wording import in_words

_SUITE = "kfv"
# https://www.w3.org/TR/xml/#charsets
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_Item = Mapping[str, Any]


def render(document: Mapping[str, Any], evidence: Mapping[str, str], language: str = ENGLISH) -> str:
    """JUnit XML of a report document; `evidence` has the texts that are written beside it, by path.

    A warning is a passed case with the finding in its output; in a strict run it is a failure. Names of suites and
    classes, types and properties are the same in every language.
    """
    run = document["run"]
    with speaking(language):
        suites = _suites(in_words(document), evidence, _SUITE)
    return _whole(f"{_SUITE} {run['release']}", suites, seconds=run["duration_s"])


def render_clusters(judged: Sequence[Judged], language: str = ENGLISH) -> str:
    """JUnit XML of several clusters, each with its own suites. A cluster without a report is one case, an error."""
    with speaking(language):
        return _of_clusters(judged)


def _of_clusters(judged: Sequence[Judged]) -> str:
    parts: list[ET.Element] = []
    for item in judged:
        # A dot would end the name of a package, which is the cluster.
        prefix = f"{_SUITE}.{item.name.replace('.', '_')}"
        if item.document:
            parts += _suites(in_words(item.document), {}, prefix)
        else:
            parts.append(_unjudged(prefix, "\n".join(translated(str(problem)) for problem in item.problems)))
    seconds = sum(item.document["run"]["duration_s"] for item in judged if item.document)
    return _whole(f"{_SUITE} {counted(len(judged), 'cluster')}", parts, seconds=seconds)


def _suites(document: Mapping[str, Any], evidence: Mapping[str, str], prefix: str) -> list[ET.Element]:
    """One suite for each family; names of suites and classes begin with `prefix`."""
    families: dict[str, list[_Item]] = {}
    for item in document["checks"]:
        families.setdefault(item["category"], []).append(item)
    return [_suite(document, f"{prefix}.{family}", checks, evidence) for family, checks in families.items()]


def _unjudged(name: str, message: str) -> ET.Element:
    """A suite with one case, which is an error."""
    suite = ET.Element("testsuite", name=_legal(name), tests="1", failures="0", errors="1", skipped="0", time="0.000")
    case = ET.SubElement(suite, "testcase", classname=_legal(name), name="validation", time="0.000")
    ET.SubElement(case, "error", message=_legal(message), type="NotJudged").text = _legal(message)
    return suite


def _whole(name: str, parts: Sequence[ET.Element], *, seconds: float) -> str:
    """The file with these suites and the sums of their counts."""
    root = ET.Element("testsuites")
    root.extend(parts)
    counts = {key: sum(int(suite.get(key, "0")) for suite in root) for key in ("tests", "failures", "errors")}
    root.attrib = {
        "name": _legal(name),
        **{key: str(number) for key, number in counts.items()},
        "time": f"{seconds:.3f}",
    }
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(document: Mapping[str, Any], name: str, checks: Sequence[_Item], evidence: Mapping[str, str]) -> ET.Element:
    strict = bool(document["run"]["args"].get("strict"))
    suite = ET.Element("testsuite")
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(document).items():
        ET.SubElement(properties, "property", name=key, value=_legal(value))
    for item in checks:
        suite.append(_case(name, item, evidence, strict=strict))
    suite.attrib = {
        "name": _legal(name),
        "tests": str(len(checks)),
        "failures": str(len(suite.findall("testcase/failure"))),
        "errors": str(len(suite.findall("testcase/error"))),
        "skipped": str(len(suite.findall("testcase/skipped"))),
        "time": f"{sum(item['duration_s'] for item in checks):.3f}",
        "timestamp": document["run"]["started"].removesuffix("Z"),
    }
    return suite


def _properties(document: Mapping[str, Any]) -> dict[str, str]:
    run, cluster, summary = document["run"], document["cluster"], document["summary"]
    return {
        "run": run["id"],
        "tool": run["tool"],
        "kubeflow": run["release"],
        "kubernetes": cluster["server_version"],
        "cluster": cluster["uid"],
        "verdict": summary["verdict"],
        "coverage": f"{summary['coverage']:.4f}",
        "interrupted": str(run["interrupted"]).lower(),
        "simulated nodes": _number(cluster["simulated_nodes"]),
        "simulated pods": _number(cluster["simulated_pods"]),
    }


def _number(number: int | None) -> str:
    return "not read" if number is None else str(number)


def _case(suite: str, item: _Item, evidence: Mapping[str, str], *, strict: bool) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=_legal(suite),
        name=_legal(f"{item['id']} {item['title']}"),
        time=f"{item['duration_s']:.3f}",
    )
    tag = {"fail": "failure", "error": "error", "skip": "skipped", "warn": "failure" if strict else ""}.get(
        item["status"], ""
    )
    if tag:
        mark = ET.SubElement(case, tag, message=_legal(item["message"]), type=_legal(item["reason"]))
        mark.text = _legal(_describe(item)) if tag != "skipped" else None
    output = [] if tag or item["status"] == "pass" else [f"{say(item['status'])}: {_describe(item)}"]
    if waived := item["waived"]:
        found = f"{say('found')} {say(waived['status'])}: {waived['message']}"
        output.append(f"{item['message']}\n{found}")
    output += [f"--- {path}\n{evidence[path]}" for path in item["evidence"] if path in evidence]
    if output:
        ET.SubElement(case, "system-out").text = _legal("\n\n".join(output))
    return case


def _describe(item: _Item) -> str:
    parts = (
        ("found", item["message"]),
        ("needed", item["expected"]),
        ("do", item["remediation"]["text"]),
        *(("look", command) for command in item["remediation"]["commands"]),
        *(("change", command) for command in item["remediation"]["changes"]),
        ("see", item["remediation"]["url"]),
    )
    return "\n".join(f"{say(name):<7} {words}" for name, words in parts if words)


def _legal(text: str) -> str:
    """The text with characters that XML forbids, even as references, as Python escapes."""
    return _ILLEGAL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
