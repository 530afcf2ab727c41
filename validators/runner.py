"""One validation from options to report: plan, facts, judges, probes, and a report whatever happens in between."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.problems import InvalidInput, Unreachable
from kubeflow_volcano.progress import Progress
from validators.checks import CHECKS
from validators.collect import collect, unread
from validators.interruption import Interrupted, interruptible, postponed
from validators.judging import Judging
from validators.model import Check
from validators.options import Options, expectations_of, see_that_they_make_sense
from validators.permissions import missing_for_probes
from validators.probes.session import Options as ProbeOptions
from validators.probing import probe
from validators.report import baseline, files
from validators.report.document import Report
from validators.selection import select, waivers

__all__ = ["Options", "validate"]


def validate(options: Options, progress: Progress, checks: Sequence[Check] = CHECKS) -> Report:
    """Judge the cluster and write the report. Changes nothing but for probes, which are removed again.

    A server that does not answer, a signal and a report that cannot be written do not raise: they are in the report.

    Raises:
        InvalidInput: the options make no sense; nothing was touched.
    """
    planned = select(checks, options.select)
    waived = waivers(checks, options.waive)
    see_that_they_make_sense(options)
    earlier = baseline.read(options.baseline) if options.baseline else None
    started, clock = time.time(), time.monotonic()
    judging = Judging(planned, waived, progress)
    report = Report(
        run=secrets.token_hex(4),
        arguments={key: str(value) if isinstance(value, Path) else value for key, value in asdict(options).items()},
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
            _run(options, judging, report, progress)
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


def _run(options: Options, judging: Judging, report: Report, progress: Progress) -> None:
    cluster = Cluster.connect(options.kubeconfig, options.context, user_agent="kubeflow-volcano-validators")
    report.origin = cluster.origin
    progress(f"connected to {cluster.version.get('gitVersion', 'a server without a version')}, {cluster.origin}")
    try:
        expectations, report.release_from = expectations_of(options, cluster)
        report.release = expectations.release
        judging.leave_out_unasked(options.asked)
        if not options.read_only:
            wanted = [item for item in judging.open_checks() if item.component in {"", *expectations.components}]
            judging.forbid(missing_for_probes(cluster, wanted, options.probe_namespace))
        report.facts = collect(
            cluster,
            judging.open_checks(),
            expectations,
            read_only=options.read_only,
            probe_namespace=options.probe_namespace,
            seconds=options.stability_seconds,
            progress=progress,
        )
        judging.judge(report.facts)
        if options.read_only:
            judging.leave_out_probes()
        chosen = ProbeOptions(
            namespace=options.probe_namespace, pause_image=options.pause_image, busybox_image=options.busybox_image
        )
        probe(cluster, judging, report, chosen, progress)
    finally:
        report.retries = cluster.retries


def _cause(error: Exception) -> tuple[str, str, str]:
    if isinstance(error, Unreachable):
        return "Unreachable", error.problems[0].found, error.problems[0].todo
    if isinstance(error, ApiError):
        found = unread("the API server", error)
        return found.reason, found.message, found.todo
    message = f"the run itself broke: {type(error).__name__}: {error}"
    return "RunBroke", message, "report this together with the report file; it is a defect."
