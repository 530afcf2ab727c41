"""What happens between the first question to a cluster and the last verdict: one pass, or two that must agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.acting import USER_AGENT, Acting
from kubeflow_volcano.experiment.remains import Cleanup
from kubeflow_volcano.progress import Progress
from validators.checks.meta.record import RunRecord
from validators.core.check import LAST, Check
from validators.core.expectations import Expectations
from validators.core.outcome import Outcome
from validators.probes.audit import audit
from validators.probes.options import ProbeOptions
from validators.reading.collect import collect, unread
from validators.reading.permissions import for_gang, missing_for_probes, placed
from validators.report.document import Report
from validators.run.judging import Judging
from validators.run.options import Options, expectations_of, login_of
from validators.run.probing import probe

__all__ = ["make"]


def make(options: Options, judging: Judging, report: Report, progress: Progress) -> None:
    """Ask, try out and judge; what is found stands in `judging` and `report` as soon as it is known.

    Raises:
        InvalidInput: the options make no sense for this cluster.
        Unreachable: the server does not answer, or takes no credentials.
        ApiError: the server did not answer in the midst of it.
    """
    cluster = Acting.connect(options.kubeconfig, options.context, user_agent=USER_AGENT)
    report.origin = cluster.origin
    progress(f"connected to {cluster.version.get('gitVersion', 'a server without a version')}, {cluster.origin}")
    try:
        expectations, report.release_from = expectations_of(options, cluster)
        report.release = expectations.release
        progress(f"gang scheduler {expectations.gang_scheduler}: {expectations.gang_from}")
        passes = _Passes(cluster, options, expectations, progress)
        passes.first(judging, report)
        again = passes.second(judging, report) if judging.waits_for("I4") else None
        passes.judge_the_run(judging, report, again)
    finally:
        report.retries = cluster.retries


@dataclass
class _Passes:
    cluster: Acting
    options: Options
    expectations: Expectations
    progress: Progress
    runs: list[str] = field(default_factory=list)
    """Labels under which probe objects were made."""

    def first(self, judging: Judging, report: Report) -> None:
        """Judge all but the run itself."""
        options = self.options
        judging.leave_out_unasked(options.asked)
        rights = placed(
            self._open(judging),
            self.expectations,
            probe_namespace=options.probe_namespace,
            read_only=options.read_only,
        )
        if not options.read_only:
            wanted = [item for item in self._open(judging) if item.component in {"", *self.expectations.components}]
            judging.forbid(missing_for_probes(self.cluster, wanted, options.probe_namespace))
        report.facts = collect(
            self.cluster,
            self._open(judging),
            self.expectations,
            read_only=options.read_only,
            probe_namespace=options.probe_namespace,
            rights=rights,
            seconds=options.stability_seconds,
            progress=self.progress,
        )
        judging.judge(report.facts)
        if options.read_only:
            judging.leave_out_probes()
        chosen = ProbeOptions(
            namespace=options.probe_namespace,
            pause_image=options.pause_image,
            busybox_image=options.busybox_image,
            login=login_of(options),
        )
        probe(self.cluster, judging, report, chosen, self.progress)
        self.runs.append(report.run)

    def _open(self, judging: Judging) -> tuple[Check, ...]:
        """The checks without an outcome, with what they need on this cluster."""
        return for_gang(judging.open_checks(), self.expectations.gang)

    def second(self, judging: Judging, report: Report) -> Mapping[str, Outcome]:
        """The outcomes of another pass, by check id; of it only the account of its probes is added to the report."""

        def tell(line: str) -> None:
            self.progress(f"second pass: {line}")

        repeated, other = judging.anew(tell), replace(report, facts=None, cleanup=None)
        try:
            replace(self, progress=tell).first(repeated, other)
        finally:
            if other.cleanup:
                report.cleanup = other.cleanup.plus(report.cleanup)
        return {item.check.id: item.outcome for item in repeated.results()}

    def judge_the_run(self, judging: Judging, report: Report, again: Mapping[str, Outcome] | None) -> None:
        """Look at the cluster once more, and judge what is left to judge."""
        if report.facts is None or not judging.open_checks():
            return
        account = report.cleanup or Cleanup((), (), (), (), 0.0)
        record = RunRecord(judging.results(), account, again=again)
        try:
            record = replace(record, audit=audit(self.cluster, account, self.runs, self.options.probe_namespace))
        except ApiError as error:
            why = unread("what probes make", error)
            record = replace(record, trouble=(why.reason, why.message))
        judging.judge_run(replace(report.facts, probes={LAST: record}))
