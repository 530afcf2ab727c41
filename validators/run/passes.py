"""What happens between the first question to a cluster and the last verdict: one pass, or two that must agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.acting import USER_AGENT, Acting
from kubeflow_volcano.experiment.remains import Cleanup
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.checks.meta.meta import RUN, RunRecord
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.acting import ProbeOptions
from kubeflow_volcano.validators.probes.audit import CLEANUP, audit
from kubeflow_volcano.validators.reading.collect import collect, unread
from kubeflow_volcano.validators.reading.permissions import for_gang, missing_for_probes, placed
from kubeflow_volcano.validators.run.judging import Judging
from kubeflow_volcano.validators.run.options import Options, expectations_of, login_of
from kubeflow_volcano.validators.run.probing import Probing

_NOTHING_MADE = Cleanup((), (), (), (), 0.0)


@dataclass(frozen=True)
class Reached:
    """How far a run has come. Every step creates a new one; the last holds all that is known at the end."""

    origin: str
    release: str
    release_from: str
    run: str
    """The label of the probes' objects."""
    facts: Facts | None = None
    cleanup: Cleanup | None = None
    cluster: Acting | None = None


def passes(options: Options, judging: Judging, begun: Reached, progress: Progress, timing: Timing) -> Iterator[Reached]:
    """Read, judge and act. Yields what is known after each step, also before an exception ends the run.

    Raises:
        InvalidInput: the options make no sense for this cluster.
        Unreachable: the server does not answer, or takes no credentials.
        ApiError: the server did not answer in the midst of it.
    """
    cluster = Acting.connect(options.kubeconfig, options.context, user_agent=USER_AGENT)
    reached = replace(begun, origin=cluster.origin, cluster=cluster)
    yield reached
    progress(f"connected to {cluster.version.get('gitVersion', 'a server without a version')}, {cluster.origin}")
    expectations, release_from = expectations_of(options, cluster)
    reached = replace(reached, release=expectations.release, release_from=release_from)
    yield reached
    progress(f"gang scheduler {expectations.gang_scheduler}: {expectations.gang_from}")
    run = _Passes(cluster, options, expectations, timing, progress)
    for step in run.first(judging, reached):
        reached = step
        yield reached
    again: Mapping[str, Outcome] | None = None
    if judging.waits_for("I4"):
        repeated = judging.again(lambda line: progress(f"second pass: {line}"))
        for step in run.second(repeated, reached):
            reached = step
            yield reached
        again = {item.check.id: item.outcome for item in repeated.results()}
    run.judge_the_run(judging, reached, again)


@dataclass
class _Passes:
    cluster: Acting
    options: Options
    expectations: Expectations
    timing: Timing
    progress: Progress
    runs: list[str] = field(default_factory=list)
    """Labels under which probe objects were made."""

    def first(self, judging: Judging, reached: Reached) -> Iterator[Reached]:
        """Judge all but the run itself."""
        options = self.options
        judging.skip_opt_ins(options.asked)
        rights = placed(
            self._open(judging),
            self.expectations,
            probe_namespace=options.probe_namespace,
            read_only=options.read_only,
        )
        if not options.read_only:
            wanted = [item for item in self._open(judging) if item.component in {"", *self.expectations.components}]
            judging.rule_out(missing_for_probes(self.cluster, wanted, options.probe_namespace))
        facts = collect(
            self.cluster,
            self._open(judging),
            self.expectations,
            read_only=options.read_only,
            probe_namespace=options.probe_namespace,
            rights=rights,
            seconds=options.stability_seconds,
            progress=self.progress,
            timing=self.timing,
        )
        reached = replace(reached, facts=facts)
        yield reached
        judging.judge(facts)
        if options.read_only:
            judging.skip_probes()
        yield from self._act(judging, reached, facts)

    def _act(self, judging: Judging, reached: Reached, facts: Facts) -> Iterator[Reached]:
        """Judge what probes find out; where they are interrupted, by those that came to their end."""
        if not judging.probes():
            judging.judge_probes(replace(facts, evidences={CLEANUP: _NOTHING_MADE}))
            return
        chosen = ProbeOptions(
            namespace=self.options.probe_namespace,
            pause_image=self.options.pause_image,
            busybox_image=self.options.busybox_image,
            registry_logins=self.options.registry_logins,
            login=login_of(self.options),
            images=self.options.example_images,
            notebook_images=self.options.notebook_images,
        )
        probing = Probing.begin(self.cluster, facts, chosen, self.progress)
        self.runs.append(probing.session.run)
        judging.rule_out(probing.without_namespaces(judging.open_checks()))
        probes = judging.probes()

        def judged() -> Reached:
            account = probing.session.account
            known = replace(facts, evidences=probing.evidences | ({CLEANUP: account} if account else {}))
            judging.judge_probes(known)
            return replace(reached, run=probing.session.run, facts=known, cleanup=account)

        try:
            if probes:
                probing.run(probes)
            else:
                probing.session.close()
        except BaseException:
            yield judged()
            raise
        yield judged()

    def second(self, judging: Judging, reached: Reached) -> Iterator[Reached]:
        """Make another pass, of which only the account of its probes is added to what is known."""
        repeated = replace(self, progress=lambda line: self.progress(f"second pass: {line}"))
        for step in repeated.first(judging, replace(reached, facts=None, cleanup=None)):
            if step.cleanup:
                yield replace(reached, cleanup=step.cleanup.plus(reached.cleanup))

    def _open(self, judging: Judging) -> tuple[Check, ...]:
        """The checks without an outcome, with what they need on this cluster."""
        return for_gang(judging.open_checks(), self.expectations)

    def judge_the_run(self, judging: Judging, reached: Reached, again: Mapping[str, Outcome] | None) -> None:
        """Look at the cluster once more, and judge what is left to judge."""
        if reached.facts is None or not judging.open_checks():
            return
        account = reached.cleanup or _NOTHING_MADE
        record = RunRecord(judging.results(), account, again=again)
        try:
            record = replace(record, audit=audit(self.cluster, account, self.runs, self.options.probe_namespace))
        except ApiError as error:
            why = unread("what probes make", error)
            record = replace(record, failure=(why.reason, why.message))
        judging.judge_run(replace(reached.facts, evidences={RUN: record}))
