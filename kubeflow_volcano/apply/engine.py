"""One graph of objects on its way to the cluster: survey, send, wait; collects outcomes and problems."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence

from kubeflow_volcano.apply.crds.sending import CrdSender
from kubeflow_volcano.apply.fields.ceded import Pointer
from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS, WORKLOAD_KINDS, Graph, Needs, graph
from kubeflow_volcano.apply.normalize import normalize, with_default_namespaces
from kubeflow_volcano.apply.problems import Explain, not_ready, problem_of, refusal, unexplained
from kubeflow_volcano.apply.ready_queue import ReadyQueue
from kubeflow_volcano.apply.reporter import ProgressReporter
from kubeflow_volcano.apply.result import Action, ApplyResult, ObjectOutcome
from kubeflow_volcano.apply.schedule import Schedule
from kubeflow_volcano.apply.send import Applier
from kubeflow_volcano.apply.survey import Found, Presence, learn_kinds, survey
from kubeflow_volcano.apply.waiting.failure_policy import ComingWebhooks
from kubeflow_volcano.apply.waiting.tracker import ReadinessTracker
from kubeflow_volcano.apply.waiting.trust import restart_for_ca_bundle, restart_for_certificates
from kubeflow_volcano.apply.waiting.webhooks import wait_for_webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import Readiness
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress

_SENT = frozenset({Action.CREATED, Action.CHANGED, Action.UNCHANGED})
_LAST_LOOK_SECONDS = 15.0
_SEEN_SECONDS = 1.0
"""When every API server has seen a changed webhook configuration: until then, failures are still ignored."""


class Engine:
    """One run over the objects of `parts` (objects by component); `requires` names the parts that each part needs."""

    def __init__(
        self,
        cluster: Cluster,
        parts: Mapping[str, Sequence[Object]],
        requires: Mapping[str, Collection[str]],
        *,
        deadline: Deadline,
        progress: Progress,
        check: bool,
        texts: bool = True,
        titles: Mapping[str, str] | None = None,
        optional_webhooks: Collection[str] = (),
        makers: Collection[tuple[str, str]] = (),
        planned_namespaces: Collection[str] = (),
        planned_groups: Collection[str] = (),
        ceded: Callable[[Object], tuple[Pointer, ...]] = lambda _obj: (),
        adopted: Collection[str] = (),
        brought: Collection[str] = (),
        explain: Explain = unexplained,
    ) -> None:
        """`optional_webhooks` and `makers` are as in `graph`, `explain` as in `problems`.

        `ceded` returns the fields of an object that are left to others.

        `adopted` are names of parts, `brought` is as in `Applier`.

        `planned_*` are namespaces and API groups that check mode may assume beside those of the objects.

        Raises:
            ApiError: the API server does not answer which kinds it serves.
        """
        self.cluster = cluster
        self.check = check
        self.progress = progress
        self.deadline = deadline
        self._kinds = learn_kinds(cluster, (obj["apiVersion"] for objects in parts.values() for obj in objects))
        texts_of = {name: tuple(map(normalize, objects)) for name, objects in parts.items()}
        self._parts = with_default_namespaces(self._kinds, texts_of, progress)
        self._objects = {Ref.of(obj): obj for objects in self._parts.values() for obj in objects}
        self._owner = {Ref.of(obj): name for name, objects in self._parts.items() for obj in objects}
        self._ceded = {ref: fields for ref, obj in self._objects.items() if (fields := ceded(obj))}
        self._requires = requires
        self._optional_webhooks = optional_webhooks
        self._makers = makers
        self._titles = titles or {}
        self._explain = explain
        self._applier = Applier(
            cluster,
            deadline,
            progress,
            check=check,
            texts=texts,
            planned_namespaces={*planned_namespaces, *(ref.name for ref in self._objects if ref.kind == "Namespace")},
            planned_groups={
                *planned_groups,
                *(obj["spec"]["group"] for ref, obj in self._objects.items() if ref.kind == CRD_KIND),
            },
            refs={*self._objects},
            adopted={ref for ref, name in self._owner.items() if name in adopted},
            brought=brought,
        )
        self.lost = threading.Event()
        """Set when another run has taken over the lock; ends this run."""
        self.expect: Callable[[bool], float | None] = lambda _quiet: None
        """Returns how many seconds such a run took before: one without anything to send (True), or another one."""
        self._reporter = ProgressReporter(progress, len(self._objects))
        self._found: Mapping[Ref, Found] = {}
        self._behind: Mapping[Ref, Collection[Ref]] = {}
        self._coming: ComingWebhooks | None = None
        self._sent: set[Ref] = set()
        self._unready: set[Ref] = set()
        self._outcomes: list[ObjectOutcome] = []
        self._problems: list[Problem] = []
        self._warnings: list[Problem] = []

    @property
    def parts(self) -> Mapping[str, Sequence[Object]]:
        """The normalized objects of each component."""
        return self._parts

    def result(self) -> ApplyResult:
        """The outcomes and problems so far."""
        unready = tuple(ref for ref in self._objects if ref in self._unready)
        return ApplyResult(
            tuple(self._outcomes), tuple(self._problems), self.deadline.elapsed, tuple(self._warnings), unready
        )

    def is_sent(self, ref: Ref) -> bool:
        """Whether the API server has this declared object as declared: it was neither refused nor held back."""
        return ref in self._sent

    def is_waited_for(self, ref: Ref) -> bool:
        """Whether to wait for this declared object: it was sent, and is not known to have failed."""
        return self.is_sent(ref) and ref not in self._unready

    def apply(self) -> bool:
        """Send every object that is not up to date, each after its needs, except those whose needs failed.

        Returns:
            Whether the last steps may follow: the cluster could be read, and this run has the lock.
        """
        try:
            self._found = survey(
                self.cluster,
                self._objects,
                self._kinds,
                self.deadline,
                ceded=self._ceded,
                adopted=self._applier.adopted,
            )
            up_to_date = {ref for ref, found in self._found.items() if found.presence is Presence.UP_TO_DATE}
            self._reporter.expected = self.expect(len(up_to_date) == len(self._objects))
        except ApiError as error:
            self.add_problem(refusal(self.cluster, error))
            return False
        for ref, found in self._found.items():
            if found.scaler:
                self.progress(f"note: {ref}: spec.replicas is left to HorizontalPodAutoscaler {found.scaler}")
        order = (
            Graph({ref: Needs() for ref in self._objects}, {})
            if self.check
            else graph(self._parts, self._requires, self._optional_webhooks, self._kinds, self._makers)
        )
        self._behind = order.behind
        tracker = ReadinessTracker(
            self.cluster,
            objects=self._objects,
            graph=order,
            deadline=self.deadline,
            answer=lambda ref: self._wait_for_webhooks([ref]),
            not_ready=self._not_ready,
            refusal=lambda error: refusal(self.cluster, error),
        )
        sender = CrdSender(
            self.cluster,
            self._found,
            self._objects,
            self._applier.apply,
            deadline=self.deadline,
            progress=self.progress,
            check=self.check,
        )
        self._coming = coming = ComingWebhooks(self.cluster, self._objects, self._found, order.behind, sender.send)
        schedule = Schedule(
            objects=self._objects,
            found=self._found,
            queue=ReadyQueue(order, up_to_date),
            tracker=tracker,
            send=lambda obj, found: coming.send(obj, found) or sender.send(obj, found),
            deadline=self.deadline,
            report=lambda done: self._reporter.report(done, tracker.pending, self.cluster.trouble),
            lost=self.lost,
        )
        schedule.run()
        for ref in self._objects:
            self.add_outcome(schedule.outcomes.pop(ref))
        for outcome in schedule.outcomes.values():
            self.add_outcome(outcome)
        self._unready |= schedule.unready
        self._problems += schedule.problems
        return not self.lost.is_set()

    def finish(self) -> None:
        """Wait until CRDs, workloads and webhooks are ready, except those that failed or whose backends did."""
        if self.check:
            return
        wanted = {CRD_KIND, *WORKLOAD_KINDS} - {"CronJob"}
        survey = self._found
        ready = {ref for ref in survey if survey[ref].presence is Presence.UP_TO_DATE and survey[ref].ready}
        sent = [ref for ref in self._objects if self.is_waited_for(ref)]
        self.wait([ref for ref in sent if ref.kind in wanted and ref not in ready])
        jobs = [
            item.ref
            for item in self._outcomes
            if item.ref.kind == "Job" and item.action is Action.CHANGED and item.ref not in self._unready
        ]
        try:
            restarted = restart_for_certificates(self.cluster, jobs, tuple(self._objects.values()), self.progress)
            for outcome in restarted:
                self.add_outcome(outcome)
            self.wait([item.ref for item in restarted if item.ref not in self._unready])
            hooks = [
                ref for ref in sent if ref.kind in WEBHOOK_KINDS and self._unready.isdisjoint(self._behind.get(ref, ()))
            ]
            problems, outcomes = self._wait_for_webhooks(hooks)
        except ApiError as error:
            problems, outcomes = (refusal(self.cluster, error),), ()
        self._problems += problems
        for outcome in outcomes:
            if outcome.ref.kind in WEBHOOK_KINDS:
                self._outcomes = [item for item in self._outcomes if item.ref != outcome.ref]
            self.add_outcome(outcome)
        for ref in self._coming.left_open if self._coming else ():
            self.progress(f"note: {ref} ignores failures until its backend is ready: the next run changes that")

    def wait(self, refs: Sequence[Ref]) -> bool:
        """Wait until each of these is ready or has failed; returns whether all are ready. Check mode does not wait."""
        if self.check:
            return True
        # What others waited for in vain has used up the time of the run; the rest is looked at once more.
        used_up = self.deadline.passed and not self.lost.is_set()
        deadline = Deadline(_LAST_LOOK_SECONDS) if used_up else self.deadline
        try:
            answers = wait_ready(self.cluster, refs, deadline, self.progress, renew=not used_up, each=True)
        except ApiError as error:
            self.add_problem(refusal(self.cluster, error))
            return False
        late = {ref: answer for ref, answer in answers.items() if not answer.ready}
        self._unready |= late.keys()
        self._problems += [self._not_ready(answer, ref) for ref, answer in late.items()]
        return not late

    def add_outcome(self, outcome: ObjectOutcome) -> None:
        """Add an outcome, also one of a caller's own step."""
        self._outcomes.append(outcome.for_component(self._owner.get(outcome.ref, outcome.component)))
        if outcome.action in _SENT:
            self._sent.add(outcome.ref)

    def add_problem(self, problem: Problem) -> None:
        """Add a problem that a caller found."""
        self._problems.append(problem)

    def add_warning(self, problem: Problem) -> None:
        """Add a warning, which does not fail the run."""
        self._warnings.append(problem)

    def _wait_for_webhooks(self, hooks: Sequence[Ref]) -> tuple[Sequence[Problem], Sequence[ObjectOutcome]]:
        """Make these configurations fail closed, as their backends are ready, and wait until their webhooks answer.

        If the API server does not trust a backend's certificate, the backend is restarted once so that it rewrites its
        caBundle.
        """
        closed = [done for ref in hooks if self._coming and (done := self._coming.close(ref))]
        refused = [problem_of(item, self._objects[item.ref]) for item in closed if item.action is Action.FAILED]
        if refused:
            return refused, closed
        if closed:
            self.deadline.pause(_SEEN_SECONDS)
        wanted = [obj for ref, obj in self._objects.items() if self._found[ref].presence is not Presence.UP_TO_DATE]
        silent = wait_for_webhooks(self.cluster, hooks, self.deadline, self.progress, wanted)
        if not silent:
            return (), closed
        outcomes = restart_for_ca_bundle(self.cluster, hooks, tuple(self._objects.values()), self.progress)
        if outcomes:
            answers = wait_ready(self.cluster, [item.ref for item in outcomes], self.deadline, self.progress)
            late = [self._not_ready(answer, ref) for ref, answer in answers.items() if not answer.ready]
            silent = tuple(late) or wait_for_webhooks(self.cluster, hooks, self.deadline, self.progress, wanted)
        return silent, [*closed, *outcomes]

    def _not_ready(self, answer: Readiness, ref: Ref) -> Problem:
        return not_ready(self._titles.get(self._owner.get(ref, ""), str(ref)), answer, self.deadline, self._explain)
