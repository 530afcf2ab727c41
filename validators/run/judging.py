"""The state of one run's checks: who was judged, who follows from whom, who could not be judged."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.checks.meta.meta import RUN
from kubeflow_volcano.validators.core.check import Check, natural
from kubeflow_volcano.validators.core.consequences import REASON, blocked, blocked_by, follow, not_applicable
from kubeflow_volcano.validators.core.facts import Fact, Facts, Probe, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Outcome, Status, errored, skipped
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.run.selection import in_order


class Judging:
    """Outcomes of the planned checks as they come: static checks, those of probes, those of the run itself."""

    def __init__(self, planned: Sequence[Check], waived: Mapping[str, str], progress: Progress) -> None:
        self._planned = in_order(planned)
        self._waived = waived
        self._progress = progress
        self._outcomes: dict[str, Outcome] = {}
        self._times: dict[str, tuple[float, float]] = {}
        self._told: set[str] = set()

    def open_checks(self) -> tuple[Check, ...]:
        """Those without an outcome, in order."""
        return tuple(item for item in self._planned if item.id not in self._outcomes)

    def waits_for(self, id_: str) -> bool:
        """Whether this check is planned and has no outcome yet."""
        return any(item.id == id_ for item in self.open_checks())

    def again(self, progress: Progress) -> Judging:
        """The same checks without any outcome, but for those that judge the run itself."""
        return Judging([item for item in self._planned if item.probe is not RUN], self._waived, progress)

    def probes(self) -> tuple[Probe[Any], ...]:
        """The probes whose evidence an open check waits for."""
        return tuple(dict.fromkeys(item.probe for item in self.open_checks() if isinstance(item.probe, Probe)))

    def rule_out(self, missing: Mapping[str, Unread]) -> None:
        """Checks that cannot be judged, by what is missing for it."""
        for id_, why in missing.items():
            self._settle(id_, why.outcome)
        self._announce()

    def judge(self, facts: Facts) -> None:
        """Judge all open checks that wait for no probe, and see what of it follows from what."""
        self._judge([item for item in self.open_checks() if not item.probe], facts)
        for item in self.open_checks():
            self._block(item)
        self._announce()

    def judge_probes(self, facts: Facts) -> None:
        """Judge the open checks by the evidence that there is."""
        self._judge([item for item in self.open_checks() if item.probe in facts.evidences], facts)
        self._announce()

    def judge_run(self, facts: Facts) -> None:
        """Judge what comes after everything else."""
        self._judge(self.open_checks(), facts)
        self._announce()

    def skip_opt_ins(self, asked: Collection[str]) -> None:
        """Skip what is done only where its option is on; `asked` names the options that are."""
        for item in self.open_checks():
            if item.opt_in and item.opt_in not in asked:
                flag, variable = f"--{item.opt_in.replace('_', '-')}", f"validation_{item.opt_in}"
                text = f"runs only on request: {flag}, or {variable} in an inventory."
                self._settle(item.id, skipped("NotAsked", text))
        self._announce()

    def skip_probes(self) -> None:
        """Skip what would need a probe."""
        for item in [item for item in self.open_checks() if item.probe is not RUN]:
            self._settle(item.id, skipped("ReadOnly", "needs a probe, and this run is read-only."))
        self._announce()

    def give_up(self, reason: str, message: str, todo: str) -> None:
        """Whatever has no outcome by now could not be judged."""
        for item in self.open_checks():
            self._settle(item.id, errored(reason, message, todo=todo))
        self._announce()

    def results(self) -> tuple[Result, ...]:
        """Everything that has an outcome, by id; a waived finding is a skip that says what it was."""
        final = follow(self._outcomes, self._waived)
        ordered = sorted(self._planned, key=lambda item: natural(item.id))
        return tuple(self._result(item, final[item.id]) for item in ordered if item.id in final)

    def _result(self, check: Check, outcome: Outcome) -> Result:
        started, seconds = self._times[check.id]
        reason = self._waived.get(check.id)
        if reason is None or outcome.status in {Status.PASS, Status.SKIP}:
            return Result(check, outcome, started, seconds)
        waived = replace(outcome, status=Status.SKIP, reason="Waived", message=f"waived: {reason}")
        return Result(check, waived, started, seconds, outcome)

    def _judge(self, checks: Iterable[Check], facts: Facts) -> None:
        for item in checks:
            if self._block(item):
                continue
            started, clock = time.time(), time.monotonic()
            self._outcomes[item.id] = _outcome(item, facts)
            self._times[item.id] = (started, time.monotonic() - clock)

    def _block(self, check: Check) -> bool:
        by = blocked_by(check, self._outcomes, self._waived)
        outcome = blocked(by, self._outcomes) if by else not_applicable(check, self._outcomes, self._waived)
        if outcome:
            self._settle(check.id, outcome)
        return outcome is not None

    def _settle(self, id_: str, outcome: Outcome) -> None:
        self._outcomes[id_] = outcome
        self._times[id_] = (time.time(), 0.0)

    def _may_be_refuted(self, id_: str) -> bool:
        """Whether an experiment that is still to be judged may show the contrary of this outcome."""
        return any(map(self.waits_for, self._outcomes[id_].refuted_by))

    def _announce(self) -> None:
        """One line for each check that has its verdict by now."""
        final = follow(self._outcomes, self._waived)
        for item in self._planned:
            if item.id in final and item.id not in self._told and not self._may_be_refuted(item.id):
                self._told.add(item.id)
                outcome = final[item.id]
                why = "" if outcome.status is Status.PASS else f": {outcome.reason}"
                if outcome.reason == REASON:
                    why += f" {', '.join(id_ for id_ in outcome.because if isinstance(id_, str))}"
                self._progress(f"{item.id:<3} {outcome.status:<5} {item.slug}{why}")


def _outcome(check: Check, facts: Facts) -> Outcome:
    try:
        outcome = check(facts)
        if outcome.status is Status.PASS and not check.probe:
            _demand(check, facts)
    except CannotJudgeError as stop:
        return stop.outcome
    except Exception as error:  # noqa: BLE001  a check that breaks may not end the run, and is no verdict
        message = f"the check itself broke: {type(error).__name__}: {error}"
        return errored("CheckBroke", message, todo="report this together with the report file; it is a defect.")
    return outcome


def _demand(check: Check, facts: Facts) -> None:
    """What could not be read is not good, whether the check came to look at it or not."""
    for item in check.required:
        if isinstance(item, Fact):
            facts.read(item)
        else:
            facts.demand(item)
    for rule in check.demanded:
        facts.demand(str(rule))
