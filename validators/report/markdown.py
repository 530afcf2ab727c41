"""The report in Markdown, for a pull request or a chat: ten lines first, then the findings, the GPUs, and every check.

Text that came from a cluster is escaped. `manual` is the URL of the manual of checks, relative to the report; empty
where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import counted, say, speaking
from kubeflow_volcano.validators.report.clusters import (
    clusters_with,
    describe_cluster,
    describe_verdicts,
    differing_checks,
)
from kubeflow_volcano.validators.report.document import anchor
from kubeflow_volcano.validators.report.summary import (
    WORDS,
    affected,
    attention,
    changes,
    counts,
    number_of_nodes,
    rollout,
    simulation,
    skip_reasons,
    words,
)
from kubeflow_volcano.validators.report.wording import in_words, in_words_of_clusters

_LONGEST_CELL = 400
_MOST_NAMES = 4
_MOST_COMMANDS = 3


def render(document: Mapping[str, Any], manual: str = "", language: str = ENGLISH) -> str:
    """Markdown of a report document."""
    with speaking(language):
        document = in_words(document)
        return _joined(
            _summary(document),
            _section("Needs attention", _attention(document, manual)),
            _comparison(document["baseline"]),
            _section("Nodes and GPUs", _gpus(document)),
            _section("Kubernetes AI conformance", _conformance(document)),
            _section("All checks", _all(document, manual)),
            _section("Webhooks answered by the rehearsal", _simulated_webhooks(document)),
        )


def render_clusters(document: Mapping[str, Any], manual: str = "", language: str = ENGLISH) -> str:
    """Markdown of a document of several clusters."""
    with speaking(language):
        return _of_clusters(in_words_of_clusters(document), manual)


def _of_clusters(document: Mapping[str, Any], manual: str) -> str:
    run, summary = document["run"], document["summary"]
    head = [
        f"# {_title_of_clusters(summary)}",
        f"- {describe_verdicts(document)}",
        f"- {say('run {id} from {started} to {ended}', **{key: run[key] for key in ('id', 'started', 'ended')})}",
        *(
            f"- {say('same cluster: {names}', names=', '.join(map(_cell, names)))}"
            for names in document["same_cluster"]
        ),
    ]
    rows, rest = differing_checks(document)
    return _joined(
        "\n".join(head),
        _section("Clusters", _clusters(document)),
        _section("Needs attention", _attention_of_clusters(document, manual)),
        _section("Checks by cluster", _matrix(rows, manual)),
        say("{checks} passed or did not apply on every evaluated cluster.", checks=counted(rest, "check"))
        if rest
        else "",
    )


def _title_of_clusters(summary: Mapping[str, Any]) -> str:
    clusters = counted(summary["clusters"], "cluster")
    return say("Validation of {clusters}: {verdict}", clusters=clusters, verdict=say(summary["verdict"]))


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(document: Mapping[str, Any]) -> str:
    run, cluster, summary = document["run"], document["cluster"], document["summary"]
    where = say(
        "- cluster {version}, {nodes}, uid {uid}, {origin}",
        version=_cell(cluster["server_version"] or say("not reached")),
        nodes=number_of_nodes(cluster),
        uid=_cell(cluster["uid"]) or say("unknown"),
        origin=_cell(cluster["origin"]),
    )
    lines = [
        f"# {say('Preflight') if 'hosts' in document else say('Validation')}{say(': ')}{say(summary['verdict'])}",
        f"- {counted(summary['planned'], 'check')}{say(': ')}{counts(summary)}",
        where,
        *_left_out(summary),
        _run(run),
        _hosts(document["hosts"]) if "hosts" in document else _cleanup(document["cleanup"]),
    ]
    if problems := rollout(document):
        lines.append(f"- {_cell(problems)}")
    if note := simulation(document):
        lines.append(f"- {note}")
    return "\n".join(lines)


def _run(run: Mapping[str, Any]) -> str:
    scheduler = say(
        "gang scheduler {name} ({known_from}); ",
        name=_cell(run["gang_scheduler"]),
        known_from=_cell(run["gang_scheduler_from"]),
    )
    return say(
        "- Kubeflow {release} ({known_from}); {scheduler}run {id} from {started}, {seconds} s{interrupted}",
        release=_cell(run["release"]),
        known_from=_cell(run["release_from"]),
        scheduler=scheduler if run["gang_scheduler"] else "",
        id=run["id"],
        started=run["started"],
        seconds=f"{run['duration_s']:.0f}",
        interrupted=say(", interrupted") if run["interrupted"] else "",
    )


def _left_out(summary: Mapping[str, Any]) -> list[str]:
    """Why checks were skipped or could not be evaluated, in one line; nothing where all were evaluated."""
    skipped = skip_reasons(summary)
    unevaluated = ", ".join(f"{id_} {reason}" for id_, reason in summary["unevaluated"].items())
    pairs = (("skipped", skipped), ("not evaluated", unevaluated))
    parts = [f"{say(word)}{say(': ')}{text}" for word, text in pairs if text]
    return [f"- {say('; ').join(parts)}"] if parts else []


def _hosts(hosts: Mapping[str, Any]) -> str:
    return say(
        "- {answered} of {asked} hosts answered ({systems}){left_out}; nothing was changed",
        answered=hosts["answered"],
        asked=len(hosts["asked"]),
        systems=", ".join(_cell(name) for name in hosts["os"]) or say("unknown systems"),
        left_out=say("; {number} left out", number=len(hosts["left_out"])) if hosts["left_out"] else "",
    )


def _cleanup(cleanup: Mapping[str, Any]) -> str:
    left = say(", **{number} left behind**", number=len(cleanup["left"])) if cleanup["left"] else ""
    words = "- probes: {removed} of {created} objects removed{left}"
    return say(words, removed=cleanup["removed"], created=cleanup["created"], left=left)


def _attention(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [
            "<br>".join(_link(item, f"{item['id']} {item['slug']}", manual) for item in items),
            say(items[0]["status"]),
            "<br>".join([_cell(items[0]["message"]), *_affected(document, items)]),
            "<br>".join(dict.fromkeys(_cell(item["expected"]) for item in items)),
            _remedy(items[0]["remediation"]),
        ]
        for items in attention(document)
    ]
    return [_head("check", "status", "found", "needed", "do"), *rows] if rows else []


def _affected(document: Mapping[str, Any], causes: Sequence[Mapping[str, Any]]) -> list[str]:
    ids = say(", ").join(item["id"] for item in affected(document, causes))
    return [f"{say('affects')}{say(': ')}{ids}"] if ids else []


def _attention_of_clusters(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [
            _checks(row["checks"], manual),
            say(row["status"]),
            ", ".join(map(_cell, row["clusters"])),
            _cell(row["message"]),
            _remedy(row["remediation"]),
        ]
        for row in document["attention"]
    ]
    return [_head("check", "status", "on", "found", "do"), *rows] if rows else []


def _checks(checks: Sequence[Mapping[str, Any]], manual: str) -> str:
    if len(checks) > _MOST_NAMES:
        ids = ", ".join(_link(check, check["id"], manual) for check in checks)
        return say("{number} checks: {ids}", number=len(checks), ids=ids)
    return "<br>".join(_link(check, f"{check['id']} {check['slug']}", manual) for check in checks)


def _remedy(remediation: Mapping[str, Any]) -> str:
    looks, changes = (remediation[key][:_MOST_COMMANDS] for key in ("commands", "changes"))
    pairs = (("look", looks), ("change", changes))
    lines = [f"{say(word)}{say(': ')}`{_code(text)}`" for word, texts in pairs for text in texts]
    return "<br>".join([_cell(remediation["text"]), *lines])


def _comparison(baseline: Mapping[str, Any] | None) -> str:
    if baseline is None:
        return ""
    lines = [f"- {word}{say(': ')}{', '.join(names)}" for word, names in changes(baseline).items()]
    where = {
        True: "",
        False: say("; **another cluster**"),
        None: say("; whether it is the same cluster is unknown"),
    }
    earlier = say(
        "With run {run} of {started}, verdict {verdict}{where}.",
        run=_cell(baseline["run"]),
        started=baseline["started"],
        verdict=say(baseline["verdict"]),
        where=where[baseline["same_cluster"]],
    )
    return "\n".join((f"## {say('Compared')}\n\n{earlier}\n", *(lines or [f"- {say('no finding in either run')}"])))


def _all(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [
            _link(item, item["id"], manual),
            item["title"],
            say(item["status"]),
            say(item["severity"]),
            _cell(item["message"]),
        ]
        for item in document["checks"]
    ]
    return [_head("id", "claim", "status", "severity", "found"), *rows]


def _gpus(document: Mapping[str, Any]) -> list[list[str]]:
    rows = [
        [
            _cell(item["resource"]),
            _cell(item["model"]) or say("unknown"),
            *(str(item[key]) for key in ("nodes", "simulated", "allocatable")),
            say("not read") if item["requested"] is None else str(item["requested"]),
        ]
        for item in document["snapshot"]["accelerators"] or ()
    ]
    return [_head("GPUs", "model", "nodes", "simulated", "allocatable", "requested"), *rows] if rows else []


def _conformance(document: Mapping[str, Any]) -> list[list[str]]:
    rows = [
        [
            f"`{item['id']}`, {case['case']}",
            case["claim"],
            ", ".join(f"{check['id']} {say(check['status'])}" for check in case["checks"]),
            case["status"],
        ]
        for item in document["conformance"]
        for case in item["cases"]
    ]
    return [_head("case", "claim", "shown by", "result"), *rows] if rows else []


def _simulated_webhooks(document: Mapping[str, Any]) -> list[list[str]]:
    rows = [
        [_cell(item["kind"]), _cell(item["name"]), str(len(item["webhooks"]))]
        for item in document["cluster"]["simulated_webhooks"]
    ]
    return [_head("kind", "name", "webhooks"), *rows] if rows else []


def _clusters(document: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for item in document["clusters"]:
        name, page = _cell(item["name"]), item["files"].get("md")
        summary = item["summary"] or dict.fromkeys(WORDS, "")
        problems = "".join(f"<br>{_cell(text)}" for text in item["problems"])
        number = counted(item["left_behind"], "probe object")
        left = f"<br>**{say('{objects} left behind', objects=number)}**" if item["left_behind"] else ""
        rows.append(
            [
                f"[{name}](<{page}>)" if page else name,
                say(item["verdict"]),
                f"{_cell(describe_cluster(item))}{problems}{left}",
                *(str(summary[key]) for key in WORDS),
            ]
        )
    return [[*_head("cluster", "verdict", "versions and nodes"), *words().values()], *rows]


def _matrix(rows: Sequence[Mapping[str, Any]], manual: str) -> list[list[str]]:
    body = [
        [
            _link(row, f"{row['id']} {row['slug']}", manual),
            *(", ".join(map(_cell, clusters_with(row, key))) for key in WORDS),
        ]
        for row in rows
    ]
    return [[*_head("check"), *words().values()], *body] if body else []


def _link(check: Mapping[str, Any], words: str, manual: str) -> str:
    return f"[{words}]({manual}#{anchor(check['id'], check['slug'])})" if manual else words


def _head(*labels: str) -> list[str]:
    """Head of a table."""
    return [say(label) for label in labels]


def _section(title: str, rows: Iterable[list[str]]) -> str:
    """A section with a table whose first row is its head; empty without rows. Cells are Markdown."""
    rows = list(rows)
    if not rows:
        return ""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"|{' --- |' * len(rows[0])}")
    return f"## {say(title)}\n\n" + "\n".join(lines)


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
