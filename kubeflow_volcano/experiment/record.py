"""What scheduling experiments saw: which pods were bound to which node when, and which were evaluated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS, GangScheduler, podgroup_of
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watch.observer import Change
from kubeflow_volcano.deadline import Deadline

_LONGEST_TIMELINE = 200
_BY_VERSION = {item.api_version: item for item in GANG_SCHEDULERS.values()}


@dataclass(frozen=True, slots=True)
class Moment:
    """One event; `at` is RFC3339 with milliseconds, by this machine's clock."""

    at: str
    name: str
    what: str

    @property
    def event(self) -> str:
        """One word: created, judged, bound, ended, lost, removed, deleted, vanished, or phase."""
        return self.what.partition(" ")[0].rstrip(":")


@dataclass(slots=True)
class Member:
    """One probe pod as the watch saw it.

    `judged` is the time at which a scheduler's PodScheduled=False was seen, else empty. `bound_at` is the time at which
    the binding was seen; after a break in the watch it is the server's lastTransitionTime.
    `ended` is the time at which its success was seen; `lost` is how another client deleted it (evicted, drained); both
    are empty otherwise. `group` is its gang annotation, `waiting` why one of its containers does not start.
    `outlasting` are the containers that run on after another one has ended, as injected ones do.
    """

    name: str
    uid: str
    scheduler: str
    labels: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    phase: str = "Pending"
    node: str = ""
    bound_at: str = ""
    bound_monotonic: float = 0.0
    judged: str = ""
    message: str = ""
    waiting: str = ""
    outlasting: tuple[str, ...] = ()
    ended: str = ""
    lost: str = ""
    namespace: str = ""
    gone: bool = False
    removing: bool = False
    followed: bool = False


@dataclass(slots=True)
class Group:
    """One PodGroup as the watch saw it; `judged` is when its scheduler had refused it (`GangScheduler.refusal_of`).

    `tells` is False if its scheduler writes no such thing; then it never becomes `judged`.
    """

    name: str
    uid: str
    minimum: int
    phase: str = ""
    judged: str = ""
    conditions: tuple[Mapping[str, str], ...] = ()
    queue: str = ""
    namespace: str = ""
    tells: bool = True
    gone: bool = False


