"""CHANGELOG.md, as Keep a Changelog has it: read, cut for a release, and rendered for the tools of collections."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml

from kubeflow_volcano.problems import Problem, ProblemsError

UNRELEASED = "Unreleased"
_KINDS = {
    "Added": "minor_changes",
    "Changed": "minor_changes",
    "Deprecated": "deprecated_features",
    "Removed": "removed_features",
    "Fixed": "bugfixes",
    "Security": "security_fixes",
}
"""Headings of Keep a Changelog 1.1.0, and the sections of antsibull-changelog."""


class Section(NamedTuple):
    """What one version changed: entries in Markdown by their heading, without those of areas (####).

    The date is empty before the release.
    """

    version: str
    date: str
    changes: dict[str, list[str]]


def sections(text: str) -> list[Section]:
    """The versions, the newest first.

    Raises:
        ProblemsError: a heading is none of Keep a Changelog.
    """
    _, *parts = re.split(r"(?m)^## ", text)
    found = [_section(*part.split("\n", 1)) for part in parts]
    wrong = [
        Problem(
            f'CHANGELOG.md has "### {kind}" below "{section.version}".',
            f"one of {', '.join(_KINDS)}, as Keep a Changelog names them.",
            "move its entries below one of these.",
        )
        for section in found
        for kind in section.changes
        if kind not in _KINDS
    ]
    if wrong:
        raise ProblemsError(wrong)
    return found


def _section(title: str, body: str) -> Section:
    version, _, date = title.strip().partition(" - ")
    _, *parts = re.split(r"(?m)^### ", body)
    changes: dict[str, list[str]] = {}
    for part in parts:
        kind, _, entries = part.partition("\n")
        items = [" ".join(item.split()) for item in re.split(r"(?m)^(?:- |#### .*$)", entries)]
        changes.setdefault(kind.strip(), []).extend(item for item in items if item)
    return Section(version.strip("[]"), date, changes)


def cut(text: str, version: str, date: str) -> str:
    """The changelog with what is unreleased as this version.

    Raises:
        ProblemsError: nothing is unreleased, or the version is there already.
    """
    found = {section.version: section for section in sections(text)}
    if version in found:
        raise ProblemsError(
            Problem(f"CHANGELOG.md has version {version} already.", "a new one.", "choose the next version.")
        )
    if UNRELEASED not in found or not any(found[UNRELEASED].changes.values()):
        raise ProblemsError(
            Problem(
                f'CHANGELOG.md has no entries below "## {UNRELEASED}".',
                "what users notice of this version.",
                'write it there, below "### Added", "### Changed" or "### Fixed".',
            )
        )
    return text.replace(f"## {UNRELEASED}\n", f"## {UNRELEASED}\n\n## {version} - {date}\n", 1)


def for_collections(text: str) -> str:
    """The released versions as changelogs/changelog.yaml, which antsibull-changelog and Galaxy's tools read."""
    releases: dict[str, Any] = {}
    for section in sections(text):
        if section.version == UNRELEASED:
            continue
        changes: dict[str, list[str]] = {}
        for kind, entries in section.changes.items():
            changes.setdefault(_KINDS[kind], []).extend(_restructured(entry) for entry in entries)
        releases[section.version] = {"changes": changes, "release_date": section.date}
    return yaml.safe_dump({"ancestor": None, "releases": releases}, allow_unicode=True, explicit_start=True, width=1000)


def _restructured(markdown: str) -> str:
    """One entry in reStructuredText, which that file is written in: code, links, and emphasis of words."""
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", markdown)
    text = re.sub(r"\[``([^`]+)``\]\([^)\s]+\)", r"``\1``", text)
    text = re.sub(r"\[([^\]]+)\]\((https?://[^)\s]+)\)", r"`\1 <\2>`__", text)
    return re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", text)
