"""Sending one object: server-side apply, with a policy for conflicts and refusals."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.apply.fields.ceded import Pointer, give_up, owns, with_live_values, without
from kubeflow_volcano.apply.fields.takeover import appliers, has_left_fields, take_over, without_left_fields
from kubeflow_volcano.apply.replace import is_immutable_error, is_replaceable, wait_for_deletion
from kubeflow_volcano.apply.result import Action, ObjectOutcome, is_same
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.edit import edit
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER, may_be_overwritten, writes_for_us
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import plurals

_PAUSE_SECONDS = 0.5
_HEAL_SECONDS = 120.0
"""How long one object is retried: longer than an API server takes to restart."""
_NOT_SERVED_SECONDS = 30.0
_REPLACE_SECONDS = 60.0
_SEEN_SECONDS = 30.0
"""How long a webhook may take to see an object that was just sent."""
_LACKS = re.compile(r'denied the request: .*?(?:([A-Za-z]+)(?:\.([\w.-]+))? )?"([^"]+)" not found')
"""Kind or resource with its group, where the message has them, and the name."""
_CONFLICT_WITH = re.compile(r'conflicts? with "([^"]+)"')


@dataclass
class Applier:
    """Applies objects to one cluster; used by several threads at once.

    Fields that another field manager owns are forced, and this is reported, if this project brought the object and
    every such manager is kubectl (a change by hand is drift from the inventory), an earlier version of this project
    (its name begins with `kubeflow-volcano`), or unknown because the object is older than managedFields. This project
    brought what it has applied, and what has a UID of `brought`. Objects of others are forced only if they are
    `adopted`; then fields that only the tool of the others declared go, too. Every other conflict (an autoscaler, Helm,
    another operator) is refused and names the manager, because both would keep overwriting each other. A field that
    another manager took over with an equal value is shared with it.

    Transient errors (429, 5xx, no answer) are retried for two minutes, a webhook that does not answer until the
    deadline. Any other refusal is final.

    In check mode every request is a server-side dry run. Objects whose namespace or API group is still to be created
    (`planned_namespaces`, `planned_groups`) are reported as created without a request, and as well those that a
    webhook refuses without another one of `refs`, which are sent with them. `texts` keeps each object before
    and after for the difference.

    Fields that are left to others (`ceded` in what was found) are sent when the object is created, and given up then;
    of an object that exists they are given up without a change of their values.
    """

    cluster: Cluster
    deadline: Deadline
    progress: Progress
    check: bool = False
    texts: bool = True
    planned_namespaces: Collection[str] = ()
    planned_groups: Collection[str] = ()
    refs: Collection[Ref] = ()
    adopted: Collection[Ref] = ()
    brought: Collection[str] = ()
    _reported: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def apply(self, obj: Object, found: Found) -> ObjectOutcome:
        """Apply one normalized object; a refusal is an outcome, not an exception."""
        ref, before = Ref.of(obj), found.live
        if self.check and self._only_planned(ref, found):
            return ObjectOutcome(ref, Action.CREATED, None, obj)
        try:
            if before and "deletionTimestamp" in before["metadata"] and not self.check:
                self._report_once(f"{ref} is being deleted; it is recreated once that is done")
                wait_for_deletion(self.cluster, ref, before["metadata"]["uid"], self.deadline)
                before = None
            taken = self._take_over(ref, before)
            after, replaced = self._send(obj, ref, before, found.ceded)
            after = without_left_fields(after) if taken and self.check else after
        except ApiError as error:
            if self.check and self._lacks_another(error):
                return ObjectOutcome(ref, Action.CHANGED if before else Action.CREATED, _light(before), obj)
            return ObjectOutcome(ref, Action.FAILED, None, None, str(error), uid=found.uid)
        generation, uid = after["metadata"].get("generation", 0), after["metadata"].get("uid", "")
        if replaced:
            action = Action.CHANGED
        elif before is None or before["metadata"]["uid"] != after["metadata"]["uid"]:
            action = Action.CREATED
        else:
            action = Action.UNCHANGED if is_same(before, after) else Action.CHANGED
        if self.texts and action is not Action.UNCHANGED:
            return ObjectOutcome(ref, action, _light(before), _light(after), generation=generation, uid=uid)
        return ObjectOutcome(ref, action, None, None, generation=generation, uid=uid)

    def _only_planned(self, ref: Ref, found: Found) -> bool:
        """Whether the API server cannot judge the object yet, because its namespace or kind is still to be created."""
        if found.presence is Presence.NOT_SERVED:
            return ref.group in self.planned_groups
        return found.presence is Presence.NO_NAMESPACE and ref.namespace in self.planned_namespaces

    def _send(self, obj: Object, ref: Ref, before: Object | None, ceded: Sequence[Pointer]) -> tuple[Object, bool]:
        """The object after, and whether it was recreated."""
        not_served = self.deadline.at_most(0 if self.check else _NOT_SERVED_SECONDS)
        unseen = self.deadline.at_most(_SEEN_SECONDS)
        force = replaced = False
        text = self._without_ceded(obj, before, ceded) if before and ceded else obj
        while True:
            one_try = self.deadline.at_most(_HEAL_SECONDS)
            try:
                self._require_scope(ref)
                after = self.cluster.apply(
                    text,
                    manager=FIELD_MANAGER,
                    force=force,
                    dry_run=self.check,
                    brief=before is None and not self.texts,
                    deadline=one_try,
                )
            except ApiError as error:
                if _not_served(error) and not not_served.passed:
                    with contextlib.suppress(NotServed):
                        self.cluster.resource(ref.api_version, ref.kind, refresh=True)
                elif error.field_conflict and not force and self._may_force(ref, before, error):
                    force = True
                    others = ", ".join(sorted(_managers(error)))
                    self.progress(
                        f"{ref}: fields that {others} changed are reset to the declared values"
                        if self._is_ours(before) or ref not in self.adopted
                        else f"{ref} is taken over from {others}"
                    )
                    continue
                elif (
                    is_immutable_error(error)
                    and before
                    and not replaced
                    and is_replaceable(ref, before, adopted=ref in self.adopted)
                ):
                    if self.check:
                        return obj, True
                    self._remove(ref, before, error)
                    replaced, text = True, obj
                    continue
                elif self._heals(error, unseen) and not self.check and not self.deadline.passed:
                    self._report_once(f"{ref} is retried: {error}", error.message)
                else:
                    raise
            else:
                if ceded and (replaced or before is None) and not self.check:
                    self._give_up(obj, ceded)
                return after, replaced
            self.deadline.pause(_PAUSE_SECONDS)

    def _without_ceded(self, obj: Object, live: Object, ceded: Sequence[Pointer]) -> Object:
        """What is sent of an object that exists, after fields that are left to others were given up."""
        if self.check:
            return with_live_values(obj, live, ceded)
        if owns(live, obj, ceded):
            self._give_up(obj, ceded)
        return without(obj, ceded)

    def _give_up(self, obj: Object, ceded: Sequence[Pointer]) -> None:
        edit(self.cluster, Ref.of(obj), lambda live: give_up(live, obj, ceded), deadline=self.deadline)

    def _take_over(self, ref: Ref, before: Object | None) -> bool:
        """Give an adopted object to this project; returns whether a tool had applied it."""
        tools = appliers(before) if before and ref in self.adopted else []
        if before and self._is_ours(before) and not has_left_fields(before):
            return False  # taken over earlier: what a tool has applied since then is in the declared fields
        if tools and not self.check:
            self.progress(f"{ref} is taken over from {', '.join(tools)}")
            edit(self.cluster, ref, take_over, deadline=self.deadline)
        return bool(tools)

    def _may_force(self, ref: Ref, before: Object | None, error: ApiError) -> bool:
        """Whether this project brought the object and nothing writes it again, or it is to be taken over."""
        managers = _managers(error)
        if self._is_ours(before):
            return bool(managers) and all(map(may_be_overwritten, managers))
        return ref in self.adopted or (bool(managers) and all(map(writes_for_us, managers)))

    def _is_ours(self, live: Object | None) -> bool:
        return live is not None and (own_entry(live) is not None or live["metadata"]["uid"] in self.brought)

    def _heals(self, error: ApiError, unseen: Deadline) -> bool:
        """Whether to retry: a webhook will answer or see what was sent, or another client created the object first."""
        if error.webhook_unanswered or error.reason == "AlreadyExists":
            return True
        return self._lacks_another(error) and not unseen.passed

    def _lacks_another(self, error: ApiError) -> bool:
        """Whether a webhook, whose cache is late, does not know an object of this run yet."""
        lacks = _LACKS.search(error.message)
        if not lacks:
            return False
        word, group, name = lacks.groups()
        return any(
            ref.name == name and group in {None, ref.group} and (not word or word.lower() in _words(ref.kind))
            for ref in self.refs
        )

    def _remove(self, ref: Ref, before: Object, error: ApiError) -> None:
        self.progress(f"{ref} is recreated, because an immutable field changes")
        uid = before["metadata"]["uid"]
        self.cluster.delete(ref, uid=uid, deadline=self.deadline)
        if not wait_for_deletion(self.cluster, ref, uid, self.deadline.at_most(_REPLACE_SECONDS)):
            raise error

    def _require_scope(self, ref: Ref) -> None:
        resource = self.cluster.resource(ref.api_version, ref.kind)
        if resource.namespaced and not ref.namespace:
            raise ApiError(int(HTTPStatus.BAD_REQUEST), "NoNamespace", f"{ref} is namespaced and names no namespace")

    def _report_once(self, line: str, about: str = "") -> None:
        """Report a line, unless one `about` the same was reported before."""
        with self._lock:
            if (about or line) in self._reported:
                return
            self._reported.add(about or line)
        self.progress(line)


def _words(kind: str) -> frozenset[str]:
    """What messages call a kind: its resource is one of the plurals."""
    one = kind.lower()
    return frozenset({one, *plurals(one)})


def _light(obj: Object | None) -> Object | None:
    """The object without managedFields, which are not shown and may be longer than the rest."""
    if obj is not None:
        obj["metadata"].pop("managedFields", None)
    return obj


def _not_served(error: ApiError) -> bool:
    return isinstance(error, NotServed) or (
        error.status == HTTPStatus.NOT_FOUND and "could not find the requested resource" in error.message
    )


def _managers(error: ApiError) -> frozenset[str]:
    return frozenset(name for text in (error.message, *error.causes) for name in _CONFLICT_WITH.findall(text))
