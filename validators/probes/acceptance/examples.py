"""Examples on the cluster: each is created, followed until it runs or completes, and deleted before the next."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from kubeflow_volcano.catalog.examples import Example, load_example
from kubeflow_volcano.cluster.metadata import SIMULATED_POD
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS
from kubeflow_volcano.cluster.watch.observer import Change, Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.remains import wait_gone
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import NAMESPACES, STORAGE_CLASSES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.acceptance.states import State, state_of
from kubeflow_volcano.validators.probes.acting import ACTING, ProbeOptions, noting
from kubeflow_volcano.validators.subjects.storage_classes import STATIC, default_classes

PROFILE = ("app.kubernetes.io/part-of", "kubeflow-profile")
"""Label of the namespaces of profiles, in which accounts and sidecars for pipelines and experiments exist."""

NOTEBOOK = "notebook"
"""Name of the example that is tried with each image which the inventory offers."""

CLAIMS = ("", ("persistentvolumeclaims",))
"""The resource of claims, with its API group: the session looks at their volumes when it removes them."""

OF_CLAIMS = (
    Rule("get", "", "persistentvolumeclaims"),
    *(Rule(verb, "", "persistentvolumes") for verb in ("get", "watch", "patch")),
)
"""What it takes beside to remove a claim with its volume."""

_TICK = 0.5
_GONE_SECONDS = 60.0
_HARD = {"pods": "40"}
"""Quota of the probe's own namespace. Requests are not limited: controllers add containers that have none."""
_STARTED = frozenset({"Running", "Succeeded"})
_LASTING = ("PersistentVolumeClaim",)
"""Kinds that the session removes at its end, with their volumes."""


@dataclass
class Attempt:
    """One example: how far its object came, after how many seconds, and what its status and pods said last.

    `reached`: it has completed, or runs with all of its pods where that is the goal. `simulated` is the
    number of its pods on nodes without a machine. `absent`: why it was not created. `todo`: what to do, where the
    cause is known.
    """

    example: str
    object: Ref | None = None
    state: State = State.PENDING
    reached: bool = False
    seconds: float = 0.0
    said: str = ""
    waiting: str = ""
    simulated: int = 0
    absent: str = ""
    todo: str = ""


@dataclass
class Acceptance:
    """What became of the examples of one check; `failure`: reason and text of what kept the probe from acting."""

    goal: State
    limit_seconds: float = 0.0
    attempts: list[Attempt] = field(default_factory=list)
    failure: tuple[str, str] | None = None