@dataclass
class Recorder:
    """Follows pods and PodGroups. `changes` is the stream of an Observer of both, in one namespace or several.

    `namespace` and `labels` say where `look` looks.
    """

    cluster: Cluster
    namespace: str
    labels: str
    changes: Iterator[Change | None]
    members: dict[str, Member] = field(default_factory=dict)
    """By UID, in the order of their creation."""
    groups: dict[str, Group] = field(default_factory=dict)
    timeline: list[Moment] = field(default_factory=list)
    states: list[tuple[str, ...]] = field(default_factory=list)
    """Every set of names that were bound at the same time, in order."""

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Follow events until `condition` holds; False after `seconds` without news of a pod.

        Raises as `until` does.
        """
        deadline = Deadline.renewable(seconds)
        return self._follow(condition, deadline, deadline.renew)

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Follow events until `condition` holds; False after `seconds`.

        Raises:
            ApiError: the API server does not allow reading pods or PodGroups.
            TimeoutError: the stream's own deadline has passed.
        """
        return self._follow(condition, Deadline(seconds), lambda: None)

    def _follow(self, condition: Callable[[], bool], deadline: Deadline, news: Callable[[], None]) -> bool:
        while not condition():
            if deadline.passed:
                return False
            try:
                change = next(self.changes)
            except StopIteration:
                raise TimeoutError("the scheduling experiments took longer than their common time limit") from None
            if change is not None:
                self.take(change)
                if change.subject.kind == "Pod":
                    news()
        return True

    def look(self) -> None:
        """List the pods, so that no binding until now is missed."""
        for pod in self.cluster.list("v1", "Pod", namespace=self.namespace, labels=self.labels).items:
            self._pod(pod, self.namespace, late=False)
        self._state()

    def take(self, change: Change) -> None:
        """Record one change."""
        where = change.subject.namespace
        first = change.type == "RESET" and not any(
            item.followed for item in self.members.values() if item.namespace == where
        )
        if change.subject.kind == "PodGroup":
            self._take_groups(change)
            return
        for pod in change.objects:
            self._pod(pod, where, late=change.type == "RESET" and not first)
            if member := self.members.get(pod["metadata"]["uid"]):
                member.followed = True
        if change.type == "DELETED":
            self._ended(change.objects[0]["metadata"]["uid"], "deleted by another client: evicted or drained")
        elif change.type == "RESET":
            present = {item["metadata"]["uid"] for item in change.objects}
            for uid, member in self.members.items():
                # Only what the watch has seen before can vanish from it.
                if member.followed and member.namespace == where and uid not in present:
                    self._ended(uid, "vanished while the watch was broken")
        self._state()

    def expect(self, *objects: Object) -> None:
        """Record that the probe itself is deleting these."""
        for obj in objects:
            if member := self.members.get(obj["metadata"]["uid"]):
                member.removing = True

    def bound(self, *names: str) -> tuple[str, ...]:
        """Names of pods that are bound and exist, among `names` if there are any."""
        return tuple(
            item.name
            for item in self.members.values()
            if item.node and not item.gone and (not names or item.name in names)
        )

    def disturbed(self) -> bool:
        """Whether another client deleted a member, so that waiting is pointless."""
        return any(item.lost for item in self.members.values())

    def begin(self) -> None:
        """Start a new step: forget deleted objects, and the timeline of the previous step."""
        self.members = {uid: item for uid, item in self.members.items() if not item.gone}
        self.groups = {uid: item for uid, item in self.groups.items() if not item.gone}
        self.timeline = []
        self.states = []

    def _pod(self, pod: Object, namespace: str, *, late: bool) -> None:
        meta, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
        member = self.members.get(meta["uid"])
        if member is None:
            labels = meta.get("labels") or {}
            scheduler = spec.get("schedulerName", "")
            member = Member(meta["name"], meta["uid"], scheduler, labels, podgroup_of(pod), namespace=namespace)
            self.members[member.uid] = member
            self._note(member.name, "created")
        member.phase = status.get("phase") or member.phase
        member.waiting = _waiting(status)
        member.outlasting = _outlasting(status)
        scheduled = conditions(pod).get("PodScheduled", {})
        since = scheduled.get("lastTransitionTime") or ""
        # The API server writes SchedulingGated at creation; only a scheduler writes other reasons.
        evaluated = scheduled.get("status") == "False" and scheduled.get("reason") != "SchedulingGated"
        if evaluated and not member.judged and since >= meta["creationTimestamp"]:
            member.judged = _now()
            self._note(member.name, f"judged: {scheduled.get('reason', '')}")
        if evaluated:
            member.message = scheduled.get("message", "")
        if spec.get("nodeName") and not member.node:
            member.node = spec["nodeName"]
            member.bound_at = since if late and since else _now()
            member.bound_monotonic = time.monotonic()
            self._note(member.name, f"bound to node {member.node}", member.bound_at)
        if member.phase == "Succeeded" and not member.ended:
            member.ended = _now()
            self._note(member.name, "ended: Succeeded")
        disrupted = conditions(pod).get("DisruptionTarget", {}).get("status") == "True"
        if not member.lost and not member.removing and (status.get("phase") == "Failed" or disrupted):
            member.lost = status.get("reason") or "disrupted"
            self._note(member.name, f"lost: {member.lost} {status.get('message', '')}".rstrip())

    def _ended(self, uid: str, how: str) -> None:
        member = self.members.get(uid)
        if member is None or member.gone:
            return
        member.gone = True
        if not member.removing:
            member.lost = member.lost or how
        self._note(member.name, "removed" if member.removing else how)

    def _take_groups(self, change: Change) -> None:
        where = change.subject.namespace
        for obj in change.objects:
            self._group(obj, where, _BY_VERSION[change.subject.api_version])
        present = {item["metadata"]["uid"] for item in change.objects}
        for uid, group in self.groups.items():
            missing = change.type == "RESET" and group.namespace == where and uid not in present
            ended = uid in present if change.type == "DELETED" else missing
            if ended and not group.gone:
                group.gone = True
                self._note(group.name, "removed")

    def _group(self, obj: Object, namespace: str, gang: GangScheduler) -> None:
        meta, phase = obj["metadata"], gang.phase_of(obj)
        group = self.groups.get(meta["uid"])
        if group is None:
            group = Group(meta["name"], meta["uid"], 0, namespace=namespace, tells=gang.writes_status)
            self.groups[group.uid] = group
        group.minimum, group.queue = gang.minimum_of(obj), obj["spec"].get("queue", "")
        if phase != group.phase:
            group.phase = phase
            self._note(group.name, f"phase {group.phase}")
        by_type = conditions(obj)
        group.conditions = tuple({key: str(value) for key, value in item.items()} for item in by_type.values())
        if verdict := gang.refusal_of(obj) if not group.judged else {}:
            group.judged = _now()
            self._note(group.name, f"judged: {verdict.get('reason', '')}")

    def _state(self) -> None:
        now = tuple(sorted(self.bound()))
        if not self.states or self.states[-1] != now:
            self.states.append(now)

    def _note(self, name: str, what: str, at: str = "") -> None:
        if len(self.timeline) < _LONGEST_TIMELINE:
            self.timeline.append(Moment(at or _now(), name, what))


def _waiting(status: Mapping[str, Any]) -> str:
    """Reason and message of the first waiting container; empty if none is waiting."""
    for item in status.get("containerStatuses") or ():
        if (state := item.get("state", {}).get("waiting")) and state.get("reason") != "ContainerCreating":
            return f"{state.get('reason', '')}: {state.get('message', '')}".rstrip(": ")
    return ""


def _outlasting(status: Mapping[str, Any]) -> tuple[str, ...]:
    states = {item.get("name", ""): item.get("state") or {} for item in status.get("containerStatuses") or ()}
    one_ended = any("terminated" in state for state in states.values())
    return tuple(name for name, state in states.items() if one_ended and "running" in state)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
