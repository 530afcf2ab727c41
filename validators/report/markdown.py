"""The report for a pull request or a chat: ten lines first, then what failed, then everything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from validators.report.console import attention, changes, simulated

__all__ = ["cell", "code", "render", "table"]

_LONGEST_CELL = 400


def render(document: Mapping[str, Any], manual: str = "") -> str:
    """Markdown of a report document. Text that came from a cluster is escaped.

    `manual` is the address of the page that describes the checks, seen from where the report lies.
    """
    parts = [
        _summary(document),
        table("Needs attention", _attention(document, manual)),
        _compared(document["baseline"]),
        table("Kubernetes AI conformance", _conformance(document)),
        table("All checks", _all(document, manual)),
        table("Webhooks that the rehearsal answers", _simulated_webhooks(document)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _gang(run: Mapping[str, Any]) -> str:
    known = run["gang_scheduler"]
    return f"gang scheduler {cell(known)} ({cell(run['gang_scheduler_from'])}); " if known else ""


def _summary(document: Mapping[str, Any]) -> str:
    run, cluster, summary, cleanup = (document[key] for key in ("run", "cluster", "summary", "cleanup"))
    lines = [
        f"# {'Preflight' if 'hosts' in document else 'Validation'}: {summary['verdict']}",
        (
            f"- {summary['fail']} failed, {summary['warn']} warnings, {summary['error']} not evaluated, "
            f"{summary['skip']} skipped, {summary['pass']} passed of {summary['planned']} checks; "
            f"coverage {summary['coverage']:.0%}"
        ),
        *_left_out(summary),
        (
            f"- cluster {cell(cluster['server_version'] or 'not reached')}, {cluster['nodes']} nodes, "
            f"uid {cell(cluster['uid']) or 'unknown'}, {cell(cluster['origin'])}"
        ),
        (
            f"- Kubeflow {cell(run['release'])} ({cell(run['release_from'])}); "
            f"{_gang(run)}run {run['id']} from {run['started']}, {run['duration_s']:.0f} s"
            + (", interrupted" if run["interrupted"] else "")
        ),
        _hosts(document["hosts"])
        if "hosts" in document
        else f"- probes: {cleanup['removed']} of {cleanup['created']} objects removed"
        + (f", **{len(cleanup['left'])} left behind**" if cleanup["left"] else ""),
    ]
    if note := simulated(document):
        lines.append(f"- {note}")
    return "\n".join(lines)


def _left_out(summary: Mapping[str, Any]) -> list[str]:
    """Why checks were skipped or could not be evaluated, in one line; nothing where all were evaluated."""
    skipped = ", ".join(f"{reason} {number}" for reason, number in summary["skipped"].items())
    unevaluated = ", ".join(f"{id_} {reason}" for id_, reason in summary["unevaluated"].items())
    parts = [f"{word}: {text}" for word, text in (("skipped", skipped), ("not evaluated", unevaluated)) if text]
    return [f"- {'; '.join(parts)}"] if parts else []


def _hosts(hosts: Mapping[str, Any]) -> str:
    systems = ", ".join(cell(name) for name in hosts["os"]) or "unknown systems"
    left_out = f"; {len(hosts['left_out'])} left out" if hosts["left_out"] else ""
    return f"- {hosts['answered']} of {len(hosts['asked'])} hosts answered ({systems}){left_out}; nothing was changed"


def _attention(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [
            "<br>".join(_link(item, f"{item['id']} {item['slug']}", manual) for item in items),
            items[0]["status"],
            cell(items[0]["message"]),
            "<br>".join(dict.fromkeys(cell(item["expected"]) for item in items)),
            cell(items[0]["remediation"]["text"])
            + "".join(f"<br>`{code(text)}`" for text in items[0]["remediation"]["commands"][:3]),
        ]
        for items in attention(document)
    ]
    return [["check", "status", "found", "needed", "do"], *rows] if rows else []


def _compared(baseline: Mapping[str, Any] | None) -> str:
    if baseline is None:
        return ""
    lines = [f"- {word}: {', '.join(names)}" for word, names in changes(baseline).items()]
    told = f"With run {cell(baseline['run'])} of {baseline['started']}, which ended as {baseline['verdict']}"
    where = {True: "", False: "; **of another cluster**", None: "; whether of the same cluster is not known"}
    return "\n".join(
        (f"## Compared\n\n{told}{where[baseline['same_cluster']]}.\n", *(lines or ["- no finding in either run"]))
    )


def _all(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [_link(item, item["id"], manual), item["title"], item["status"], item["severity"], cell(item["message"])]
        for item in document["checks"]
    ]
    return [["id", "claim", "status", "severity", "found"], *rows]


def _conformance(document: Mapping[str, Any]) -> list[list[str]]:
    rows = [
        [
            f"`{item['id']}`, {case['case']}",
            case["claim"],
            ", ".join(f"{check['id']} {check['status']}" for check in case["checks"]),
            case["status"],
        ]
        for item in document["conformance"]
        for case in item["cases"]
    ]
    return [["case", "claim", "shown by", "result"], *rows] if rows else []


def _link(item: Mapping[str, Any], told: str, manual: str) -> str:
    return f"[{told}]({manual}#{item['remediation']['url'].partition('#')[2]})" if manual else told


def _simulated_webhooks(document: Mapping[str, Any]) -> list[list[str]]:
    rows = [
        [cell(item["kind"]), cell(item["name"]), str(len(item["webhooks"]))]
        for item in document["cluster"]["simulated_webhooks"]
    ]
    return [["kind", "name", "webhooks"], *rows] if rows else []


def table(title: str, rows: Iterable[list[str]]) -> str:
    """A section with a table whose first row is its head; nothing where there is no row. Cells are Markdown."""
    rows = list(rows)
    if not rows:
        return ""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"|{' --- |' * len(rows[0])}")
    return f"## {title}\n\n" + "\n".join(lines)


def cell(text: str) -> str:
    """Text that means nothing to Markdown, fit for a cell of a table."""
    flat = " ".join(text.split())
    flat = flat if len(flat) <= _LONGEST_CELL else flat[: _LONGEST_CELL - 1] + "…"
    return re.sub(r"([\\`*_{}\[\]|#!~])", r"\\\1", flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def code(text: str) -> str:
    """The same for a code span, where nothing but its end and the end of the cell means anything."""
    flat = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return flat if len(flat) <= _LONGEST_CELL else flat[: _LONGEST_CELL - 1] + "…"
