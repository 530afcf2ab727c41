"""The report on a terminal: everything that needs attention, within one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import counted, padded, say, speaking, wrapped
from kubeflow_volcano.validators.report.clusters import describe_cluster, describe_verdicts
from kubeflow_volcano.validators.report.summary import (
    ATTENTION,
    MARKS,
    affected,
    attention,
    changes,
    counts,
    findings,
    gpus,
    name_of,
    number_of_nodes,
    rollout,
    said,
    simulation,
    skip_reasons,
)
from kubeflow_volcano.validators.report.wording import in_words, in_words_of_clusters

_COLOURS = {"fail": "31", "error": "35", "warn": "33", "skip": "2", "pass": "32", "incomplete": "35"}
_BEST_FIRST = ("pass", "warn", "incomplete", "fail")
_LONGEST_TEXT = 600
_INDENT = 17
_MOST_COMMANDS = _MOST_FINDINGS = 3


def render(
    document: Mapping[str, Any], files: Mapping[str, str], *, colour: bool = False, language: str = ENGLISH
) -> str:
    """The summary of a report document, failures last, next to the prompt. `files` are the written reports."""
    with speaking(language):
        return _whole(_lines(in_words(document), colour=colour), files)


def _lines(document: Mapping[str, Any], *, colour: bool) -> list[str]:
    summary = document["summary"]
    lines = [_head(document), _verdict(summary["verdict"], counts(summary), colour=colour)]
    if reasons := skip_reasons(summary):
        lines.append(wrapped(reasons, f" {MARKS['skip']} {_number('skipped', summary['skip'])}{say(': ')}", 3))
    cleanup = "" if "hosts" in document else _cleanup(document)
    lines.append(_paint(f" {MARKS['pass']} {_number('passed', summary['pass'])}", "pass", colour=colour) + cleanup)
    lines.extend(_comparison(document["baseline"]))
    if note := simulation(document):
        lines.append(wrapped(note))
    if problems := rollout(document):
        lines.append(wrapped(problems, " ! ", 3))
    if retries := document["run"]["retries"]:
        words = "retried: {requests} after transient API server errors."
        lines.append(say(words, requests=counted(retries, "request")))
    if devices := gpus(document):
        lines.append(wrapped(devices, f"{say('GPUs')}{say(': ')}", 3))
    for items in _worst_last(attention(document), lambda items: items[0]["status"]):
        ids = " ".join(item["id"] for item in affected(document, items))
        lines.extend(_finding(items, colour=colour, affects=ids))
    left = document["cleanup"]["left"]
    return lines + [say(" ! left behind: {object} ({why})", object=name_of(item), why=item["why"]) for item in left]


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
        checks = [{**row, **check} for check in row["checks"]]
        lines.extend(_finding(checks, colour=colour, on=", ".join(row["clusters"])))
    return lines


def _worst_last(items: Sequence[Any], status: Callable[[Any], str]) -> list[Any]:
    return sorted(items, key=lambda item: -ATTENTION.index(status(item)))


def _whole(lines: Sequence[str], files: Mapping[str, str]) -> str:
    return "\n".join([*lines, *(f"{say('report')}  {path}" for path in files.values())]) + "\n"


def _verdict(verdict: str, words: str, *, colour: bool) -> str:
    return _paint(wrapped(words, f"{say(verdict).upper()}  ", 3), verdict, colour=colour)


def _head(document: Mapping[str, Any]) -> str:
    run, cluster = document["run"], document["cluster"]
    rest = f"Kubeflow {run['release']}, {counted(document['summary']['planned'], 'check')}, {run['duration_s']:.0f} s"
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
    return wrapped(f"kubeflow-volcano {run['tool']}, {where}, {rest}", hang=3)


def _cluster(item: Mapping[str, Any], *, colour: bool) -> Iterator[str]:
    how = f": {counts(item['summary'])}, {item['run']['duration_s']:.0f} s" if item["summary"] else ""
    verdict = item["verdict"]
    yield _paint(f" {MARKS[verdict]} {item['name']}  {describe_cluster(item)}{how}", verdict, colour=colour)
    yield from (wrapped(text, " " * 7, 7) for text in item["problems"])
    if item["left_behind"]:
        yield f"       {say('left behind: {objects}', objects=counted(item['left_behind'], 'probe object'))}"
    if item["run"] and item["run"]["interrupted"]:
        yield f"       {say('the run was interrupted')}"


def _finding(items: Sequence[Mapping[str, Any]], *, colour: bool, affects: str = "", on: str = "") -> Iterator[str]:
    """Lines of what one check found, or several with the same message: found, needed, do.

    `affects` are ids of checks that are skipped because of it, `on` names of clusters.
    """
    item, status = items[0], items[0]["status"]
    names = f"{item['id']:<3} {item['slug']}  {item['title']}"
    if len(items) > 1:
        names = say("{number} checks: {ids}", number=len(items), ids=" ".join(each["id"] for each in items))
    yield _paint(wrapped(names, f" {MARKS[status]} ", 7), status, colour=colour)
    yield from _part("on", on)
    needed = item["expected"] if len(items) == 1 else ""
    every = findings(item)
    for finding in every[:_MOST_FINDINGS]:
        for number, text in enumerate(said(finding)):
            yield from _part("found" if number == 0 else None, text)
        yield from _part("needed", needed)
        yield from _part("do", finding["todo"])
        for word, key in (("look", "commands"), ("change", "changes")):
            yield from (f"{_label(word)}$ {command}" for command in finding[key][:_MOST_COMMANDS])
        needed = ""
    if len(every) > _MOST_FINDINGS:
        yield from _part(None, say("and {number} more in the report", number=len(every) - _MOST_FINDINGS))
    yield from _part("affects", affects)


def _part(word: str | None, text: str) -> Iterator[str]:
    """Lines of a part of a finding, such as `found`, with its text in a column of its own; none without a text.

    Without a word the text continues the one before.
    """
    if text:
        cut = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
        yield wrapped(cut, _label(word), _INDENT)


def _label(word: str | None) -> str:
    return padded(f"       {say(word) if word else ''}", _INDENT)


def _number(word: str, number: int) -> str:
    return say(f"{{number}} {word}", number=number)


def _comparison(baseline: Mapping[str, Any] | None) -> list[str]:
    if baseline is None:
        return []
    found = "; ".join(f"{words}: {', '.join(names)}" for words, names in changes(baseline).items())
    where = say(" of another cluster") if baseline["same_cluster"] is False else ""
    words = "compared with run {run} of {started}{where}: {found}"
    run, started, what = baseline["run"], baseline["started"], found or say("no finding in either")
    return [wrapped(say(words, run=run, started=started, where=where, found=what), hang=3)]


def _cleanup(document: Mapping[str, Any]) -> str:
    cleanup = document["cleanup"]
    leftovers = counted(cleanup["swept"], "leftover")
    swept = say(", {leftovers} of earlier runs removed", leftovers=leftovers) if cleanup["swept"] else ""
    words = "  cleanup: {removed} of {created} probe objects removed{swept}"
    return say(words, removed=cleanup["removed"], created=cleanup["created"], swept=swept)


def _paint(text: str, status: str, *, colour: bool) -> str:
    """The text in the colour of a status or verdict, with `colour`."""
    return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m" if colour else text
