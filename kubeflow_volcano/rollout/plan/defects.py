"""Known defects of the release: which of them apply, and which are left to a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kubeflow_volcano.catalog.model import Defect
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["defects_of", "judge_defects"]

_GROUPS = {"image_mirror_": "mirror", "plan_": "plan", "kubeflow_": "user"}
"""Prefix of a variable to the group of settings that has it without the prefix."""


def defects_of(settings: Settings) -> tuple[Defect, ...]:
    """Known defects of the release that touch what is chosen; whether each is handled with these settings."""
    chosen = {part.name for part in settings.components}
    return tuple(
        replace(item, handled=_is_handled(item, settings))
        for item in settings.release.defects
        if not item.applies_to or chosen.intersection(item.applies_to)
    )


def judge_defects(defects: Sequence[Defect]) -> Finding:
    """What `defects_of` found, of which some may be left to a person."""
    left = [item for item in defects if not item.handled]
    details = tuple(
        f"{item.id}: {item.title}. {item.consequence} {'Handled' if item.handled else 'Left to you'}: {item.handling}"
        for item in (*left, *(item for item in defects if item.handled))
    )
    title = "Known defects of the release"
    found = f"{len(defects)} that touch what is chosen, {len(left)} of them left to you."
    if not left:
        return Finding("defects", title, Verdict.PASS, found, details)
    return Finding(
        "defects",
        title,
        Verdict.WARN,
        found,
        details,
        "to know them beforehand.",
        "read what is to be done about each.",
    )


def _is_handled(defect: Defect, settings: Settings) -> bool:
    if isinstance(defect.handled, bool):
        return defect.handled
    return all(_is(_value(settings, name), wanted) for name, wanted in defect.handled.items())


def _is(value: Any, wanted: Any) -> bool:
    """Whether a setting is as wanted, or one of those that are."""
    return value == wanted or (isinstance(wanted, list | tuple) and value in wanted)


def _value(settings: Settings, variable: str) -> Any:
    """The setting that a variable became."""
    prefix = next(item for item in _GROUPS if variable.startswith(item))
    value = getattr(getattr(settings, _GROUPS[prefix]), variable.removeprefix(prefix))
    return list(value) if isinstance(value, tuple) else value
