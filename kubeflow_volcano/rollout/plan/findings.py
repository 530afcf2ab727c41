"""The findings of a plan, and its verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from kubeflow_volcano.problems import Exit


class Verdict(StrEnum):
    """Verdict of a finding and of the plan."""

    PASS = "pass"  # noqa: S105  a verdict, not a password
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One judgement; `details` names each case, `needed` and `todo` are empty if it passes."""

    id: str
    title: str
    verdict: Verdict
    found: str
    details: tuple[str, ...] = ()
    needed: str = ""
    todo: str = ""


def worst(findings: Iterable[Finding]) -> Verdict:
    """The worst verdict of the findings; pass if there are none."""
    order = list(Verdict)
    return max((item.verdict for item in findings), key=order.index, default=Verdict.PASS)


def exit_code(verdict: Verdict) -> Exit:
    """The exit code of a plan with that verdict; warnings do not fail it."""
    return Exit.CHECK_FAILED if verdict is Verdict.FAIL else Exit.OK
