"""How objects are sent: server-side apply in parallel, each with its own outcome; conflicts are decided by a policy."""

from __future__ import annotations

import contextlib
import re
import shlex
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.owned import settled
from kubeflow_volcano.rollout.result import Action, ObjectOutcome, same

__all__ = ["MANAGER", "Applier", "problem_of"]

MANAGER = "kubeflow-volcano"
"""Field manager of everything that the roll-out declares."""

_THREADS = 8
"""More gain nothing: measured with 594 objects, the API server is then the bottleneck."""
_PAUSE_SECONDS = 0.5
_ONE_TRY_SECONDS = 10.0  # then it is told what does not heal
_NOT_SERVED_SECONDS = 30.0
_CONFLICT_WITH = re.compile(r'conflicts? with "([^"]+)"')
# kubectl's names are "kubectl" and "kubectl-<verb>"; the other is what the API server calls fields from a time before
# it tracked managers.
_MAY_BE_TAKEN_BACK = re.compile(rf"kubectl(-[a-z-]+)?|before-first-apply|{MANAGER}.*")


@dataclass
class Applier:
    """Applies objects to one cluster.

    Policy for fields that another manager owns: they are set back by force, and it is told, when every such manager is
    a person at kubectl (the inventory is the truth, and a change by hand is drift from it), an earlier version of this
    project (its name begins with `kubeflow-volcano`), or unknown because the object is older than the tracking of
    managers; force concerns only fields that the object's text declares. Every other conflict (an autoscaler, Helm,
    another operator) is refused and names the manager, for it would be fought over for ever.

    In check mode everything is a server-side dry run, and objects whose namespace or API group is still to be created
    (`planned_namespaces`, `planned_groups`) are taken from their text without asking the server.
    """

    cluster: Cluster
    deadline: Deadline
    progress: Progress
    check: bool = False
    planned_namespaces: Collection[str] = ()
    planned_groups: Collection[str] = ()
    _told: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def apply(self, objects: Sequence[Object]) -> tuple[ObjectOutcome, ...]:
        """Apply all, in parallel; a refused object does not keep the others from being sent."""
        with ThreadPoolExecutor(min(_THREADS, len(objects)) or 1, thread_name_prefix="apply") as pool:
            return tuple(pool.map(self._one, objects))

    def _one(self, obj: Object) -> ObjectOutcome:
        ref = Ref.of(obj)
        before: Object | None = None
        try:
            before = self.cluster.get(ref, deadline=self.deadline)
            if before is None and self.check and self._only_planned(ref):
                return ObjectOutcome(ref, Action.CREATED, None, obj)
            if before is not None and settled(obj, before, MANAGER):
                return ObjectOutcome(ref, Action.UNCHANGED, before, before)
            after = self._send(obj, ref)
        except ApiError as error:
            return ObjectOutcome(ref, Action.FAILED, before, None, str(error))
        if before is None or before["metadata"]["uid"] != after["metadata"]["uid"]:
            action = Action.CREATED
        else:
            action = Action.UNCHANGED if same(before, after) else Action.CHANGED
        return ObjectOutcome(ref, action, before, after)

    def _only_planned(self, ref: Ref) -> bool:
        """Whether the server cannot judge the object yet, because something planned is not there."""
        try:
            self.cluster.resource(ref.api_version, ref.kind, refresh=True)
        except NotServed:
            return ref.group in self.planned_groups
        if ref.namespace not in self.planned_namespaces:
            return False
        return self.cluster.get(Ref("v1", "Namespace", "", ref.namespace), deadline=self.deadline) is None

    def _send(self, obj: Object, ref: Ref) -> Object:
        not_served = Deadline(0 if self.check else min(_NOT_SERVED_SECONDS, self.deadline.remaining))
        force = False
        while True:
            one_try = Deadline(min(_ONE_TRY_SECONDS, self.deadline.remaining))
            try:
                self._see_scope(ref)
                return self.cluster.apply(obj, manager=MANAGER, force=force, dry_run=self.check, deadline=one_try)
            except NotServed:
                if not_served.passed:
                    raise
                with contextlib.suppress(NotServed):
                    self.cluster.resource(ref.api_version, ref.kind, refresh=True)
            except ApiError as error:
                if error.field_conflict and not force and _may_take_back(error):
                    force = True
                    others = ", ".join(sorted(_managers(error)))
                    self.progress(f"{ref}: what {others} had changed is set to what the inventory says")
                    continue
                heals = error.transient or error.webhook_unanswered
                if not heals or self.check or self.deadline.passed:
                    raise
                self._tell_once(f"{ref} is sent again and again: {error}")
            time.sleep(_PAUSE_SECONDS)

    def _see_scope(self, ref: Ref) -> None:
        resource = self.cluster.resource(ref.api_version, ref.kind)
        if resource.namespaced and not ref.namespace:
            raise ApiError(int(HTTPStatus.BAD_REQUEST), "NoNamespace", f"{ref} lives in a namespace and names none")

    def _tell_once(self, line: str) -> None:
        with self._lock:
            if line in self._told:
                return
            self._told.add(line)
        self.progress(line)


def _managers(error: ApiError) -> frozenset[str]:
    return frozenset(name for text in (error.message, *error.causes) for name in _CONFLICT_WITH.findall(text))


def _may_take_back(error: ApiError) -> bool:
    managers = _managers(error)
    return bool(managers) and all(_MAY_BE_TAKEN_BACK.fullmatch(name) for name in managers)


def problem_of(outcome: ObjectOutcome) -> Problem:
    """A failed outcome as a problem with its next step."""
    ref, reason = outcome.ref, outcome.reason
    found = f"{ref} was refused: {reason}"
    if "conflict with" in reason or "conflicts with" in reason:
        where = f" -n {ref.namespace}" if ref.namespace else ""
        kind = f"{ref.kind}.{ref.group}" if ref.group else ref.kind
        patch = shlex.quote('{"metadata":{"managedFields":[{}]}}')
        return Problem(
            found,
            "the fields that the roll-out declares to be nobody else's; they were left as they are.",
            f"undo that change, or give up its ownership with: kubectl patch {kind} {ref.name}{where} --type merge "
            f"-p {patch}, and run again.",
        )
    if "field is immutable" in reason:
        return Problem(
            found,
            "an object whose unchangeable fields are those of the chosen version.",
            f"look at the difference with --check --diff; if {ref} may go, delete it and run again.",
        )
    return Problem(
        found, "an API server that accepts the object.", "remove the cause that the message names, and run again."
    )
