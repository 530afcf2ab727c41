"""The report on a terminal: everything that needs attention, within one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import counted, padded, say, speaking
from kubeflow_volcano.validators.report.clusters import describe_cluster, describe_verdicts
from kubeflow_volcano.validators.report.summary import (
    ATTENTION,
    MARKS,
    affected,
    attention,
    changes,
    counts,
    gpus,
    number_of_nodes,
    rollout,
    simulation,
)
from kubeflow_volcano.validators.report.wording import in_words, in_words_of_clusters

__all__ = ["render", "render_clusters"]

_COLOURS = {"fail": "31", "error": "35", "warn": "33", "skip": "2", "pass": "32", "incomplete": "35"}
_BEST_FIRST = ("pass", "warn", "incomplete", "fail")
_LONGEST_LINE, _LONGEST_SKIP = 600, 160
_MOST_COMMANDS = 3


def render(
    document: Mapping[str, Any], files: Mapping[str, str], *, colour: bool = False, language: str = ENGLISH
) -> str:
    """The summary of a report document, failures last, next to the prompt. `files` are the written reports."""
    with speaking(language):
        return _whole(_lines(in_words(document), colour=colour), files)


def _lines(document: Mapping[str, Any], *, colour: bool) -> list[str]:
    summary = document["summary"]
    lines = [_head(document), _verdict(summary["verdict"], counts(summary), colour=colour)]
    lines.extend(_skips(document))
    cleanup = "" if "hosts" in document else _cleanup(document)
    lines.append(_paint(f" {MARKS['pass']} {_number('passed', summary['pass'])}", "pass", colour=colour) + cleanup)
    lines.extend(_comparison(document["baseline"]))
    if note := simulation(document):
        lines.append(note)
    if problems := rollout(document):
        lines.append(f" ! {problems}")
    if retries := document["run"]["retries"]:
        words = "retried: {requests} after transient API server errors."
        lines.append(say(words, requests=counted(retries, "request")))
    if devices := gpus(document):
        lines.append(f"{say('GPUs')}{say(': ')}{_one_line(devices)}")
    for items in _worst_last(attention(document), lambda items: items[0]["status"]):
        first, message, *rest = _finding(items, colour=colour)
        ids = " ".join(item["id"] for item in affected(document, items))
        lines += [first, message, *([_part("affects", ids)] if ids else []), *rest]
    left = document["cleanup"]["left"]
    return lines + [say(" ! left behind: {object} ({why})", object=_object(item), why=item["why"]) for item in left]


def render_clusters(
    document: Mapping[str, Any], files: Mapping[str, str], *, colour: bool = False, language: str = ENGLISH
) -> str:
    """The summary of a document of several clusters: a line for each, then every finding once, failures last."""
    with speaking(language):
        return _whole(_lines_of_clusters(in_words_of_clusters(document), colour=colour), files)


def _lines_of_clusters(document: Mapping[str, Any], *, colour: bool) -> list[str]:
    summary = document["summary"]
    lines = [f"kubeflow-volcano {document['run']['tool']}  {counted(summary['clusters'], 'cluster')}"]
    lines.append(_verdict(summary["verdict"], describe_verdicts(document), colour=colour))
    for item in sorted(document["clusters"], key=lambda item: _BEST_FIRST.index(item["verdict"])):
        lines.extend(_cluster(item, colour=colour))
    lines.extend(say("same cluster: {names}", names=", ".join(names)) for names in document["same_cluster"])
    for row in _worst_last(document["attention"], lambda row: row["status"]):
        first, *rest = _finding([{**row, **check} for check in row["checks"]], colour=colour)
        lines += [first, _part("on", ", ".join(row["clusters"])), *rest]
    return lines


def _worst_last(items: Sequence[Any], status: Callable[[Any], str]) -> list[Any]:
    return sorted(items, key=lambda item: -ATTENTION.index(status(item)))


def _whole(lines: Sequence[str], files: Mapping[str, str]) -> str:
    return "\n".join([*lines, *(f"{say('report')}  {path}" for path in files.values())]) + "\n"


def _verdict(verdict: str, words: str, *, colour: bool) -> str:
    return _paint(f"{say(verdict).upper()}  {words}", verdict, colour=colour)


def _head(document: Mapping[str, Any]) -> str:
    run, cluster = document["run"], document["cluster"]
    rest = f"Kubeflow {run['release']}  {counted(document['summary']['planned'], 'check')}  {run['duration_s']:.0f} s"
    if hosts := document.get("hosts"):
        where = say(
            "preflight: {answered} of {asked} hosts answered ({systems}), {version}",
            answered=hosts["answered"],
            asked=len(hosts["asked"]),
            systems=", ".join(hosts["os"]),
            version=cluster["server_version"] or say("no cluster"),
        )
    else:
        known = (cluster["server_version"] or say("not reached"), number_of_nodes(cluster), *cluster["os"])
        where = say("cluster {origin} ({versions})", origin=cluster["origin"], versions=", ".join(known))
    return f"kubeflow-volcano {run['tool']}  {where}  {rest}"


def _cluster(item: Mapping[str, Any], *, colour: bool) -> Iterator[str]:
    how = f": {counts(item['summary'])}, {item['run']['duration_s']:.0f} s" if item["summary"] else ""
    verdict = item["verdict"]
    yield _paint(f" {MARKS[verdict]} {item['name']}  {describe_cluster(item)}{how}", verdict, colour=colour)
    yield from (f"       {_one_line(text)}" for text in item["problems"])
    if item["left_behind"]:
        yield f"       {say('left behind: {objects}', objects=counted(item['left_behind'], 'probe object'))}"
    if item["run"] and item["run"]["interrupted"]:
        yield f"       {say('the run was interrupted')}"


def _finding(items: Sequence[Mapping[str, Any]], *, colour: bool) -> list[str]:
    """Lines of one finding, of one check or of several with the same message: found, needed, do."""
    item, status = items[0], items[0]["status"]
    names = f"{item['id']:<3} {item['slug']}  {item['title']}"
    if len(items) > 1:
        names = say("{number} checks: {ids}", number=len(items), ids=" ".join(each["id"] for each in items))
    lines = [_paint(f" {MARKS[status]} {names}", status, colour=colour)]
    lines.append(_part("found", item["message"]))
    if item["expected"] and len(items) == 1:
        lines.append(_part("needed", item["expected"]))
    if item["remediation"]["text"]:
        lines.append(_part("do", item["remediation"]["text"]))
    for word, key in (("look", "commands"), ("change", "changes")):
        commands = item["remediation"][key][:_MOST_COMMANDS]
        lines.extend(_part(word, f"$ {command}") for command in commands)
    return lines


def _part(word: str, text: str) -> str:
    """One line of a finding, such as `found`, with its text in a column of its own."""
    return f"       {padded(say(word), 10)}{_one_line(text)}"


def _number(word: str, number: int) -> str:
    return say(f"{{number}} {word}", number=number)


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
    where = say(" of another cluster") if baseline["same_cluster"] is False else ""
    return [
        say(
            "compared with run {run} of {started}{where}: {found}",
            run=baseline["run"],
            started=baseline["started"],
            where=where,
            found=found or say("no finding in either"),
        )
    ]


def _cleanup(document: Mapping[str, Any]) -> str:
    cleanup = document["cleanup"]
    leftovers = counted(cleanup["swept"], "leftover")
    swept = say(", {leftovers} of earlier runs removed", leftovers=leftovers) if cleanup["swept"] else ""
    words = "  cleanup: {removed} of {created} probe objects removed{swept}"
    return say(words, removed=cleanup["removed"], created=cleanup["created"], swept=swept)


def _object(item: Mapping[str, str]) -> str:
    return f"{item['kind']} {item['namespace']}{'/' if item['namespace'] else ''}{item['name']}"


def _one_line(text: str, longest: int = _LONGEST_LINE) -> str:
    """The text in one line, cut to `longest` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def _paint(text: str, status: str, *, colour: bool) -> str:
    """The text in the colour of a status or verdict, with `colour`."""
    return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m" if colour else text
