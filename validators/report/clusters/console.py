"""What a person sees at the end of a run over several clusters: one line for each, then every finding once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from validators.report.console import ATTENTION, MARKS, counted, finding, line, paint

__all__ = ["render", "told", "total", "where"]

_VERDICTS = ("pass", "warn", "incomplete", "fail")
_WORDS = {"fail": "failed", "incomplete": "incomplete", "warn": "with warnings", "pass": "passed"}


def render(document: Mapping[str, Any], files: Mapping[str, str], *, colour: bool = False) -> str:
    """The summary of a document of several clusters, failures last. `files` are the written reports."""
    verdict = document["summary"]["verdict"]
    lines = [f"kubeflow-volcano {document['run']['tool']}  {total(document)}"]
    lines.append(paint(f"{verdict.upper()}  {told(document)}", verdict, colour=colour))
    for item in sorted(document["clusters"], key=lambda item: _VERDICTS.index(item["verdict"])):
        lines.extend(_cluster(item, colour=colour))
    lines.extend(f"one and the same cluster: {', '.join(names)}" for names in document["same_cluster"])
    for row in sorted(document["attention"], key=lambda row: -ATTENTION.index(row["status"])):
        lines.extend(_finding(row, colour=colour))
    lines.extend(f"report  {path}" for path in files.values())
    return "\n".join(lines) + "\n"


def total(document: Mapping[str, Any]) -> str:
    """How many clusters."""
    number = document["summary"]["clusters"]
    return f"{number} cluster{'' if number == 1 else 's'}"


def told(document: Mapping[str, Any]) -> str:
    """How many clusters ended how, in words."""
    summary = document["summary"]
    return ", ".join(f"{summary[key]} {word}" for key, word in _WORDS.items() if summary[key])


def where(item: Mapping[str, Any]) -> str:
    """What the cluster is: versions, and how many nodes."""
    cluster, run = item["cluster"], item["run"]
    if not (cluster and cluster["server_version"]):
        return "not reached"
    simulated = f", {cluster['simulated_nodes']} of them simulated" if cluster["simulated_nodes"] else ""
    return f"{cluster['server_version']}, {cluster['nodes']} nodes{simulated}, Kubeflow {run['release']}"


def _cluster(item: Mapping[str, Any], *, colour: bool) -> Iterator[str]:
    verdict = item["verdict"]
    mark = MARKS["error" if verdict == "incomplete" else verdict]
    how = f": {counted(item['summary'])}, {item['run']['duration_s']:.0f} s" if item["summary"] else ""
    yield paint(f" {mark} {item['name']}  {where(item)}{how}", verdict, colour=colour)
    yield from (f"       {line(text)}" for text in item["problems"])
    if item["left_behind"]:
        yield f"       {item['left_behind']} probe objects were left behind"
    if item["run"] and item["run"]["interrupted"]:
        yield "       the run was interrupted"


def _finding(row: Mapping[str, Any], *, colour: bool) -> Iterator[str]:
    first, *rest = finding([{**row, **check} for check in row["checks"]], colour=colour)
    yield first
    yield f"       on        {', '.join(row['clusters'])}"
    yield from rest
