"""A webhook that comes ignores failures until its backend is ready, and fails closed from then on.

With failurePolicy Fail from its first moment, it refuses whatever it intercepts while its backend starts, also objects
of users, and for ever if an image cannot be pulled. It is sent that early because backends write their CA into it.
Kinds whose CRDs come with the same run have no users yet.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref

Send = Callable[[Object, Found], ObjectOutcome]


def ignoring(declared: Object, live: Object | None, new: Collection[tuple[str, str]] = ()) -> Object | None:
    """The configuration with failurePolicy Ignore where `live` does not fail closed yet; None if nothing differs.

    Webhooks that intercept only `new` resources, by group and plural, stay as declared.
    """
    closed = {hook["name"] for hook in (live or {}).get("webhooks") or () if hook.get("failurePolicy") == "Fail"}
    copied = copy.deepcopy(declared)
    coming = [
        hook
        for hook in copied.get("webhooks") or ()
        if hook.get("failurePolicy", "Fail") == "Fail"
        and hook["name"] not in closed
        and not _resources(hook) <= set(new)
    ]
    for hook in coming:
        hook["failurePolicy"] = "Ignore"
    return copied if coming else None


def _resources(hook: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {
        (group, resource.partition("/")[0])
        for rule in hook.get("rules") or ()
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


class ComingWebhooks:
    """The webhook configurations of one run that do not fail closed yet. `apply` sends one object."""

    def __init__(
        self,
        cluster: Cluster,
        objects: Mapping[Ref, Object],
        found: Mapping[Ref, Found],
        behind: Mapping[Ref, Collection[Ref]],
        apply: Send,
    ) -> None:
        """`behind` are the workloads behind each configuration, as in `Graph`."""
        self._cluster = cluster
        self._objects = objects
        self._found = found
        self._behind = behind
        self._apply = apply
        self._new = {
            (obj["spec"]["group"], obj["spec"]["names"]["plural"])
            for ref, obj in objects.items()
            if ref.kind == CRD_KIND and found[ref].presence is Presence.ABSENT
        }
        self._open: dict[Ref, ObjectOutcome] = {}

    def send(self, obj: Object, found: Found) -> ObjectOutcome | None:
        """Send a configuration whose backend is not ready, with failurePolicy Ignore; None for any other object."""
        ref = Ref.of(obj)
        starting = any(not self._is_ready(backend) for backend in self._behind.get(ref, ()))
        text = ignoring(obj, found.live, self._new) if ref.kind in WEBHOOK_KINDS and starting else None
        if text is None:
            return None
        outcome = self._apply(text, found)
        if outcome.action is not Action.FAILED:
            self._open[ref] = outcome
        return outcome

    def close(self, ref: Ref) -> ObjectOutcome | None:
        """Send a configuration as declared, since its backend is ready; None if it was sent as declared before.

        The outcome is the one of both steps.

        Raises:
            ApiError: the configuration cannot be read.
        """
        first = self._open.pop(ref, None)
        if first is None:
            return None
        live = self._cluster.get(ref)
        now = replace(self._found[ref], presence=Presence.DIFFERS if live else Presence.ABSENT, live=live)
        last = self._apply(self._objects[ref], now)
        if last.action is Action.FAILED or first.action is Action.UNCHANGED:
            return last
        return replace(last, action=first.action, before=first.before, after=last.after or first.after)

    @property
    def left_open(self) -> Collection[Ref]:
        """Configurations that still ignore failures."""
        return tuple(self._open)

    def _is_ready(self, backend: Ref) -> bool:
        found = self._found[backend]
        return found.presence is Presence.UP_TO_DATE and found.ready
