"""What a run says of itself: its verdicts so far, what it created, and what a second pass came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubeflow_volcano.experiment.remains import Cleanup
from validators.core.outcome import Outcome
from validators.core.results import Result
from validators.probes.audit import Audit

__all__ = ["RunRecord"]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Evidence for the checks that judge the run itself.

    `results` are those of all other checks. `audit` is None where the look at the cluster failed, for the reason and
    text of `trouble`. `again` holds the outcomes of a second pass by check id, and is None where there was none.
    """

    results: tuple[Result, ...]
    cleanup: Cleanup
    audit: Audit | None = None
    trouble: tuple[str, str] = ("", "")
    again: Mapping[str, Outcome] | None = None
