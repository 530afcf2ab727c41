"""Setup and cleanup of a scheduling experiment: its PodGroups, its pods, and the record of them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kubeflow_volcano.catalog.gangs import KUBERNETES, VOLCANO, GangScheduler
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.experiment.pods import probe_pod
from kubeflow_volcano.experiment.record import Group, Member, Moment, Recorder
from kubeflow_volcano.experiment.session import ProbeRefused, Session

PODGROUP = VOLCANO.podgroup
NOWHERE = "kfv.io/nowhere"
"""A label that no node has: a pod that requires it is unschedulable."""

_CLEAR_SECONDS = 20.0
# Webhooks up to Volcano 1.5.0 refuse the pods of a group that is still Pending (volcano-sh/volcano#1778).
_EARLY = "podgroup phase is Pending"
_EARLY_SECONDS = 10.0


def was_judged(members: Collection[Member], groups: Collection[Group]) -> bool:
    """Whether a scheduler has evaluated the whole gang: every member, and every group whose scheduler reports it."""
    there = bool(members) and bool(groups)
    return there and all(item.judged for item in members) and all(item.judged for item in groups if item.tells)


@dataclass(frozen=True)
class Step:
    """Evidence of one step.

    `reached`: the condition of the step was met within its limit, after `seconds`. `premature` are the members that
    were bound too early. `states` are the sets of names bound at one time.
    """

    id: str
    members: tuple[Member, ...]
    groups: tuple[Group, ...]
    timeline: tuple[Moment, ...]
    states: tuple[tuple[str, ...], ...]
    reached: bool
    seconds: float
    premature: tuple[str, ...] = ()
    held_seconds: float = 0.0
    attempts: int = 1
    notes: tuple[str, ...] = ()

    @property
    def bound(self) -> tuple[Member, ...]:
        """Members that were bound."""
        return tuple(item for item in self.members if item.node)

    @property
    def judged(self) -> bool:
        """Whether a scheduler has evaluated the whole gang: every member and every group."""
        return was_judged(self.members, self.groups)

    @property
    def disturbed(self) -> tuple[Member, ...]:
        """Members that the probe did not delete, and that are gone."""
        return tuple(item for item in self.members if item.lost)

    @property
    def events(self) -> list[dict[str, str]]:
        """The timeline as plain data."""
        return [{"at": item.at, "name": item.name, "event": item.event, "what": item.what} for item in self.timeline]

    @property
    def as_file(self) -> dict[str, str]:
        """The timeline as text by file name, for a file beside the report."""
        return {f"{self.id}-timeline.txt": "".join(f"{item.at} {item.name} {item.what}\n" for item in self.timeline)}

    @property
    def spread_seconds(self) -> float:
        """Time between the first and the last binding."""
        times = [item.bound_monotonic for item in self.bound]
        return max(times) - min(times) if times else 0.0


def step_of(record: Recorder, id_: str, names: Collection[str], since: float, *, reached: bool, **more: Any) -> Step:
    """The evidence so far of the members with these names; `since` is the monotonic time of the start."""
    members = tuple(replace(item) for item in record.members.values() if item.name in names)
    groups = tuple(replace(item) for item in record.groups.values() if not item.gone)
    return Step(
        id_,
        members,
        groups,
        tuple(record.timeline),
        tuple(record.states),
        reached=reached,
        seconds=round(time.monotonic() - since, 3),
        **more,
    )


def nowhere() -> Mapping[str, Any]:
    """The affinity of a pod that fits no node."""
    term = {"matchExpressions": [{"key": NOWHERE, "operator": "Exists"}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


class Stage:
    """Sets up one step at a time in a namespace of the session."""

    def __init__(
        self, session: Session, recorder: Recorder, priority_class: str = "", gang: GangScheduler = VOLCANO
    ) -> None:
        self.recorder = recorder
        self._gang = gang
        self._session = session
        self._priority = {"priorityClassName": priority_class} if priority_class else {}
        self._objects: dict[str, Object] = {}
        self._started = time.monotonic()
        self.run = session.run
        self.prefix = f"{session.run}-" if session.options.namespace else ""
        """Prefix of names in an existing namespace, which another run may use, too."""

    def begin(self) -> None:
        """Start the clock and a fresh record."""
        self.recorder.begin()
        self._started = time.monotonic()

    def group(self, name: str, minimum: int) -> None:
        """Create a PodGroup."""
        api_version, kind = self._gang.podgroup
        spec = self._gang.group_spec(minimum)
        if self._gang is KUBERNETES:  # it refuses pods of another priority than their group's (validatePodGroup)
            spec |= self._priority
        if self._gang.has_queues:
            spec["queue"] = self._session.options.queue
        self._create(new_object(api_version, kind, name, self.recorder.namespace, spec=spec))

    def pod(
        self,
        name: str,
        group: str = "",
        *,
        required: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Create a pause pod: a member of `group`, for the gang scheduler; without one, for the default scheduler.

        `required` is its affinity.
        """
        scheduler = self._gang.scheduler if group else "default-scheduler"
        spec: dict[str, Any] = {"schedulerName": scheduler, **self._priority}
        if required:
            spec["affinity"] = dict(required)
        container = {"image": self._session.options.pause_image}
        marks = self._gang.marks(group) if group else {}
        meta = marks.get("metadata", {})
        self._create(
            probe_pod(
                name,
                self.recorder.namespace,
                container,
                spec=spec | marks.get("spec", {}),
                labels={**(labels or {}), **meta.get("labels", {})},
                annotations=meta.get("annotations", {}),
            )
        )

    def _create(self, obj: Object) -> None:
        end = time.monotonic() + _EARLY_SECONDS
        while True:
            try:
                created = self._session.create(obj)
            except ProbeRefused as refusal:
                if _EARLY not in str(refusal) or time.monotonic() > end:
                    raise
                self.recorder.until(lambda: False, 0.5)
            else:
                self._objects[created["metadata"]["name"]] = created
                return

    def remove(self, *names: str) -> None:
        """Delete some objects of the step by UID, and wait until the watch has seen that."""
        gone = [self._objects.pop(name) for name in names]
        self.recorder.expect(*gone)
        self._session.delete(*gone)
        uids = {item["metadata"]["uid"] for item in gone}

        def all_gone() -> bool:
            known = [self.recorder.members.get(uid) or self.recorder.groups.get(uid) for uid in uids]
            return all(item is None or item.gone for item in known)

        if not self.recorder.until(all_gone, _CLEAR_SECONDS):
            raise TimeoutError(f"{', '.join(names)} were deleted and still exist after {_CLEAR_SECONDS:.0f} s")
        self._session.gone(*uids)

    def clear(self) -> None:
        """Delete everything of the step: a step never sees the objects of another."""
        if self._objects:
            self.remove(*self._objects)

    def step(self, id_: str, names: tuple[str, ...], *, reached: bool, **more: Any) -> Step:
        """The evidence so far of the members with these names."""
        return step_of(self.recorder, id_, names, self._started, reached=reached, **more)
