"""Changing recorded facts as a breakage would have changed them; the facts that are given stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS, ENDPOINT_SLICES, PODS, RESOURCES, SERVICES
from kubeflow_volcano.validators.subjects.ownership import workload_of


class Absent(Exception):  # noqa: N818  it is no error: the cluster has nothing of the kind
    """The cluster lacks what the breakage would break."""


@dataclass
class Planting:
    """A copy of facts that is being broken; `facts` is what has become of them."""

    facts: Facts

    def ago(self, seconds: float) -> str:
        """A moment before the facts were taken, as in an object."""
        return datetime.fromtimestamp(self.facts.taken - seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def change(self, resource: str, name: str, change: Callable[[Object], object]) -> None:
        """Change one object, 'namespace/name'.

        Raises:
            Absent: there is none.
        """
        if not self.change_all(resource, change, lambda item: name == _name(item)):
            raise Absent(f"{resource} {name}")

    def change_all(
        self, resource: str, change: Callable[[Object], object], which: Callable[[Object], bool] = lambda _: True
    ) -> int:
        """Change all objects of a kind, or some; returns how many."""
        number = 0
        items = []
        for item in self.facts.objects[resource]:
            if which(item):
                number += 1
                item = copy.deepcopy(item)  # noqa: PLW2901  the copy takes its place
                change(item)
            items.append(item)
        self._put(resource, items)
        return number

    def lose(self, resource: str, which: Callable[[Object], bool]) -> None:
        """Remove objects of a kind.

        Raises:
            Absent: there is none.
        """
        if not any(map(which, self.facts.objects[resource])):
            raise Absent(resource)
        self.remove(resource, which)

    def remove(self, resource: str, which: Callable[[Object], bool]) -> None:
        """Remove objects of a kind, if there are any."""
        self._put(resource, [item for item in self.facts.objects[resource] if not which(item)])

    def add(self, resource: str, item: Object) -> None:
        """One more object."""
        known = RESOURCES[resource]
        found = {"apiVersion": known.api_version, "kind": known.kind, **item}
        self._put(resource, [*self.facts.objects[resource], found])

    def know(self, fact: Fact[Any], value: Any) -> None:
        """Another value of a further fact."""
        self.facts = replace(self.facts, found={**self.facts.found, fact: value})

    def without_service(self, ref: Ref) -> None:
        """A Service is deleted, and its endpoints with it."""
        self.remove(SERVICES, lambda item: Ref.of(item) == ref)
        self.unbacked(ref)

    def unbacked(self, ref: Ref) -> None:
        """A Service has no endpoint."""
        label = "kubernetes.io/service-name"
        self.remove(
            ENDPOINT_SLICES,
            lambda item: (
                item["metadata"]["namespace"] == ref.namespace
                and (item["metadata"].get("labels") or {}).get(label) == ref.name
            ),
        )

    def pods_of(self, deployment: Ref) -> Iterator[Object]:
        """Its pods."""
        return (item for item in self.facts.objects[PODS] if workload_of(item) == deployment)

    def ill_pods(self, deployment: Ref, how: Callable[[Object], object]) -> None:
        """All pods of a Deployment are ill in this way, so it is not available, and its Services have no endpoint.

        Raises:
            Absent: it has no pod.
        """
        pods = [*self.pods_of(deployment)]
        if not pods:
            raise Absent(f"pods of {deployment}")
        self.change_all(PODS, how, lambda item: workload_of(item) == deployment)
        self.unavailable(deployment)
        for service in self.facts.objects[SERVICES]:
            selector = (service["spec"].get("selector") or {}).items()
            same = service["metadata"]["namespace"] == deployment.namespace
            if same and selector and any(selector <= (pod["metadata"].get("labels") or {}).items() for pod in pods):
                self.unbacked(Ref.of(service))

    def unavailable(self, deployment: Ref) -> None:
        """A Deployment has no available replica."""

        def change(item: Object) -> None:
            wanted = item["spec"].get("replicas", 1)
            item["status"] |= {"availableReplicas": 0, "readyReplicas": 0, "unavailableReplicas": wanted}

        self.change(DEPLOYMENTS, f"{deployment.namespace}/{deployment.name}", change)

    def scaled_to_zero(self, resource: str, ref: Ref) -> None:
        """A workload is scaled to zero, and its pods are gone."""

        def change(item: Object) -> None:
            item["spec"]["replicas"] = 0
            item["status"] = {"observedGeneration": item["metadata"].get("generation", 1)}

        self.change(resource, f"{ref.namespace}/{ref.name}", change)
        self.remove(PODS, lambda item: workload_of(item) == ref)

    def _put(self, resource: str, items: list[Object]) -> None:
        self.facts = replace(self.facts, objects={**self.facts.objects, resource: tuple(items)})


def _name(item: Object) -> str:
    meta = item["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def condition(item: Object, kind: str, status: str, since: str, *, reason: str = "Planted", message: str = "") -> None:
    """Set a status condition."""
    found = {**conditions(item), kind: {"type": kind, "status": status, "reason": reason, "message": message}}
    found[kind]["lastTransitionTime"] = since
    item.setdefault("status", {})["conditions"] = list(found.values())


def unready(since: str) -> Callable[[Object], None]:
    """A pod that is not ready."""

    def change(pod: Object) -> None:
        condition(pod, "Ready", "False", since, reason="ContainersNotReady")
        for item in pod["status"].get("containerStatuses") or ():
            item["ready"] = False

    return change


def _waiting(since: str, reason: str, message: str, phase: str, *, restarts: int) -> Callable[[Object], None]:
    def change(pod: Object) -> None:
        unready(since)(pod)
        pod["status"]["phase"] = phase
        for item in pod["status"].get("containerStatuses") or ():
            item |= {"state": {"waiting": {"reason": reason, "message": message}}, "restartCount": restarts}
            if restarts:
                ended = {"exitCode": 1, "reason": "Error", "finishedAt": since}
                item["lastState"] = {"terminated": ended}

    return change


def unpullable(since: str) -> Callable[[Object], None]:
    """A pod whose image does not exist."""
    text = 'Back-off pulling image "example.org/gone:1": not found'
    return _waiting(since, "ImagePullBackOff", text, "Pending", restarts=0)


def crashing(since: str) -> Callable[[Object], None]:
    """A pod in a crash loop."""
    return _waiting(since, "CrashLoopBackOff", "back-off 5m0s restarting failed container", "Running", restarts=9)


def terminating(since: str) -> Callable[[Object], None]:
    """An object that is being deleted."""

    def change(item: Object) -> None:
        item["metadata"] |= {"deletionTimestamp": since, "finalizers": ["example.org/keeps"]}

    return change
