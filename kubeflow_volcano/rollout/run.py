"""One component from its source to ready, and what became of each object on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS, Readiness
from kubeflow_volcano.cluster.waiting import wait_ready
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout import storage
from kubeflow_volcano.rollout.answering import wait_answering
from kubeflow_volcano.rollout.apply import Applier, problem_of
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.intercepts import backends, webhooks
from kubeflow_volcano.rollout.matrix import require_kubernetes
from kubeflow_volcano.rollout.restart import restart
from kubeflow_volcano.rollout.result import Action, ObjectOutcome, RolloutResult
from kubeflow_volcano.rollout.settings import Settings
from kubeflow_volcano.rollout.waves import WEBHOOK_KINDS, WORKLOAD_KINDS, waves

__all__ = ["Run", "objects_of", "roll_out"]

_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")


def roll_out(cluster: Cluster, settings: Settings, component: str, *, check: bool, progress: Progress) -> RolloutResult:
    """Bring one component to the cluster and wait until it is ready; in check mode, find out what that would change.

    Safe to interrupt and to repeat at any moment. Trouble that shows after the first object was sent is in the
    result's problems, beside what was done until then.

    Raises:
        InvalidInput: sources, versions or the cluster's state do not allow it; nothing was changed.
        ProblemsError: the API server refused what is asked before the first change.
    """
    part = settings.component(component)
    run = Run(cluster, settings, part, check=check, progress=progress)
    try:
        require_kubernetes(settings, cluster.version["gitVersion"])
        objects = objects_of(settings, part, progress)
        if component == "local-path":
            storage.require_one_default(cluster, objects)
        objects = _with_namespaces(cluster, part, objects)
        run.require(settings.requirements(part))
    except ApiError as error:
        raise ProblemsError(refused(cluster, error)) from error
    run.apply(objects)
    return run.result()


def objects_of(settings: Settings, part: Component, progress: Progress) -> tuple[Object, ...]:
    """The objects of a component as they are to be, patches included; none where the cluster brings its own storage.

    Raises:
        InvalidInput: the source is not what the component is made of.
    """
    return desired(settings, (part,), progress).parts[part.name]


def _with_namespaces(cluster: Cluster, part: Component, objects: tuple[Object, ...]) -> tuple[Object, ...]:
    """`objects` and the component's namespaces that neither they nor the cluster have."""
    if not objects:
        return ()
    present = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Namespace"}
    missing = [name for name in part.namespaces if name not in present]
    made: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in missing
        if cluster.get(Ref("v1", "Namespace", "", name)) is None
    ]
    return (*made, *objects)


