"""The plan for reading: first what needs attention, then what will happen, then everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.rollout.plan.console import queue_words, validation_words
from kubeflow_volcano.text import counted, table_cell

Document = Mapping[str, Any]


def render(document: Document) -> str:
    """Markdown of a plan document."""
    parts = [
        _head(document),
        _attention(document),
        _table("Findings", ("subject", "verdict", "finding"), _judged(document)),
        _table("Steps", ("", "component", "version", "objects", "needs", "source"), _steps(document)),
        _table("Queues", ("queue", "will be"), _queues(document)),
        _table("Teams", ("profile", "owner", "contributors", "quota", "queue", "priority class"), _teams(document)),
        _table("Components of others, which must be there", ("component",), ((name,) for name in document["existing"])),
        _table(
            "Fields left to others",
            ("object", "fields"),
            ((item["object"], ", ".join(item["paths"])) for item in document["ceded"]),
        ),
        _table("Waves", ("", "objects", "kinds", "waits for"), _waves(document)),
        _table("Known defects", ("id", "what", "consequence", "what is done"), _defects(document)),
        _table("Claims", ("claim", "GB", "user of its consumer", "known from"), _claims(document)),
        _table("Images", ("image", "will be", "named in", "gone upstream", "built for"), _images(document)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(document: Document) -> str:
    asked, gang, account = document["resources"], document["gang"], document["account"]
    counts = (
        f"- {counted(document['objects'], 'object')} of {counted(len(document['steps']), 'component')} "
        f"in {counted(len(document['waves']), 'wave')}, {counted(document['images']['count'], 'image')}"
    )
    sums = (
        f"- requests {asked['cpu']:.1f} CPUs and {asked['memory_gb']:.1f} GB of memory for "
        f"{counted(asked['pods'], 'pod')} ({asked['sidecars']['pods']} of them with a sidecar), "
        f"and {asked['storage_gb']:.1f} GB of storage"
    )
    kustomize = f", kustomize {document['kustomize']}" if document["kustomize"] else ""
    lines = [
        f"# Plan: Kubeflow {document['release']} on Kubernetes {document['kubernetes']}: {document['verdict']}",
        "",
        counts,
        f"- source {_code(document['source'])}{kustomize}",
        sums,
        f"- gang scheduling: {gang['scheduler']}{_gang(gang)}",
    ]
    if validation := document["validation"]:
        lines.append(f"- {validation_words(validation)}")
    if account:
        shown = f"; this prints it: {_code(account['command'])}" if account["command"] else ""
        lines.append(f"- {account['email']} owns {account['namespace']}; password: {account['password']}{shown}")
        if account["users"]:
            lines.append(f"- these sign in as well: {', '.join(account['users'])}")
        lines += [f"- users of {name} sign in as well" for name in account["connectors"]]
        if account["redirect_uri"]:
            lines.append(f"- redirect URI to register at providers: {_code(account['redirect_uri'])}")
    lines += [f"- {line}" for line in gang["podgroups"]]
    notes = [note for note in (document["hosts"]["note"], *document["notes"]) if note]
    return "\n".join([*lines, *(f"- {note}" for note in notes)])


def _gang(gang: Mapping[str, Any]) -> str:
    texts = [f"Volcano {gang['volcano']}"] if gang["volcano"] else []
    texts += [f"its scheduler configured for {gang['volcano_preset']}"] if gang["volcano_preset"] else []
    texts += [f"version {gang['scheduler_plugins']}"] if gang["scheduler_plugins"] else []
    texts += [f"operator with {_code(argument)}" for argument in gang["operator_arguments"]]
    texts += [f"{counted(len(gang['trainer_runtimes']), 'runtime')} of the Trainer"] if gang["trainer_runtimes"] else []
    return f": {', '.join(texts)}" if texts else ""


def _attention(document: Document) -> str:
    return "\n\n".join(
        "\n".join(
            [
                f"## {item['verdict']}: {item['title']}",
                "",
                f"{_begun(item['found'])} Needed: {table_cell(item['needed'])} Do: {table_cell(item['todo'])}",
                "",
                *(f"- {table_cell(detail)}" for detail in item["details"]),
            ]
        ).rstrip()
        for item in document["findings"]
        if item["verdict"] != "pass"
    )


def _judged(document: Document) -> Iterator[tuple[str, ...]]:
    for item in document["findings"]:
        yield item["title"], item["verdict"], item["found"]


def _steps(document: Document) -> Iterator[tuple[str, ...]]:
    for item in document["steps"]:
        yield (
            str(item["step"]),
            item["component"],
            item["version"],
            str(item["objects"]),
            ", ".join(item["requires"]),
            item["source"],
        )


def _queues(document: Document) -> Iterator[tuple[str, ...]]:
    for item in document["queues"]:
        yield item["queue"], queue_words(item)


def _teams(document: Document) -> Iterator[tuple[str, ...]]:
    for item in document["teams"]:
        quota = ", ".join(f"{name} {amount}" for name, amount in item["quota"].items())
        people = ", ".join(item["contributors"])
        yield item["profile"], item["owner"], people, quota, item["queue"], item["priority_class"]


def _waves(document: Document) -> Iterator[tuple[str, ...]]:
    for item in document["waves"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in item["kinds"].items())
        yield str(item["wave"]), str(item["objects"]), kinds, ", ".join(item["awaits"])


def _defects(document: Document) -> Iterator[tuple[str, ...]]:
    for item in document["defects"]:
        handled = "handled" if item["handled"] else "manual step"
        yield item["id"], item["title"], item["consequence"], f"{handled}: {item['handling']}"


def _claims(document: Document) -> Iterator[tuple[str, ...]]:
    for item in document["resources"]["claims"]:
        yield item["claim"], f"{item['gb']:.1f}", item["user"], item["known_from"]


def _images(document: Document) -> Iterator[tuple[str, ...]]:
    for item in document["images"]["images"]:
        final = "as it is" if item["final"] == item["original"] else item["final"]
        places = f"{', '.join(item['components'])}: {counted(len(item['sites']), 'place')}"
        yield item["original"], final, places, item["gone"], ", ".join(item["architectures"]) or "unknown"


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(table_cell(text) for text in row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"## {title}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *lines])


def _begun(text: str) -> str:
    """A cell that begins with a capital letter."""
    return table_cell(text[:1].upper() + text[1:])


def _code(text: str) -> str:
    return f"`{text.replace('`', '')}`"
