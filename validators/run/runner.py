"""One validation from options to report: plan, facts, judges, probes, and a report whatever happens in between."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.interruption import Interrupted, interruptible, postponed
from kubeflow_volcano.problems import InvalidInput, Unreachable
from kubeflow_volcano.progress import Progress
from validators.checks import CHECKS
from validators.core.check import Check
from validators.reading.collect import unread
from validators.report import baseline, files
from validators.report.document import Report
from validators.run import passes
from validators.run.judging import Judging
from validators.run.options import Options, see_that_they_make_sense
from validators.run.selection import select, waivers

__all__ = ["Options", "validate"]


def validate(options: Options, progress: Progress, checks: Sequence[Check] = CHECKS) -> Report:
    """Judge the cluster and write the report. Changes nothing but for probes, which are removed again.

    A server that does not answer, a signal and a report that cannot be written do not raise: they are in the report.

    Raises:
        InvalidInput: the options make no sense; nothing was touched.
    """
    words = (*options.select, "I4") if options.select and options.twice else options.select
    planned = select(checks, words)
    waived = waivers(checks, options.waive)
    see_that_they_make_sense(options)
    earlier = baseline.read(options.baseline) if options.baseline else None
    started, clock = time.time(), time.monotonic()
    judging = Judging(planned, waived, progress)
    report = Report(
        run=secrets.token_hex(4),
        arguments=options.shown,
        origin=f"kubeconfig {options.kubeconfig or 'from the environment'}, context {options.context or 'current'}",
        release=options.release,
        release_from="given",
        started=started,
        ended=started,
        seconds=0.0,
        results=(),
        strict=options.strict,
        baseline=earlier,
    )
    with interruptible():
        try:
            passes.make(options, judging, report, progress)
        except Interrupted as interruption:
            report.interrupted = interruption.exit_code
            judging.give_up("Interrupted", f"the run was ended by {interruption}.", "run it again.")
        except InvalidInput:
            raise
        except Exception as error:  # noqa: BLE001  whatever ends a run, what it found until then is reported
            judging.give_up(*_cause(error))
    with postponed():
        report.results = judging.results()
        report.ended, report.seconds = time.time(), time.monotonic() - clock
        if options.report_dir:
            files.write(report, options.report_dir)
    return report


def _cause(error: Exception) -> tuple[str, str, str]:
    if isinstance(error, Unreachable):
        return "Unreachable", error.problems[0].found, error.problems[0].todo
    if isinstance(error, ApiError):
        found = unread("the API server", error)
        return found.reason, found.message, found.todo
    message = f"the run itself broke: {type(error).__name__}: {error}"
    return "RunBroke", message, "report this together with the report file; it is a defect."
