"""What a person sees at the end of a run: everything that needs attention, within one screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ATTENTION", "MARKS", "attention", "changes", "counted", "finding", "line", "paint", "render", "simulated"]

MARKS = {"fail": "✗", "error": "?", "warn": "!", "skip": "-", "pass": "✓"}
_COLOURS = {"fail": "31", "error": "35", "warn": "33", "skip": "2", "pass": "32", "incomplete": "35"}
ATTENTION = ("fail", "error", "warn")
_LONGEST_LINE = 600


def render(document: Mapping[str, Any], files: Mapping[str, str], *, colour: bool = False) -> str:
    """The summary of a report document, the failures last, where a terminal stays. `files` are the written reports."""
    summary = document["summary"]
    verdict: str = summary["verdict"]
    lines = [_head(document), paint(f"{verdict.upper()}  {counted(summary)}", verdict, colour=colour)]
    lines.extend(_skips(document))
    cleaned = "" if "hosts" in document else _cleaned(document)
    lines.append(paint(f" {MARKS['pass']} {summary['pass']} passed", "pass", colour=colour) + cleaned)
    lines.extend(_compared(document["baseline"]))
    if note := simulated(document):
        lines.append(note)
    if retries := document["run"]["retries"]:
        lines.append(f"retried: {retries} requests were sent again after transient trouble of the API server.")
    for items in sorted(attention(document), key=lambda items: -ATTENTION.index(items[0]["status"])):
        lines.extend(finding(items, colour=colour))
    lines.extend(f" ! left behind: {_name(item)} ({item['why']})" for item in document["cleanup"]["left"])
    lines.extend(f"report  {path}" for path in files.values())
    return "\n".join(lines) + "\n"


def attention(document: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """Failures, then what was not judged, then warnings; checks with one and the same message stand together."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for status in ATTENTION:
        for item in document["checks"]:
            if item["status"] == status:
                groups.setdefault((status, item["message"]), []).append(item)
    return list(groups.values())


def changes(baseline: Mapping[str, Any]) -> dict[str, list[str]]:
    """What became of the findings of an earlier run, in words, to the names of the checks."""
    words = {"new": "new", "still": "still there", "unjudged": "not judged this time", "fixed": "fixed"}
    return {
        told: [f"{item['id']} {item['slug']}" for item in baseline[key]] for key, told in words.items() if baseline[key]
    }


def simulated(document: Mapping[str, Any]) -> str:
    """What of the cluster is simulated, in a few sentences; empty when nothing is."""
    cluster = document["cluster"]
    nodes, pods, hooks = cluster["simulated_nodes"], cluster["simulated_pods"], cluster["simulated_webhooks"]
    if not (nodes or pods):
        return ""
    told = (
        f"simulated: {nodes} of {cluster['nodes']} nodes and {pods} of {cluster['pods'] or pods} pods; nothing runs on "
        "those nodes, so that a pod there proves placement, not that its containers work."
    )
    if hooks:
        number = sum(len(item["webhooks"]) for item in hooks)
        told += (
            f" The rehearsal answers {number} webhooks of {len(hooks)} objects in place of simulated pods; "
            "nothing was validated or filled in by them."
        )
    return told


def _head(document: Mapping[str, Any]) -> str:
    run, cluster = document["run"], document["cluster"]
    systems = ", ".join(cluster["os"])
    where = f"{cluster['server_version'] or 'not reached'}, {cluster['nodes']} nodes{', ' if systems else ''}{systems}"
    checks = document["summary"]["planned"]
    if hosts := document.get("hosts"):
        answered = f"{hosts['answered']} of {len(hosts['asked'])} hosts answered ({', '.join(hosts['os'])})"
        known = cluster["server_version"] or "no cluster"
        return (
            f"kubeflow-volcano {run['tool']}  preflight: {answered}, {known}  Kubeflow {run['release']}"
            f"  {checks} checks  {run['duration_s']:.0f} s"
        )
    return (
        f"kubeflow-volcano {run['tool']}  cluster {cluster['origin']} ({where})  Kubeflow {run['release']}"
        f"  {checks} checks  {run['duration_s']:.0f} s"
    )


def counted(summary: Mapping[str, Any]) -> str:
    """How many checks ended how, in words, and the coverage."""
    parts = (
        (summary["fail"], "failed"),
        (summary["warn"], "warnings"),
        (summary["error"], "not evaluated"),
        (summary["skip"], "skipped"),
        (summary["pass"], "passed"),
    )
    told = ", ".join(f"{number} {word}" for number, word in parts if number or word == "passed")
    return f"{told} (coverage {summary['coverage']:.0%})"


def finding(items: Sequence[Mapping[str, Any]], *, colour: bool) -> list[str]:
    """Lines of one finding, of one check or of several with the same message: found, needed, do."""
    item, status = items[0], items[0]["status"]
    names = f"{item['id']:<3} {item['slug']}  {item['title']}"
    if len(items) > 1:
        names = f"{len(items)} checks: {' '.join(each['id'] for each in items)}"
    lines = [paint(f" {MARKS[status]} {names}", status, colour=colour)]
    lines.append(f"       found     {line(item['message'])}")
    if item["expected"] and len(items) == 1:
        lines.append(f"       needed    {line(item['expected'])}")
    if item["remediation"]["text"]:
        lines.append(f"       do        {line(item['remediation']['text'])}")
    lines.extend(f"                 $ {line(command)}" for command in item["remediation"]["commands"][:3])
    return lines


def _skips(document: Mapping[str, Any]) -> list[str]:
    """One line for each reason; checks that are skipped for one and the same stand together."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for item in document["checks"]:
        if item["status"] == "skip":
            groups.setdefault(item["message"], []).append(item)
    return [f" {MARKS['skip']} {_names(items)}  {line(message, 160)}" for message, items in groups.items()]


def _names(items: list[Mapping[str, Any]]) -> str:
    if len(items) == 1:
        return f"{items[0]['id']:<3} {items[0]['slug']}"
    return " ".join(item["id"] for item in items)


def _compared(baseline: Mapping[str, Any] | None) -> list[str]:
    if baseline is None:
        return []
    found = "; ".join(f"{word}: {', '.join(names)}" for word, names in changes(baseline).items())
    where = {True: "", False: " of another cluster", None: ""}[baseline["same_cluster"]]
    return [f"compared with run {baseline['run']} of {baseline['started']}{where}: {found or 'no finding in either'}"]


def _cleaned(document: Mapping[str, Any]) -> str:
    cleanup = document["cleanup"]
    swept = f", {cleanup['swept']} leftovers of earlier runs removed" if cleanup["swept"] else ""
    return f"  cleanup: {cleanup['removed']} of {cleanup['created']} probe objects removed{swept}"


def _name(item: Mapping[str, str]) -> str:
    return f"{item['kind']} {item['namespace']}{'/' if item['namespace'] else ''}{item['name']}"


def line(text: str, longest: int = _LONGEST_LINE) -> str:
    """The text in one line, cut to `longest` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def paint(text: str, status: str, *, colour: bool) -> str:
    """The text in the colour of a status, where colours are wanted."""
    return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m" if colour else text
