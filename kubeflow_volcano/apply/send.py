"""How one object is sent: server-side apply with its own outcome; conflicts and refusals are decided by a policy."""

from __future__ import annotations

import contextlib
import re
import shlex
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from http import HTTPStatus

from kubeflow_volcano.apply.replace import gone, immutable, replaceable, way_out
from kubeflow_volcano.apply.result import Action, ObjectOutcome, same
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.managers import MANAGER, may_be_taken_back
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress

__all__ = ["Applier", "problem_of"]

_PAUSE_SECONDS = 0.5
_HEAL_SECONDS = 120.0
"""How long one object is sent again and again for trouble that heals: longer than an API server takes to come back."""
_NOT_SERVED_SECONDS = 30.0
_REPLACE_SECONDS = 60.0
_CONFLICT_WITH = re.compile(r'conflicts? with "([^"]+)"')


@dataclass
class Applier:
    """Applies objects to one cluster; used by several threads at once.

    Policy for fields that another manager owns: they are set back by force, and it is told, when every such manager is
    a person at kubectl (the inventory is the truth, and a change by hand is drift from it), an earlier version of this
    project (its name begins with `kubeflow-volcano`), or unknown because the object is older than the tracking of
    managers; force concerns only fields that the object's text declares. Every other conflict (an autoscaler, Helm,
    another operator) is refused and names the manager, for it would be fought over for ever. A field that another
    manager took over without changing its value is shared with it from then on, which changes nothing.

    Trouble that heals (429, 5xx of etcd or a starting server, no answer) is met by sending again for two minutes, a
    webhook that does not answer until the deadline; any other refusal is final at once.

    In check mode everything is a server-side dry run, and objects whose namespace or API group is still to be created
    (`planned_namespaces`, `planned_groups`) are taken from their text without asking the server. `texts` keeps each
    object before and after for the difference.
    """

    cluster: Cluster
    deadline: Deadline
    progress: Progress
    check: bool = False
    texts: bool = True
    planned_namespaces: Collection[str] = ()
    planned_groups: Collection[str] = ()
    _told: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def apply(self, obj: Object, found: Found) -> ObjectOutcome:
        """Apply one declared object that was `found` so; a refusal is an outcome, no exception."""
        ref, before = Ref.of(obj), found.live
        if self.check and self._only_planned(ref, found):
            return ObjectOutcome(ref, Action.CREATED, None, obj)
        try:
            if before and "deletionTimestamp" in before["metadata"] and not self.check:
                self._tell_once(f"{ref} is being deleted; it is made again when it is gone")
                gone(self.cluster, ref, before["metadata"]["uid"], self.deadline)
                before = None
            after, replaced = self._send(obj, ref, before)
        except ApiError as error:
            return ObjectOutcome(ref, Action.FAILED, None, None, str(error))
        generation = after["metadata"].get("generation", 0)
        if replaced:
            action = Action.CHANGED
        elif before is None or before["metadata"]["uid"] != after["metadata"]["uid"]:
            action = Action.CREATED
        else:
            action = Action.UNCHANGED if same(before, after) else Action.CHANGED
        if self.texts and action is not Action.UNCHANGED:
            return ObjectOutcome(ref, action, _light(before), _light(after), generation=generation)
        return ObjectOutcome(ref, action, None, None, generation=generation)

    def _only_planned(self, ref: Ref, found: Found) -> bool:
        """Whether the server cannot judge the object yet, because something planned is not there."""
        if found.presence is Presence.NOT_SERVED:
            return ref.group in self.planned_groups
        return found.presence is Presence.NO_NAMESPACE and ref.namespace in self.planned_namespaces

    def _send(self, obj: Object, ref: Ref, before: Object | None) -> tuple[Object, bool]:
        """The object after, and whether it had to be deleted and made again."""
        not_served = self.deadline.part(0 if self.check else _NOT_SERVED_SECONDS)
        force = replaced = False
        while True:
            one_try = self.deadline.part(_HEAL_SECONDS)
            try:
                self._see_scope(ref)
                after = self.cluster.apply(
                    obj,
                    manager=MANAGER,
                    force=force,
                    dry_run=self.check,
                    brief=before is None and not self.texts,
                    deadline=one_try,
                )
            except ApiError as error:
                if _not_served(error) and not not_served.passed:
                    with contextlib.suppress(NotServed):
                        self.cluster.resource(ref.api_version, ref.kind, refresh=True)
                elif error.field_conflict and not force and _may_take_back(error):
                    force = True
                    others = ", ".join(sorted(_managers(error)))
                    self.progress(f"{ref}: what {others} had changed is set to what the inventory says")
                    continue
                elif immutable(error) and before and not replaced and replaceable(ref, before, MANAGER):
                    if self.check:
                        return obj, True
                    self._remove(ref, before, error)
                    replaced = True
                    continue
                elif self._heals(error) and not self.check and not self.deadline.passed:
                    self._tell_once(f"{ref} is sent again and again: {error}", error.message)
                else:
                    raise
            else:
                return after, replaced
            time.sleep(_PAUSE_SECONDS)

    @staticmethod
    def _heals(error: ApiError) -> bool:
        """Whether it is worth another try: a webhook will answer, or a race was lost against another creator."""
        return error.webhook_unanswered or error.reason == "AlreadyExists"

    def _remove(self, ref: Ref, before: Object, error: ApiError) -> None:
        self.progress(f"{ref} is deleted and made again, because a field of it cannot be changed")
        uid = before["metadata"]["uid"]
        self.cluster.delete(ref, uid=uid, deadline=self.deadline)
        if not gone(self.cluster, ref, uid, self.deadline.part(_REPLACE_SECONDS)):
            raise error

    def _see_scope(self, ref: Ref) -> None:
        resource = self.cluster.resource(ref.api_version, ref.kind)
        if resource.namespaced and not ref.namespace:
            raise ApiError(int(HTTPStatus.BAD_REQUEST), "NoNamespace", f"{ref} lives in a namespace and names none")

    def _tell_once(self, line: str, about: str = "") -> None:
        """Say it, unless the same was said before, also `about` another object."""
        with self._lock:
            if (about or line) in self._told:
                return
            self._told.add(about or line)
        self.progress(line)


def _light(obj: Object | None) -> Object | None:
    """Without the record of managers, which nobody is shown and which may be longer than the rest."""
    if obj is not None:
        obj["metadata"].pop("managedFields", None)
    return obj


def _not_served(error: ApiError) -> bool:
    return isinstance(error, NotServed) or (
        error.status == HTTPStatus.NOT_FOUND and "could not find the requested resource" in error.message
    )


def _managers(error: ApiError) -> frozenset[str]:
    return frozenset(name for text in (error.message, *error.causes) for name in _CONFLICT_WITH.findall(text))


def _may_take_back(error: ApiError) -> bool:
    managers = _managers(error)
    return bool(managers) and all(map(may_be_taken_back, managers))


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
            "have the inventory and that manager say the same (equal values are shared); or, where it writes no more, "
            f"give up its ownership: kubectl patch {kind} {ref.name}{where} --type merge -p {patch}; and run again.",
        )
    if immutable(ApiError(int(HTTPStatus.UNPROCESSABLE_ENTITY), "", reason)):
        return Problem(found, "an object whose unchangeable fields are those of the chosen version.", way_out(ref))
    return Problem(
        found, "an API server that accepts the object.", "remove the cause that the message names, and run again."
    )
