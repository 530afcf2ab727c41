"""One validation from options to report: plan, facts, judges, probes, and a report whatever happens in between."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.interruption import Interrupted, interruptible, postponed
from kubeflow_volcano.problems import Exit, InvalidInput, Unreachable
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.expectations import GIVEN
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.reading.collect import unread
from kubeflow_volcano.validators.report import baseline, files
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.run.judging import Judging
from kubeflow_volcano.validators.run.options import HINTS, Options, validate_options
from kubeflow_volcano.validators.run.passes import Reached, passes
from kubeflow_volcano.validators.run.selection import select, waivers

__all__ = ["Options", "validate"]


def validate(
    options: Options,
    progress: Progress,
    checks: Sequence[Check] = CHECKS,
    timing: Timing = Timing(),  # noqa: B008  it is frozen
) -> Report:
    """Judge the cluster and write the report. Changes nothing but for probes, which are removed again.

    A server that does not answer, a signal and a report that cannot be written do not raise: they are in the report.

    Raises:
        InvalidInput: the options make no sense; nothing was touched.
    """
    words = (*options.select, "I4") if options.select and options.twice else options.select
    planned = select(checks, words)
    waived = waivers(checks, options.waive)
    validate_options(options)
    earlier = baseline.read(options.baseline) if options.baseline else None
    started, clock = time.time(), time.monotonic()
    judging = Judging(planned, waived, progress)
    origin = f"kubeconfig {options.kubeconfig or 'from the environment'}, context {options.context or 'current'}"
    reached = Reached(origin, options.release, GIVEN, secrets.token_hex(4))
    interrupted: Exit | None = None
    with interruptible():
        try:
            for step in passes(options, judging, reached, progress, timing):
                reached = step
        except Interrupted as interruption:
            interrupted = interruption.exit_code
            judging.give_up("Interrupted", f"the run was ended by {interruption}.", "run it again.")
        except InvalidInput:
            raise
        except Exception as error:  # noqa: BLE001  whatever ends a run, what it found until then is reported
            judging.give_up(*_cause(error))
    with postponed():
        report = Report(
            run=reached.run,
            arguments=options.shown,
            origin=reached.origin,
            release=reached.release,
            release_from=reached.release_from,
            started=started,
            ended=time.time(),
            seconds=time.monotonic() - clock,
            results=judging.results(),
            facts=reached.facts,
            cleanup=reached.cleanup,
            retries=reached.cluster.retries if reached.cluster else 0,
            strict=options.strict,
            rollout_problems=options.rollout_problems,
            interrupted=interrupted,
            baseline=earlier,
            language=options.language,
        )
        return files.write(report, options.report_dir) if options.report_dir else report


def _cause(error: Exception) -> tuple[str, str, str]:
    if isinstance(error, Unreachable):
        problem = error.problems[0].hinted(HINTS)
        return "Unreachable", problem.found, problem.todo
    if isinstance(error, ApiError):
        cause = unread("the API server", error)
        return cause.reason, cause.message, cause.todo
    message = f"the run itself broke: {type(error).__name__}: {error}"
    return "RunBroke", message, "report this together with the report file; it is a defect."