def acceptance_probe(
    name: str,
    examples: Sequence[str],
    resources: Mapping[str, Sequence[str]],
    component: str,
    goal: State = State.RUNNING,
) -> Probe[Acceptance]:
    """The probe that creates these examples, if the component is expected or empty.

    `resources` are the plurals of their kinds, by API group; `CLAIMS` is among them where they have claims.
    """
    verbs = ("create", "delete", "list", "watch")
    return Probe[Acceptance](
        f"acceptance-{name}",
        partial(_run, _Plan(tuple(examples), component, goal)),
        "acceptance",
        reads=(NAMESPACES, *((STORAGE_CLASSES,) if CLAIMS in resources.items() else ())),
        needs=(
            *ACTING,
            *(Rule(verb, group, item) for group, plurals in resources.items() for item in plurals for verb in verbs),
            *(rule for rule in OF_CLAIMS if CLAIMS in resources.items()),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The examples of one probe, the component that they need, and the state that they are to reach."""

    examples: tuple[str, ...]
    component: str
    goal: State


def _run(plan: _Plan, session: Session, facts: Facts, progress: Progress) -> Acceptance:
    """Create the examples one after the other; at most `accept_seconds` each."""
    evidence = Acceptance(plan.goal, facts.timing.accept_seconds)
    chosen = plan.component in {"", *facts.expectations.components}
    with noting(evidence):
        for said, example in chain(*(_variants(session, name) for name in (plan.examples if chosen else ()))):
            attempt = Attempt(said, absent=_obstacle(session, facts, example))
            evidence.attempts.append(attempt)
            if not attempt.absent:
                progress(f"example {said}")
                namespace = session.namespace(Level.BASELINE, _HARD)
                created = [session.create(obj) for obj in _objects(session, example, namespace)]
                attempt.object = Ref.of(created[-1])
                _follow(session, facts.timing, attempt, created[-1], plan.goal)
                _remove(session, attempt.object, created)
    return evidence


def _variants(session: Session, name: str) -> Iterator[tuple[str, Example]]:
    """The example, with what it is called; that of a notebook once with each image that the inventory offers."""
    example = load_example(name)
    offered = session.options.notebook_images if isinstance(session.options, ProbeOptions) else ()
    if name != NOTEBOOK or not offered:
        yield name, example
        return
    (own,) = {item["image"] for item in example.objects[-1]["spec"]["template"]["spec"]["containers"]}
    for number, image in enumerate(offered, start=1):
        objects = tuple(renamed(obj, {own: image}) for obj in example.objects)
        yield f"{name} with {image}", replace(example, name=f"{name}-{number}", objects=objects)


@dataclass
class _Seen:
    """The object of an example and its pods, which have names that begin like its own, as watches show them."""

    ref: Ref
    object: Object
    pods: dict[str, Object] = field(default_factory=dict)

    @property
    def subjects(self) -> list[Subject]:
        """What is to be watched."""
        own = Subject(self.ref.api_version, self.ref.kind, self.ref.namespace, fields=f"metadata.name={self.ref.name}")
        return [own, Subject("v1", "Pod", self.ref.namespace)]

    def take(self, change: Change) -> None:
        """Record one change."""
        if change.subject.kind != "Pod":
            self.object = next(({"kind": self.ref.kind, **obj} for obj in change.objects), self.object)
            return
        by_uid = {obj["metadata"]["uid"]: obj for obj in change.objects}
        if change.type == "RESET":
            self.pods = {}
        for uid, pod in by_uid.items():
            if change.type == "DELETED":
                self.pods.pop(uid, None)
            elif pod["metadata"]["name"].startswith(self.ref.name):
                self.pods[uid] = {"apiVersion": "v1", "kind": "Pod", **pod}

    def run(self) -> bool:
        """Whether no pod waits for anything."""
        return all(pod["status"].get("phase") in _STARTED for pod in self.pods.values())


def _follow(session: Session, timing: Timing, attempt: Attempt, created: Object, goal: State) -> None:
    """Wait until the object has ended, or has run for a moment where that is the goal, or cannot start; remove pods."""
    seen = _Seen(Ref.of(created), created)
    started = time.monotonic()
    since = 0.0
    with Observer(session.cluster, seen.subjects, Deadline(timing.accept_seconds)) as observer:
        for change in observer.changes(_TICK):
            if change:
                seen.take(change)
            attempt.state, attempt.said = state_of(seen.object)
            now = time.monotonic()
            since = (since or now) if attempt.state in {goal, State.COMPLETED} and seen.run() else 0.0
            settled = since and now - since >= timing.settle_running_seconds
            if attempt.state > State.RUNNING or settled or cannot_start(seen.pods.values()) or session.stopped:
                break
    attempt.reached = attempt.state is State.COMPLETED or (attempt.state is goal and bool(since))
    attempt.seconds = round(time.monotonic() - started, 1)
    attempt.waiting = "; ".join(waiting(seen.pods.values()))
    attempt.simulated = sum(SIMULATED_POD in (pod["metadata"].get("labels") or {}) for pod in seen.pods.values())
    for pod in seen.pods.values():
        session.adopt(pod)


def _remove(session: Session, ref: Ref, created: Sequence[Object]) -> None:
    """Delete what was created, but for claims, and wait until the pods have made room for the next example."""
    session.delete(*(item for item in created if item["kind"] not in _LASTING))
    pods = [
        item
        for item in session.tracked
        if (item.ref.kind, item.ref.namespace) == ("Pod", ref.namespace) and item.ref.name.startswith(ref.name)
    ]
    left = {item.uid for item in wait_gone(session.cluster, pods, Deadline(_GONE_SECONDS))}
    session.gone(*(item.uid for item in pods if item.uid not in left))


def _obstacle(session: Session, facts: Facts, example: Example) -> str:
    """Why the example cannot be created here; empty if it can."""
    main = example.objects[-1]
    needed = [main, *(item for item in example.with_trials if item not in example.objects)]
    for obj in needed:
        if obj["kind"] not in session.cluster.kinds(obj["apiVersion"]):
            return f"the cluster serves no {obj['kind']} of {obj['apiVersion']}"
    if any(item["kind"] == "PersistentVolumeClaim" for item in example.objects) and (reason := provisioned(facts)):
        return reason
    if "default-editor" in str(example.objects) or main["kind"] == "Experiment":
        return in_profile(session, facts)
    return ""


def in_profile(session: Session, facts: Facts) -> str:
    """Why what needs the accounts of a profile cannot be created; empty if the session is in a profile's namespace."""
    space = facts.get(NAMESPACES, "", session.options.namespace) if session.options.namespace else None
    key, value = PROFILE
    if ((space or {"metadata": {}})["metadata"].get("labels") or {}).get(key) != value:
        return "it needs the namespace of a profile: --probe-namespace names one"
    return ""


def provisioned(facts: Facts) -> str:
    """Why a claim gets no volume that is made for it, which those that others made are not; empty if it gets one."""
    name = next(iter(default_classes(facts)), "")
    provisioner: str = (facts.get(STORAGE_CLASSES, "", name) or {}).get("provisioner", STATIC)
    return "its claim needs a default StorageClass with a provisioner" if provisioner == STATIC else ""


def _objects(session: Session, example: Example, namespace: str) -> Iterator[Object]:
    """The objects of kinds that are served, under names of this run in this namespace."""
    stem = example.name.rpartition("/")[2]
    declared = [obj["metadata"]["name"] for obj in example.objects]
    names = {name: _own_name(name, f"kfv-{session.run}-{stem}") for name in declared}
    images = session.options.images if isinstance(session.options, ProbeOptions) else {}
    for obj in example.objects:
        if obj["kind"] in session.cluster.kinds(obj["apiVersion"]):
            own = renamed(obj, {**images, **names})
            yield {**own, "metadata": {**own["metadata"], "namespace": namespace}}


def _own_name(name: str, stem: str) -> str:
    """Its name in a run; as short as can be, as Katib takes no experiment with a name of more than 40 characters."""
    rest = name.removeprefix("example")
    return stem if stem.endswith(rest) else stem + rest


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with images and with names of the example's objects replaced, also as the claim in pvc://NAME/."""
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if not isinstance(value, str):
        return value
    scheme, mark, rest = value.partition("://")
    if mark and scheme == "pvc":
        claim, slash, path = rest.partition("/")
        return f"pvc://{names.get(claim, claim)}{slash}{path}"
    return names.get(value, value)


def waiting(pods: Iterable[Object]) -> Iterator[str]:
    """What keeps each pod from running, in a few words."""
    for pod in pods:
        scheduled = conditions(pod).get("PodScheduled", {})
        if scheduled.get("status") == "False":
            yield f"{pod['metadata']['name']} has no node: {scheduled.get('message', '')}"
        for reason, text in _containers(pod):
            yield f"{pod['metadata']['name']}: {reason}: {text}".rstrip(": ")


def cannot_start(pods: Iterable[Object]) -> bool:
    """Whether the image of one of them cannot be had."""
    return any(reason in BAD_IMAGE_REASONS for pod in pods for reason, _ in _containers(pod))


def _containers(pod: Object) -> Iterator[tuple[str, str]]:
    """Reason and message of each container that waits for something else than its creation."""
    status = pod.get("status") or {}
    for item in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = item.get("state", {}).get("waiting") or {}
        if waiting.get("reason") not in {None, "ContainerCreating", "PodInitializing"}:
            yield waiting["reason"], waiting.get("message", "")
