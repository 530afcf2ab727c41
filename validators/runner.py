"""One validation from options to report: plan, facts, judges, probes, and a report whatever happens in between."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.problems import InvalidInput, Problem, Unreachable
from kubeflow_volcano.progress import Progress
from validators.checks import CHECKS
from validators.collect import collect, unread
from validators.expectations import Expectations, expect, newest_for, release_of
from validators.interruption import Interrupted, interruptible, postponed
from validators.judging import Judging
from validators.model import Check
from validators.operator_flags import container_of
from validators.operators import OPERATORS
from validators.permissions import missing_for_probes
from validators.probes.session import Options as ProbeOptions
from validators.probing import probe
from validators.report import baseline, files
from validators.report.document import Report
from validators.selection import select, waivers

__all__ = ["LONGEST_WINDOW", "Options", "validate"]

LONGEST_WINDOW = 300.0
AUTO = "auto"


@dataclass(frozen=True)
class Options:
    """What a person may choose. `profile` is a profile's name or a tuple of components; times are in seconds.

    `release` may be 'auto': that of the running operator of training jobs, else the newest for that server.
    `storage_mode` is local_path, existing or static. `user_email` and `user_namespace` say who is to sign in first.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    release: str = AUTO
    profile: str | tuple[str, ...] = "training"
    volcano_version: str = ""
    local_path_version: str = ""
    operator_version: str = ""
    gang_scheduler: str = "volcano"
    exclude: tuple[str, ...] = ()
    storage_mode: str = "local_path"
    user_email: str = ""
    user_namespace: str = ""
    published_password: bool = False
    select: tuple[str, ...] = ()
    waive: Mapping[str, str] = field(default_factory=dict)
    ignore_namespaces: tuple[str, ...] = ()
    probe_namespace: str = ""
    pause_image: str = PAUSE
    busybox_image: str = BUSYBOX
    read_only: bool = False
    strict: bool = False
    stability_seconds: float = 10.0
    report_dir: Path | None = Path("reports")
    baseline: Path | None = None
    """An earlier report to compare with; read before the new one takes its place."""


def validate(options: Options, progress: Progress, checks: Sequence[Check] = CHECKS) -> Report:
    """Judge the cluster and write the report. Changes nothing but for probes, which are removed again.

    A server that does not answer, a signal and a report that cannot be written do not raise: they are in the report.

    Raises:
        InvalidInput: the options make no sense; nothing was touched.
    """
    planned = select(checks, options.select)
    waived = waivers(checks, options.waive)
    _see_that_they_make_sense(options)
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
        expectations = _expectations(options, cluster, report)
        judging.leave_out_unasked([name for name, value in asdict(options).items() if value is True])
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


def _see_that_they_make_sense(options: Options) -> None:
    if not 1 <= options.stability_seconds <= LONGEST_WINDOW:
        raise InvalidInput(
            Problem(
                f"a stability window of {options.stability_seconds} s.",
                f"1 to {LONGEST_WINDOW:.0f} s; shorter proves nothing.",
                "correct --stability-seconds.",
            )
        )
    if options.release != AUTO:
        _expected(options, options.release)


def _expected(options: Options, release: str) -> Expectations:
    found = expect(
        release,
        options.profile,
        volcano_version=options.volcano_version,
        local_path_version=options.local_path_version,
        operator_version=options.operator_version,
        gang_scheduler=options.gang_scheduler,
        storage_mode=options.storage_mode,
        excluded=options.exclude,
        ignored_namespaces=options.ignore_namespaces,
    )
    return replace(
        found,
        user_email=options.user_email,
        user_namespace=options.user_namespace,
        published_password=options.published_password,
    )


def _expectations(options: Options, cluster: Cluster, report: Report) -> Expectations:
    if options.release == AUTO:
        detected = release_of(_operator_images(cluster))
        report.release = detected or newest_for(cluster.version.get("gitVersion", ""))
        report.release_from = "of the running operator" if detected else "newest for this Kubernetes; no operator tells"
    return _expected(options, report.release)


def _operator_images(cluster: Cluster) -> Iterator[str]:
    for item in OPERATORS.values():
        api_version, kind, where = item.ref.api_version, item.ref.kind, item.ref.namespace
        try:  # as the checks do, who need no other right
            found = cluster.list(api_version, kind, namespace=where, fields=f"metadata.name={item.ref.name}").items
        except ApiError:  # the checks that want to read it say why
            continue
        yield from (container_of(operator)["image"] for operator in found)


def _cause(error: Exception) -> tuple[str, str, str]:
    if isinstance(error, Unreachable):
        return "Unreachable", error.problems[0].found, error.problems[0].todo
    if isinstance(error, ApiError):
        found = unread("the API server", error)
        return found.reason, found.message, found.todo
    message = f"the run itself broke: {type(error).__name__}: {error}"
    return "RunBroke", message, "report this together with the report file; it is a defect."