class Run:
    """One roll-out in progress; gathers outcomes and problems."""

    def __init__(
        self, cluster: Cluster, settings: Settings, part: Component, *, check: bool, progress: Progress
    ) -> None:
        self.cluster = cluster
        self.check = check
        self.progress = progress
        self.deadline = Deadline(settings.wait_timeout_seconds)
        self._part = part
        self._required = settings.requirements(part)
        self._outcomes: list[ObjectOutcome] = []
        self._problems: list[Problem] = []

    def result(self) -> RolloutResult:
        """What came of it so far."""
        return RolloutResult(tuple(self._outcomes), tuple(self._problems), self.deadline.elapsed)

    def require(self, parts: Sequence[Component]) -> None:
        """See that the CRDs of required components are established; in check mode they may still be to come.

        Raises:
            InvalidInput: one is not there, or did not get established in time.
        """
        if self.check:
            return
        for part in parts:
            refs = [Ref(*_CRD, name) for name in part.crds]
            missing = [ref.name for ref in refs if self.cluster.get(ref, deadline=self.deadline) is None]
            if missing:
                raise InvalidInput(
                    Problem(
                        f"no CRD {', '.join(missing)}.",
                        f"{part.title} before {self._part.title}, which looks for its kinds once, at its start.",
                        f"roll out {part.name} first.",
                    )
                )
            answers = wait_ready(self.cluster, refs, self.deadline, self.progress)
            if late := [answer for answer in answers.values() if not answer.ready]:
                raise InvalidInput(unready(part, answer, self.deadline) for answer in late)

    def apply(self, objects: Sequence[Object]) -> bool:
        """Send all waves, each after what it awaits, and wait for the end; whether everything came out well."""
        applier = Applier(
            self.cluster,
            self.deadline,
            self.progress,
            check=self.check,
            planned_namespaces=self._planned_namespaces(objects),
            planned_groups=self._planned_groups(objects),
        )
        cut = waves(objects)
        try:
            for number, wave in enumerate(cut, start=1):
                if not self.wait(wave.awaits):
                    return False
                self.progress(f"{self._part.title}: wave {number} of {len(cut)}, {len(wave.objects)} objects")
                outcomes = applier.apply(wave.objects)
                self._outcomes += outcomes
                self._problems += [problem_of(item) for item in outcomes if item.action is Action.FAILED]
                if self._problems:
                    return False
            return self._wait_for_all(objects)
        except ApiError as error:
            self._problems.append(refused(self.cluster, error))
            return False

    def wait(self, refs: Sequence[Ref]) -> bool:
        """Wait until these are ready; whether they are. In check mode there is nothing to wait for."""
        if self.check:
            return True
        answers = wait_ready(self.cluster, refs, self.deadline, self.progress)
        self._problems += [
            unready(self._part, answer, self.deadline) for answer in answers.values() if not answer.ready
        ]
        return not self._problems

    def note(self, outcome: ObjectOutcome) -> None:
        """Add an outcome that somebody else brought about."""
        self._outcomes.append(outcome)

    def fail(self, problem: Problem) -> None:
        """Note a problem that somebody else found."""
        self._problems.append(problem)

    def _wait_for_all(self, objects: Sequence[Object]) -> bool:
        refs = [Ref.of(obj) for obj in objects]
        wanted = {"CustomResourceDefinition", *WORKLOAD_KINDS} - {"CronJob"}
        if not self.wait([ref for ref in refs if ref.kind in wanted]):
            return False
        if not self.check:
            hooks = [ref for ref in refs if ref.kind in WEBHOOK_KINDS]
            silent = wait_answering(self.cluster, hooks, self.deadline, self.progress)
            if silent and self._renew_trust(hooks, objects):
                silent = wait_answering(self.cluster, hooks, self.deadline, self.progress)
            self._problems += silent
        return not self._problems

    def _renew_trust(self, configurations: Sequence[Ref], objects: Sequence[Object]) -> bool:
        """Start the backends anew that write the caBundle at their start, where it has gone since; whether any was."""
        causes: dict[Ref, str] = {}
        for live in filter(None, map(self.cluster.get, configurations)):
            meta = live["metadata"]
            for hook in webhooks([live]):
                if hook.service and not hook.text["clientConfig"].get("caBundle"):
                    cause = f"{meta['uid']}-{meta['generation']}"
                    behind = [Ref.of(obj) for obj in backends(hook, objects) if obj["kind"] == "Deployment"]
                    causes |= dict.fromkeys(behind, cause)
        for ref, cause in causes.items():
            deployment = self.cluster.get(ref)
            if deployment is not None:
                self.progress(f"{ref} is started anew: it writes the caBundle of its webhooks, which is gone")
                self.note(restart(self.cluster, deployment, cause, check=self.check))
        return bool(causes) and self.wait(list(causes))

    def _planned_namespaces(self, objects: Iterable[Object]) -> frozenset[str]:
        own = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Namespace"}
        return frozenset({*own, *(name for part in (*self._required, self._part) for name in part.namespaces)})

    def _planned_groups(self, objects: Iterable[Object]) -> frozenset[str]:
        own = {obj["spec"]["group"] for obj in objects if obj["kind"] == "CustomResourceDefinition"}
        return frozenset({*own, *(name.partition(".")[2] for part in self._required for name in part.crds)})


def unready(part: Component, answer: Readiness, deadline: Deadline) -> Problem:
    """Something that did not become ready, with its cause as far as the cluster tells."""
    if answer.reason in BAD_IMAGE_REASONS:
        todo = "make the image available to the nodes (name, mirror, pull secret), and run again."
    elif answer.reason in {"CrashLoopBackOff", "OOMKilled", "Failed", "BackoffLimitExceeded"}:
        todo = "read the log of that container (kubectl logs --previous), remove the cause, and run again."
    else:
        todo = "remove the cause that is named (kubectl describe tells more), and run again."
    waited = f"{deadline.elapsed:.0f} of {deadline.seconds:.0f} s"
    return Problem(f"{answer.message} Waited {waited}.", f"{part.title} {part.version} to be ready.", todo)


def refused(cluster: Cluster, error: ApiError) -> Problem:
    """A request that the API server did not grant."""
    return Problem(
        f"the API server of {cluster.origin} answered: {error}.",
        "an API server that answers, and credentials that may do what the roll-out does.",
        "check that it runs and that the credentials have the rights of cluster-admin, and run again.",
    )
