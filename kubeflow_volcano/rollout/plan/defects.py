"""Known defects of the release: which apply, and which need a manual step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kubeflow_volcano.catalog.model import Defect
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.rollout.settings.settings import Settings

_GROUPS = {"image_mirror_": "mirror", "plan_": "plan", "kubeflow_": "user"}
"""Prefix of a variable to the group of settings that has its value, under the name without the prefix."""


def defects_of(settings: Settings) -> tuple[Defect, ...]:
    """Known defects of the release that affect chosen components; whether these settings handle each."""
    chosen = {part.name for part in settings.components}
    return tuple(
        replace(item, handled=_is_handled(item, settings))
        for item in settings.release.defects
        if not item.applies_to or chosen.intersection(item.applies_to)
    )


def judge_defects(defects: Sequence[Defect]) -> Finding:
    """Whether the settings handle all of these defects."""
    left = [item for item in defects if not item.handled]
    details = tuple(
        f"{item.id}: {item.title}. {item.consequence} {'Handled' if item.handled else 'Manual step'}: {item.handling}"
        for item in (*left, *(item for item in defects if item.handled))
    )
    title = "Known defects of the release"
    found = f"{len(defects)} affect chosen components, {len(left)} of them need a manual step."
    if not left:
        return Finding("defects", title, Verdict.PASS, found, details)
    return Finding(
        "defects",
        title,
        Verdict.WARN,
        found,
        details,
        "a decision about each before the roll-out.",
        "read what to do about each.",
    )


def _is_handled(defect: Defect, settings: Settings) -> bool:
    if isinstance(defect.handled, bool):
        return defect.handled
    return all(_is(_value(settings, name), wanted) for name, wanted in defect.handled.items())


def _is(value: Any, wanted: Any) -> bool:
    """Whether a setting has the wanted value, or one of several."""
    return value == wanted or (isinstance(wanted, list | tuple) and value in wanted)


def _value(settings: Settings, variable: str) -> Any:
    """The value of a variable in the settings."""
    prefix = next(item for item in _GROUPS if variable.startswith(item))
    value = getattr(getattr(settings, _GROUPS[prefix]), variable.removeprefix(prefix))
    return list(value) if isinstance(value, tuple) else value
