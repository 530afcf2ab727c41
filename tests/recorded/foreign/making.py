"""Making a cluster foreign: objects of others on a rehearsal cluster, and everything back as it was afterwards."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import to_stderr
from tests.waiting import until

_WORKLOADS = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
_SECONDS = 300.0
_MANAGER = "someone-else"


@dataclass(frozen=True)
class Recipe:
    """How a foreign cluster is made: what is special about it, where that comes from, and what is applied.

    `options` are those of the validation; `generation` is that of the rehearsal cluster, `profile` what is installed.
    """

    about: str
    source: str
    make: Callable[[Making], object]
    options: Mapping[str, Any] = field(default_factory=dict)
    generation: str = "1.30"


@dataclass
class Making:
    """What has been made and changed on the cluster so far."""

    cluster: Cluster
    home: Path
    """The directory of the rehearsal cluster, with the manifests that it was made of."""
    made: list[Object] = field(default_factory=list)
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def apply(self, *objects: Object) -> None:
        """Apply objects in their order, each with its status if it has one."""
        for item in objects:
            spec = {key: value for key, value in item.items() if key != "status"}
            self.made.append(self._applied(spec))
            if "status" in item:
                self.status(Ref.of(item), item["status"])

    def _applied(self, item: Object) -> Object:
        """Webhooks of others that were made a moment ago may not answer yet."""
        deadline = Deadline(_SECONDS)
        while True:
            try:
                return self.cluster.apply(item, manager=_MANAGER, force=True)
            except ApiError as error:
                if not error.webhook_unanswered or deadline.passed:
                    raise

    def status(self, ref: Ref, status: Object) -> None:
        """Write the status of an object, as its controller would."""
        path = self.cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name) + "/status"
        self.cluster.request("PATCH", path, body={"status": status}, content_type="application/merge-patch+json")

    def change(self, ref: Ref, patch: Object) -> None:
        """Merge a patch into an object that is there; what it replaces is put back later."""
        before = self.cluster.get(ref)
        if before is None:
            raise LookupError(str(ref))
        self.stack.callback(self._restore, copy.deepcopy(before))
        self.cluster.patch(ref, patch)

    def without(self, ref: Ref) -> None:
        """Delete an object; it is made again later."""
        before = self.cluster.get(ref)
        if before is None:
            raise LookupError(str(ref))
        self.stack.callback(self._recreate, copy.deepcopy(before))
        self.cluster.delete(ref, uid=before["metadata"]["uid"])

    def ready(self, *, lost: int = 0) -> None:
        """Wait until the workloads that were made are ready; DaemonSets lack a pod on each lost node."""
        refs = [Ref.of(item) for item in self.made if item["kind"] in _WORKLOADS]
        if lost:
            sets = [ref for ref in refs if ref.kind == "DaemonSet"]
            self.until(lambda: all(self._missing(ref) == lost for ref in sets))
            refs = [ref for ref in refs if ref not in sets]
        states = wait_ready(self.cluster, refs, Deadline(_SECONDS), to_stderr(), renew=True)
        if late := [f"{ref}: {state.message}" for ref, state in states.items() if not state.ready]:
            raise TimeoutError("; ".join(late))

    def until(self, found: Callable[[], object]) -> None:
        """Wait until something has come about."""
        until(found, _SECONDS, every=0.5)

    def undo(self) -> None:
        """Delete what was made, and put back what was changed."""
        for item in reversed(self.made):
            with contextlib.suppress(ApiError):
                self.cluster.delete(Ref.of(item), uid=item["metadata"]["uid"], grace_seconds=0)
        until(lambda: not any(self._is_there(item) for item in self.made), _SECONDS, every=0.5)
        self.stack.close()

    def _missing(self, daemon_set: Ref) -> int:
        status = (self.cluster.get(daemon_set) or {}).get("status", {})
        return int(status.get("desiredNumberScheduled", 0)) - int(status.get("numberReady", 0))

    def _is_there(self, item: Object) -> bool:
        try:
            live = self.cluster.get(Ref.of(item))
        except ApiError:  # its kind is gone
            return False
        return live is not None and live["metadata"]["uid"] == item["metadata"]["uid"]

    def _restore(self, before: Object) -> None:
        live = self.cluster.get(Ref.of(before))
        if live is None:
            self._recreate(before)
            return
        before["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        self.cluster.replace(before)

    def _recreate(self, before: Object) -> None:
        for key in ("resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"):
            before["metadata"].pop(key, None)
        before.pop("status", None)
        self.cluster.create(before)


@contextlib.contextmanager
def making(cluster: Cluster, home: Path) -> Iterator[Making]:
    """What is made and changed inside the block is undone behind it."""
    found = Making(cluster, home)
    try:
        yield found
    finally:
        found.undo()
