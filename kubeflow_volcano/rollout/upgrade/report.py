"""The report on an upgrade: JSON for programs, Markdown and HTML for people, from the document alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from kubeflow_volcano.files import write_texts
from kubeflow_volcano.text import table_cell

NAME = "upgrade"
_WORDS = {"planned": "would be", "ended": "were", "failed": "were"}


class Section(NamedTuple):
    """A heading with a table, or with lines if it has no columns."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def summary(document: Mapping[str, Any]) -> str:
    """One line: the release, the state and the numbers of objects."""
    numbers = ", ".join(f"{count} {action}" for action, count in document["objects"].items()) or "none"
    state = {"planned": "planned", "ended": "ended", "failed": "ended with problems"}[document["state"]]
    what = f"Upgrade to Kubeflow {document['release']} on Kubernetes {document['kubernetes']}"
    return f"{what}: {state}. Objects: {numbers}."


def sections(document: Mapping[str, Any]) -> list[Section]:
    """What the report says, in order; a section without rows is left out."""
    changed = [item for item in document["versions"] if item["installed"] != item["wanted"]]
    words = _WORDS[document["state"]]
    gang = document["gang"]
    arguments = [(" ".join(gang["now"]) or "none", " ".join(gang["then"]["operator_arguments"]) or "none")]
    parts = [
        Section("Problems", ("found", "needed", "do"), [_parts(item) for item in document["problems"]]),
        Section("What it brings, and what is left to you", (), [(text,) for text in document["steps"]]),
        Section("Jobs that run", (), [(text,) for text in document["running"]]),
        Section("Warnings", ("found", "needed", "do"), [_parts(item) for item in document["warnings"]]),
        Section(
            "Versions",
            ("component", "installed", "wanted"),
            [(item["component"], item["installed"] or "none", item["wanted"] or "left") for item in changed],
        ),
        Section(
            "Custom resources that are stored again",
            ("CRD", "from", "in", "conversion by webhook"),
            [
                (
                    item["crd"],
                    ", ".join(item["stored"]),
                    item["storage"],
                    "ends" if item["drops_conversion"] else "stays",
                )
                for item in document["crds"]
            ],
        ),
        Section("Gang arguments of the training operator", ("installed", "wanted"), arguments if changed else []),
        Section("Images that no pod uses yet", (), [(image,) for image in document["images"]]),
        Section(
            f"Objects that {words} created, changed or removed",
            ("action", "object", "component", "reason"),
            [(item["action"], item["object"], item["component"], item["reason"]) for item in document["changes"]],
        ),
    ]
    return [item for item in parts if item.rows]


def render_markdown(document: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    lines = [f"# {summary(document)}", ""]
    lines += [f"Backup: {document['backup']}", ""] if document["backup"] else []
    for title, columns, rows in sections(document):
        lines += [f"## {title}: {len(rows)}", ""]
        if columns:
            lines += [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
            lines += [f"| {' | '.join(map(table_cell, row))} |" for row in rows]
        else:
            lines += [f"- {table_cell(row[0])}" for row in rows]
        lines.append("")
    return "\n".join(lines)


def render_html(document: Mapping[str, Any]) -> str:
    """The report for a browser: one file without scripts that needs no network."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    text = files("kubeflow_volcano.rollout.upgrade").joinpath("upgrade.html.j2").read_text(encoding="utf-8")
    return environment.from_string(text).render(
        document=document, summary=summary(document), sections=sections(document)
    )


def write(directory: Path, document: Mapping[str, Any]) -> dict[str, str]:
    """Write upgrade.json, upgrade.md and upgrade.html; returns the path of each by name.

    Raises:
        NotWritten: one of them cannot be written.
    """
    texts = {
        f"{NAME}.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        f"{NAME}.md": render_markdown(document),
        f"{NAME}.html": render_html(document),
    }
    return write_texts(directory, texts, "the report on the upgrade", "upgrade_report_directory")


def _parts(problem: Mapping[str, str]) -> tuple[str, ...]:
    return problem["found"], problem["needed"], problem["todo"]
