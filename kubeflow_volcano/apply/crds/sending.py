"""Sending with care for CRDs: their steps before they are sent, and what check mode can say of their objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus

from kubeflow_volcano.apply.crds.change import change_of
from kubeflow_volcano.apply.crds.steps import CrdSteps
from kubeflow_volcano.apply.fields.ceded import Pointer
from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted

Send = Callable[[Object, Found], ObjectOutcome]

_TRIES = 3
_SCHEMA_SECONDS, _PAUSE_SECONDS = 15.0, 0.5
_REFUSED = int(HTTPStatus.UNPROCESSABLE_ENTITY)
# A custom resource that the schema of its old CRD does not take: unknown fields are 400, 422 or 500 by API server, an
# unknown version 404. What a webhook denies is denied by the new CRD, too.
_BY_SCHEMA = re.compile(r"(400|404|422|500) (?!.*(denied the request|failed calling webhook))", re.DOTALL)


class CrdSender:
    """Wraps the sending of one object; used by several threads at once."""

    def __init__(
        self,
        cluster: Cluster,
        found: Mapping[Ref, Found],
        objects: Mapping[Ref, Object],
        send: Send,
        *,
        deadline: Deadline,
        progress: Progress,
        check: bool,
    ) -> None:
        """`found` is how the survey found `objects`, all of the run."""
        self._cluster = cluster
        self._send = send
        self._progress = progress
        self._check = check
        self._deadline = deadline
        self._changing = {
            (obj["spec"]["group"], obj["spec"]["names"]["kind"])
            for ref, obj in objects.items()
            if ref.kind == CRD_KIND and found[ref].presence is not Presence.UP_TO_DATE
        }

    def send(self, obj: Object, found: Found) -> ObjectOutcome:
        """Send one normalized object; a refusal is an outcome, not an exception."""
        if obj["kind"] == CRD_KIND and found.live:
            steps = self._steps(obj, found.live)
            if steps is None:
                return self._send(obj, found)
            return self._predict(obj, found, steps) if self._check else self._send_crd(obj, found)
        outcome = self._send(obj, found)
        if not self._check:
            return self._when_known(outcome, obj, found)
        if outcome.action is Action.FAILED and self._is_unjudged(outcome):
            action = Action.CHANGED if found.live else Action.CREATED
            said = f"would be {action}; judged only when its CRD is there"
            self._progress(f"{outcome.ref} {said}")
            return ObjectOutcome(outcome.ref, action, found.live, obj, said, uid=found.uid)
        return outcome

    def _when_known(self, outcome: ObjectOutcome, obj: Object, found: Found) -> ObjectOutcome:
        """The outcome once the API server knows the new schema: it goes on with the old one after a CRD has changed."""
        if outcome.action is Action.FAILED and self._is_unjudged(outcome):
            for _ in self._deadline.at_most(_SCHEMA_SECONDS).every(_PAUSE_SECONDS):
                outcome = self._send(obj, found)
                if outcome.action is not Action.FAILED or not self._is_unjudged(outcome):
                    break
        return outcome

    def _is_unjudged(self, outcome: ObjectOutcome) -> bool:
        """Whether an object was refused by the schema of a CRD that this run changes."""
        return (outcome.ref.group, outcome.ref.kind) in self._changing and bool(_BY_SCHEMA.match(outcome.reason))

    def _steps(self, obj: Object, live: Object) -> CrdSteps | None:
        change = change_of(obj, live)
        if change is None:
            return None
        return CrdSteps(self._cluster, obj, live, change, deadline=self._deadline, progress=self._progress)

    def _predict(self, obj: Object, found: Found, steps: CrdSteps) -> ObjectOutcome:
        """What a run would do: a dry run would be refused, because the steps before it are missing."""
        live, change = found.live or {}, steps.change
        ref, words = Ref.of(obj), []
        if change.stored:
            try:
                count = steps.count()
            except ApiError as error:
                return _failed(ref, found, f"its objects cannot be listed: {error}")
            number = "all objects" if count is None else counted(count, "object")
            words.append(f"stored versions migrated: {number} from {', '.join(change.stored)} to {change.storage}")
        if change.drops_conversion:
            words.append("conversion by webhook removed")
        said = "; ".join(words)
        self._progress(f"{ref}: {said}")
        after = {**live, **obj, "metadata": {**live["metadata"], **obj["metadata"]}}
        return ObjectOutcome(ref, Action.CHANGED, live, after, said, uid=found.uid)

    def _send_crd(self, obj: Object, found: Found) -> ObjectOutcome:
        """Take the steps, send, and see that every object can be read; else the old versions come back.

        It begins again where others restored what was dropped, as a slow injector does, and where an object was stored
        in an old version after all, as by another API server that had not seen the change yet.
        """
        ref, live = Ref.of(obj), found.live
        send_first = partial(self._send_first, found.ceded)
        moving, reason = None, ""
        try:
            for _ in range(_TRIES):
                if live and (steps := self._steps(obj, live)):
                    steps.prepare(send_first)
                    moving = steps
                outcome = self._send(obj, found)
                reason = outcome.reason
                if outcome.action is not Action.FAILED:
                    lost = moving.unreadable() if moving else ""
                    if not (moving and lost):
                        return outcome
                    moving.put_back(send_first)
                    reason = f"not every object can be read without the versions that are to go: {lost}"
                    self._progress(f"{ref}: {reason}; they are back")
                elif not reason.startswith(f"{_REFUSED} "):
                    return outcome
                live = self._cluster.get(ref)
        except ApiError as error:
            reason = str(error)
        return _failed(ref, found, reason)

    def _send_first(self, ceded: tuple[Pointer, ...], crd: Object, live: Object) -> None:
        outcome = self._send(crd, Found(Presence.DIFFERS, live, uid=live["metadata"]["uid"], ceded=ceded))
        if outcome.action is Action.FAILED:
            raise ApiError(0, "Refused", f"{Ref.of(crd)} with both versions: {outcome.reason}")


def _failed(ref: Ref, found: Found, reason: str) -> ObjectOutcome:
    return ObjectOutcome(ref, Action.FAILED, None, None, reason, uid=found.uid)
