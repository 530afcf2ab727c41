"""One graph of objects on its way to the cluster: survey, send, wait; gathers outcomes and problems."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence

from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS, WORKLOAD_KINDS, Graph, Needs, graph
from kubeflow_volcano.apply.normalize import declared
from kubeflow_volcano.apply.placing import placed
from kubeflow_volcano.apply.ready_queue import Frontier
from kubeflow_volcano.apply.reporter import Teller
from kubeflow_volcano.apply.result import Action, ObjectOutcome, RolloutResult
from kubeflow_volcano.apply.schedule import Schedule
from kubeflow_volcano.apply.send import Applier
from kubeflow_volcano.apply.survey import Found, Presence, learn_kinds, survey
from kubeflow_volcano.apply.waiting.tracker import Gates
from kubeflow_volcano.apply.waiting.trust import follow_certificates, renew_trust
from kubeflow_volcano.apply.waiting.webhooks import wait_answering
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.managers import MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS, Readiness
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress

__all__ = ["Engine", "refused", "unready"]


class Engine:
    """One run over the objects of `parts` (component name to objects); `requires` names what each part needs."""

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
        planned_namespaces: Collection[str] = (),
        planned_groups: Collection[str] = (),
    ) -> None:
        """`planned_*` is what check mode may take for granted although it is not there yet, beside the objects' own.

        Raises:
            ApiError: the API server does not tell which kinds it serves.
        """
        self.cluster = cluster
        self.check = check
        self.progress = progress
        self.deadline = deadline
        self._kinds = learn_kinds(cluster, (obj["apiVersion"] for objects in parts.values() for obj in objects))
        texts_of = {name: tuple(map(declared, objects)) for name, objects in parts.items()}
        self._parts = placed(self._kinds, texts_of, progress)
        self._objects = {Ref.of(obj): obj for objects in self._parts.values() for obj in objects}
        self._owner = {Ref.of(obj): name for name, objects in self._parts.items() for obj in objects}
        self._requires = requires
        self._titles = titles or {}
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
        )
        self.lost = threading.Event()
        """Ends the run: its lock is another's now."""
        self.expect: Callable[[bool], float | None] = lambda _quiet: None
        """Tells how long a run takes, as far as is known: one that has nothing to send, or another one."""
        self._teller = Teller(progress, len(self._objects))
        self._found: Mapping[Ref, Found] = {}
        self._outcomes: list[ObjectOutcome] = []
        self._problems: list[Problem] = []
        self._warnings: list[Problem] = []

    @property
    def parts(self) -> Mapping[str, Sequence[Object]]:
        """The objects of each component as they are declared."""
        return self._parts

    def result(self) -> RolloutResult:
        """What came of it so far."""
        return RolloutResult(tuple(self._outcomes), tuple(self._problems), self.deadline.elapsed, tuple(self._warnings))

    def apply(self) -> bool:
        """Send everything that is not as it should be, each after what it needs; whether all came out well."""
        try:
            self._found = survey(self.cluster, self._objects, self._kinds, MANAGER, self.deadline)
            settled = {ref for ref, found in self._found.items() if found.presence is Presence.SETTLED}
            self._teller.expected = self.expect(len(settled) == len(self._objects))
        except ApiError as error:
            self.fail(refused(self.cluster, error))
            return False
        order = Graph({ref: Needs() for ref in self._objects}, {}) if self.check else graph(self._parts, self._requires)
        gates = Gates(
            self.cluster,
            objects=self._objects,
            graph=order,
            deadline=self.deadline,
            answer=lambda ref: self._answers([ref]),
            unready=self._unready,
            refused=lambda error: refused(self.cluster, error),
        )
        schedule = Schedule(
            objects=self._objects,
            found=self._found,
            frontier=Frontier(order, settled),
            gates=gates,
            send=self._applier.apply,
            deadline=self.deadline,
            tell=lambda done, gates: self._teller.tell(done, gates.pending, self.cluster.trouble),
            lost=self.lost,
        )
        schedule.run()
        for ref in self._objects:
            self.note(schedule.outcomes.pop(ref))
        for outcome in schedule.outcomes.values():
            self.note(outcome)
        self._problems += schedule.problems
        return not self._problems

    def finish(self) -> bool:
        """Wait until everything is up that can be: CRDs, workloads, webhooks; whether it is."""
        if self.check:
            return True
        wanted = {CRD_KIND, *WORKLOAD_KINDS} - {"CronJob"}
        found = self._found
        up = {ref for ref in found if found[ref].presence is Presence.SETTLED and found[ref].ready}
        if not self.wait([ref for ref in self._objects if ref.kind in wanted and ref not in up]):
            return False
        jobs = [item.ref for item in self._outcomes if item.ref.kind == "Job" and item.action is Action.CHANGED]
        try:
            restarted = follow_certificates(self.cluster, jobs, tuple(self._objects.values()), self.progress)
            for outcome in restarted:
                self.note(outcome)
            if not self.wait([item.ref for item in restarted]):
                return False
            hooks = [ref for ref in self._objects if ref.kind in WEBHOOK_KINDS]
            problems, outcomes = self._answers(hooks)
        except ApiError as error:
            problems, outcomes = (refused(self.cluster, error),), ()
        self._problems += problems
        for outcome in outcomes:
            self.note(outcome)
        return not self._problems

    def wait(self, refs: Sequence[Ref]) -> bool:
        """Wait until these are ready; whether they are. In check mode there is nothing to wait for."""
        if self.check:
            return True
        try:
            answers = wait_ready(self.cluster, refs, self.deadline, self.progress, renew=True)
        except ApiError as error:
            self.fail(refused(self.cluster, error))
            return False
        self._problems += [self._unready(answer, ref) for ref, answer in answers.items() if not answer.ready]
        return not self._problems

    def note(self, outcome: ObjectOutcome) -> None:
        """Add an outcome, also one that somebody else brought about."""
        self._outcomes.append(outcome.of(self._owner.get(outcome.ref, outcome.component)))

    def fail(self, problem: Problem) -> None:
        """Note a problem that somebody else found."""
        self._problems.append(problem)

    def warn(self, problem: Problem) -> None:
        """Note what does not stand in the way, but is to be told."""
        self._warnings.append(problem)

    def _answers(self, hooks: Sequence[Ref]) -> tuple[Sequence[Problem], Sequence[ObjectOutcome]]:
        """Wait until the webhooks of these configurations answer; one restart of a backend that nobody trusts helps."""
        wanted = [obj for ref, obj in self._objects.items() if self._found[ref].presence is not Presence.SETTLED]
        silent = wait_answering(self.cluster, hooks, self.deadline, self.progress, wanted)
        if not silent:
            return (), ()
        outcomes = renew_trust(self.cluster, hooks, tuple(self._objects.values()), self.progress)
        if outcomes:
            answers = wait_ready(self.cluster, [item.ref for item in outcomes], self.deadline, self.progress)
            late = [self._unready(answer, ref) for ref, answer in answers.items() if not answer.ready]
            silent = tuple(late) or wait_answering(self.cluster, hooks, self.deadline, self.progress, wanted)
        return silent, outcomes

    def _unready(self, answer: Readiness, ref: Ref) -> Problem:
        return unready(self._titles.get(self._owner.get(ref, ""), str(ref)), answer, self.deadline)


def unready(title: str, answer: Readiness, deadline: Deadline) -> Problem:
    """Something that did not become ready, with its cause as far as the cluster tells."""
    if answer.reason in BAD_IMAGE_REASONS:
        todo = "make the image available to the nodes (name, mirror, pull secret), and run again."
    elif answer.reason in {"CrashLoopBackOff", "OOMKilled", "Failed", "BackoffLimitExceeded"}:
        todo = "read the log of that container (kubectl logs --previous), remove the cause, and run again."
    else:
        todo = "remove the cause that is named (kubectl describe tells more), and run again."
    waited = f"{deadline.elapsed:.0f} s, {deadline.seconds:.0f} s at most without anything else becoming ready"
    return Problem(f"{answer.message} Waited {waited}.", f"{title} to be ready.", todo)


def refused(cluster: Cluster, error: ApiError) -> Problem:
    """A request that the API server did not grant."""
    return Problem(
        f"the API server of {cluster.origin} answered: {error}.",
        "an API server that answers, and credentials that may do what the roll-out does.",
        "check that it runs and that the credentials have the rights of cluster-admin, and run again.",
    )
