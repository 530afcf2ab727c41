"""The report in Markdown, for a pull request or a chat: ten lines first, then the findings, then every check.

Text that came from a cluster is escaped. `manual` is the URL of the manual of checks, relative to the report; empty
where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeflow_volcano.text import counted
from validators.report.clusters import clusters_with, describe_cluster, describe_verdicts, differing_checks
from validators.report.document import anchor
from validators.report.summary import WORDS, attention, changes, counts, rollout, simulation, skip_reasons

__all__ = ["render", "render_clusters"]

_LONGEST_CELL = 400
_MOST_NAMES = 4
_MOST_COMMANDS = 3


def render(document: Mapping[str, Any], manual: str = "") -> str:
    """Markdown of a report document."""
    return _joined(
        _summary(document),
        _section("Needs attention", _attention(document, manual)),
        _comparison(document["baseline"]),
        _section("Kubernetes AI conformance", _conformance(document)),
        _section("All checks", _all(document, manual)),
        _section("Webhooks answered by the rehearsal", _simulated_webhooks(document)),
    )


def render_clusters(document: Mapping[str, Any], manual: str = "") -> str:
    """Markdown of a document of several clusters."""
    run, summary = document["run"], document["summary"]
    head = [
        f"# Validation of {counted(summary['clusters'], 'cluster')}: {summary['verdict']}",
        f"- {describe_verdicts(document)}",
        f"- run {run['id']} from {run['started']} to {run['ended']}",
        *(f"- same cluster: {', '.join(map(_cell, names))}" for names in document["same_cluster"]),
    ]
    rows, rest = differing_checks(document)
    return _joined(
        "\n".join(head),
        _section("Clusters", _clusters(document)),
        _section("Needs attention", _attention_of_clusters(document, manual)),
        _section("Checks by cluster", _matrix(rows, manual)),
        f"{counted(rest, 'check')} passed or did not apply on every evaluated cluster." if rest else "",
    )


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(document: Mapping[str, Any]) -> str:
    run, cluster, summary = document["run"], document["cluster"], document["summary"]
    gang = f"gang scheduler {_cell(run['gang_scheduler'])} ({_cell(run['gang_scheduler_from'])}); "
    lines = [
        f"# {'Preflight' if 'hosts' in document else 'Validation'}: {summary['verdict']}",
        f"- {counted(summary['planned'], 'check')}: {counts(summary)}",
        (
            f"- cluster {_cell(cluster['server_version'] or 'not reached')}, {counted(cluster['nodes'], 'node')}, "
            f"uid {_cell(cluster['uid']) or 'unknown'}, {_cell(cluster['origin'])}"
        ),
        *_left_out(summary),
        (
            f"- Kubeflow {_cell(run['release'])} ({_cell(run['release_from'])}); "
            f"{gang if run['gang_scheduler'] else ''}run {run['id']} from {run['started']}, {run['duration_s']:.0f} s"
            + (", interrupted" if run["interrupted"] else "")
        ),
        _hosts(document["hosts"]) if "hosts" in document else _cleanup(document["cleanup"]),
    ]
    if problems := rollout(document):
        lines.append(f"- {_cell(problems)}")
    if note := simulation(document):
        lines.append(f"- {note}")
    return "\n".join(lines)


def _left_out(summary: Mapping[str, Any]) -> list[str]:
    """Why checks were skipped or could not be evaluated, in one line; nothing where all were evaluated."""
    skipped = skip_reasons(summary)
    unevaluated = ", ".join(f"{id_} {reason}" for id_, reason in summary["unevaluated"].items())
    parts = [f"{word}: {text}" for word, text in (("skipped", skipped), ("not evaluated", unevaluated)) if text]
    return [f"- {'; '.join(parts)}"] if parts else []


def _hosts(hosts: Mapping[str, Any]) -> str:
    systems = ", ".join(_cell(name) for name in hosts["os"]) or "unknown systems"
    left_out = f"; {len(hosts['left_out'])} left out" if hosts["left_out"] else ""
    return f"- {hosts['answered']} of {len(hosts['asked'])} hosts answered ({systems}){left_out}; nothing was changed"


def _cleanup(cleanup: Mapping[str, Any]) -> str:
    left = f", **{len(cleanup['left'])} left behind**" if cleanup["left"] else ""
    return f"- probes: {cleanup['removed']} of {cleanup['created']} objects removed{left}"


def _attention(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [
            "<br>".join(_link(item, f"{item['id']} {item['slug']}", manual) for item in items),
            items[0]["status"],
            _cell(items[0]["message"]),
            "<br>".join(dict.fromkeys(_cell(item["expected"]) for item in items)),
            _remedy(items[0]["remediation"]),
        ]
        for items in attention(document)
    ]
    return [["check", "status", "found", "needed", "do"], *rows] if rows else []


def _attention_of_clusters(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [
            _checks(row["checks"], manual),
            row["status"],
            ", ".join(map(_cell, row["clusters"])),
            _cell(row["message"]),
            _remedy(row["remediation"]),
        ]
        for row in document["attention"]
    ]
    return [["check", "status", "on", "found", "do"], *rows] if rows else []


def _checks(checks: Sequence[Mapping[str, Any]], manual: str) -> str:
    if len(checks) > _MOST_NAMES:
        return f"{len(checks)} checks: {', '.join(_link(check, check['id'], manual) for check in checks)}"
    return "<br>".join(_link(check, f"{check['id']} {check['slug']}", manual) for check in checks)


def _remedy(remediation: Mapping[str, Any]) -> str:
    looks, changes = (remediation[key][:_MOST_COMMANDS] for key in ("commands", "changes"))
    lines = [*(f"look: `{_code(text)}`" for text in looks), *(f"change: `{_code(text)}`" for text in changes)]
    return "<br>".join([_cell(remediation["text"]), *lines])


def _comparison(baseline: Mapping[str, Any] | None) -> str:
    if baseline is None:
        return ""
    lines = [f"- {words}: {', '.join(names)}" for words, names in changes(baseline).items()]
    earlier = f"With run {_cell(baseline['run'])} of {baseline['started']}, verdict {baseline['verdict']}"
    where = {True: "", False: "; **another cluster**", None: "; whether it is the same cluster is unknown"}
    return "\n".join(
        (f"## Compared\n\n{earlier}{where[baseline['same_cluster']]}.\n", *(lines or ["- no finding in either run"]))
    )


def _all(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [_link(item, item["id"], manual), item["title"], item["status"], item["severity"], _cell(item["message"])]
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


def _simulated_webhooks(document: Mapping[str, Any]) -> list[list[str]]:
    rows = [
        [_cell(item["kind"]), _cell(item["name"]), str(len(item["webhooks"]))]
        for item in document["cluster"]["simulated_webhooks"]
    ]
    return [["kind", "name", "webhooks"], *rows] if rows else []


def _clusters(document: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for item in document["clusters"]:
        name, page = _cell(item["name"]), item["files"].get("md")
        summary = item["summary"] or dict.fromkeys(WORDS, "")
        problems = "".join(f"<br>{_cell(text)}" for text in item["problems"])
        left = f"<br>**{counted(item['left_behind'], 'probe object')} left behind**" if item["left_behind"] else ""
        rows.append(
            [
                f"[{name}](<{page}>)" if page else name,
                item["verdict"],
                f"{_cell(describe_cluster(item))}{problems}{left}",
                *(str(summary[key]) for key in WORDS),
            ]
        )
    return [["cluster", "verdict", "versions and nodes", *WORDS.values()], *rows]


def _matrix(rows: Sequence[Mapping[str, Any]], manual: str) -> list[list[str]]:
    body = [
        [
            _link(row, f"{row['id']} {row['slug']}", manual),
            *(", ".join(map(_cell, clusters_with(row, key))) for key in WORDS),
        ]
        for row in rows
    ]
    return [["check", *WORDS.values()], *body] if body else []


def _link(check: Mapping[str, Any], words: str, manual: str) -> str:
    return f"[{words}]({manual}#{anchor(check['id'], check['slug'])})" if manual else words


def _section(title: str, rows: Iterable[list[str]]) -> str:
    """A section with a table whose first row is its head; empty without rows. Cells are Markdown."""
    rows = list(rows)
    if not rows:
        return ""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"|{' --- |' * len(rows[0])}")
    return f"## {title}\n\n" + "\n".join(lines)


def _cell(text: str) -> str:
    """Text for a cell of a table, with everything escaped that Markdown interprets."""
    escaped = _cut(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|#!~])", r"\\\1", escaped)


def _code(text: str) -> str:
    """Text for a code span in a cell, in which only backticks and pipes have a meaning."""
    return _cut(text.replace("`", "'").replace("|", "\\|"))


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_CELL else flat[: _LONGEST_CELL - 1] + "…"
