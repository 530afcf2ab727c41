"""The report on a terminal: everything that needs attention, within one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.text import counted
from validators.report.clusters import describe_cluster, describe_verdicts
from validators.report.summary import ATTENTION, MARKS, attention, changes, counts, rollout, simulation

__all__ = ["render", "render_clusters"]

_COLOURS = {"fail": "31", "error": "35", "warn": "33", "skip": "2", "pass": "32", "incomplete": "35"}
_BEST_FIRST = ("pass", "warn", "incomplete", "fail")
_LONGEST_LINE, _LONGEST_SKIP = 600, 160
_MOST_COMMANDS = 3


def render(document: Mapping[str, Any], files: Mapping[str, str], *, colour: bool = False) -> str:
    """The summary of a report document, failures last, next to the prompt. `files` are the written reports."""
    summary = document["summary"]
    lines = [_head(document), _verdict(summary["verdict"], counts(summary), colour=colour)]
    lines.extend(_skips(document))
    cleanup = "" if "hosts" in document else _cleanup(document)
    lines.append(_paint(f" {MARKS['pass']} {summary['pass']} passed", "pass", colour=colour) + cleanup)
    lines.extend(_comparison(document["baseline"]))
    if note := simulation(document):
        lines.append(note)
    if problems := rollout(document):
        lines.append(f" ! {problems}")
    if retries := document["run"]["retries"]:
        lines.append(f"retried: {counted(retries, 'request')} after transient API server errors.")
    for items in _worst_last(attention(document), lambda items: items[0]["status"]):
        lines.extend(_finding(items, colour=colour))
    lines.extend(f" ! left behind: {_object(item)} ({item['why']})" for item in document["cleanup"]["left"])
    return _whole(lines, files)


def render_clusters(document: Mapping[str, Any], files: Mapping[str, str], *, colour: bool = False) -> str:
    """The summary of a document of several clusters: a line for each, then every finding once, failures last."""
    summary = document["summary"]
    lines = [f"kubeflow-volcano {document['run']['tool']}  {counted(summary['clusters'], 'cluster')}"]
    lines.append(_verdict(summary["verdict"], describe_verdicts(document), colour=colour))
    for item in sorted(document["clusters"], key=lambda item: _BEST_FIRST.index(item["verdict"])):
        lines.extend(_cluster(item, colour=colour))
    lines.extend(f"same cluster: {', '.join(names)}" for names in document["same_cluster"])
    for row in _worst_last(document["attention"], lambda row: row["status"]):
        first, *rest = _finding([{**row, **check} for check in row["checks"]], colour=colour)
        lines += [first, f"       on        {', '.join(row['clusters'])}", *rest]
    return _whole(lines, files)


def _worst_last(items: Sequence[Any], status: Callable[[Any], str]) -> list[Any]:
    return sorted(items, key=lambda item: -ATTENTION.index(status(item)))


def _whole(lines: Sequence[str], files: Mapping[str, str]) -> str:
    return "\n".join([*lines, *(f"report  {path}" for path in files.values())]) + "\n"


def _verdict(verdict: str, words: str, *, colour: bool) -> str:
    return _paint(f"{verdict.upper()}  {words}", verdict, colour=colour)


def _head(document: Mapping[str, Any]) -> str:
    run, cluster = document["run"], document["cluster"]
    rest = f"Kubeflow {run['release']}  {counted(document['summary']['planned'], 'check')}  {run['duration_s']:.0f} s"
    if hosts := document.get("hosts"):
        answered = f"{hosts['answered']} of {len(hosts['asked'])} hosts answered ({', '.join(hosts['os'])})"
        where = f"preflight: {answered}, {cluster['server_version'] or 'no cluster'}"
    else:
        known = (cluster["server_version"] or "not reached", counted(cluster["nodes"], "node"), *cluster["os"])
        where = f"cluster {cluster['origin']} ({', '.join(known)})"
    return f"kubeflow-volcano {run['tool']}  {where}  {rest}"


def _cluster(item: Mapping[str, Any], *, colour: bool) -> Iterator[str]:
    how = f": {counts(item['summary'])}, {item['run']['duration_s']:.0f} s" if item["summary"] else ""
    verdict = item["verdict"]
    yield _paint(f" {MARKS[verdict]} {item['name']}  {describe_cluster(item)}{how}", verdict, colour=colour)
    yield from (f"       {_one_line(text)}" for text in item["problems"])
    if item["left_behind"]:
        yield f"       left behind: {counted(item['left_behind'], 'probe object')}"
    if item["run"] and item["run"]["interrupted"]:
        yield "       the run was interrupted"


def _finding(items: Sequence[Mapping[str, Any]], *, colour: bool) -> list[str]:
    """Lines of one finding, of one check or of several with the same message: found, needed, do."""
    item, status = items[0], items[0]["status"]
    names = f"{item['id']:<3} {item['slug']}  {item['title']}"
    if len(items) > 1:
        names = f"{len(items)} checks: {' '.join(each['id'] for each in items)}"
    lines = [_paint(f" {MARKS[status]} {names}", status, colour=colour)]
    lines.append(f"       found     {_one_line(item['message'])}")
    if item["expected"] and len(items) == 1:
        lines.append(f"       needed    {_one_line(item['expected'])}")
    if item["remediation"]["text"]:
        lines.append(f"       do        {_one_line(item['remediation']['text'])}")
    for word, key in (("look", "commands"), ("change", "changes")):
        commands = item["remediation"][key][:_MOST_COMMANDS]
        lines.extend(f"       {word:<9} $ {_one_line(command)}" for command in commands)
    return lines


def _skips(document: Mapping[str, Any]) -> list[str]:
    """One line for each reason, with all checks that were skipped for it."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for item in document["checks"]:
        if item["status"] == "skip":
            groups.setdefault(item["message"], []).append(item)
    return [
        f" {MARKS['skip']} {_names(items)}  {_one_line(message, _LONGEST_SKIP)}" for message, items in groups.items()
    ]


def _names(items: list[Mapping[str, Any]]) -> str:
    if len(items) == 1:
        return f"{items[0]['id']:<3} {items[0]['slug']}"
    return " ".join(item["id"] for item in items)


def _comparison(baseline: Mapping[str, Any] | None) -> list[str]:
    if baseline is None:
        return []
    found = "; ".join(f"{words}: {', '.join(names)}" for words, names in changes(baseline).items())
    where = " of another cluster" if baseline["same_cluster"] is False else ""
    return [f"compared with run {baseline['run']} of {baseline['started']}{where}: {found or 'no finding in either'}"]


def _cleanup(document: Mapping[str, Any]) -> str:
    cleanup = document["cleanup"]
    swept = f", {counted(cleanup['swept'], 'leftover')} of earlier runs removed" if cleanup["swept"] else ""
    return f"  cleanup: {cleanup['removed']} of {cleanup['created']} probe objects removed{swept}"


def _object(item: Mapping[str, str]) -> str:
    return f"{item['kind']} {item['namespace']}{'/' if item['namespace'] else ''}{item['name']}"


def _one_line(text: str, longest: int = _LONGEST_LINE) -> str:
    """The text in one line, cut to `longest` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def _paint(text: str, status: str, *, colour: bool) -> str:
    """The text in the colour of a status or verdict, with `colour`."""
    return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m" if colour else text
