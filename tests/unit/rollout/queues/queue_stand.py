"""A cluster with Volcano's queues for tests: a store, controllers that obey Commands, and a run that notes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Self

from kubeflow_volcano.apply.result import ObjectOutcome
from kubeflow_volcano.cluster.api.client import Listing
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.queues.drain import CREATED_QUEUES
from kubeflow_volcano.rollout.queues.view import API


def queue(name: str, state: str = "Open", parent: str = "root") -> Object:
    return new_object(
        API,
        "Queue",
        name,
        meta={"uid": f"uid-{name}", "resourceVersion": "1", "managedFields": []},
        spec={"parent": parent},
        status={"state": state},
    )


def group(name: str, queue: str, phase: str = "Running", owner: str = "") -> Object:
    meta: Object = {"name": name, "namespace": "team-a"}
    if owner:
        meta["ownerReferences"] = [{"kind": "TFJob", "name": owner, "controller": True}]
    return {
        "apiVersion": API,
        "kind": "PodGroup",
        "metadata": meta,
        "spec": {"queue": queue},
        "status": {"phase": phase},
    }


@dataclass
class Store:
    """What the tests need of a Cluster. `controllers` obey.

    Of `later` one is done at each tick of a watch, of `meanwhile` one while a deletion is on its way.
    """

    objects: dict[tuple[str, str, str], Object] = field(default_factory=dict)
    controllers: bool = True
    commands: list[Object] = field(default_factory=list)
    later: list[Callable[[], Any]] = field(default_factory=list)
    meanwhile: list[Callable[[], Any]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    served: bool = True

    def put(self, *objects: Object) -> None:
        for obj in objects:
            self.objects[obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]] = obj

    def take(self, kind: str, name: str, namespace: str = "") -> Object | None:
        return self.objects.pop((kind, namespace, name), None)

    def changed(self, name: str, state: str) -> None:
        """Somebody gives a queue another state."""
        live = self.objects["Queue", "", name]
        live["status"]["state"] = state
        live["metadata"]["resourceVersion"] += "1"

    def state(self, name: str) -> str:
        return str(self.objects["Queue", "", name]["status"]["state"])

    def list(self, _api: str, kind: str, **_: object) -> Listing:
        return Listing(tuple(obj for (found, _, _), obj in self.objects.items() if found == kind), "1")

    def get(self, ref: Ref, **_: object) -> Object | None:
        return self.objects.get((ref.kind, ref.namespace, ref.name))

    def create(self, obj: Object, **_: object) -> Object:
        made = {**obj, "metadata": {**obj["metadata"], "name": obj["metadata"]["name"] or "made", "uid": "uid-made"}}
        if obj["kind"] != "Command":
            self.put(made)
            return made
        self.commands.append(made)
        if self.controllers:
            self.obey(made)
        else:
            self.put(made)
        return made

    def obey(self, command: Object) -> None:
        name = command["target"]["name"]
        busy = any(obj["spec"]["queue"] == name for (kind, _, _), obj in self.objects.items() if kind == "PodGroup")
        closed = "Closing" if busy else "Closed"
        self.objects["Queue", "", name]["status"] = {"state": "Open" if command["action"] == "OpenQueue" else closed}

    def end(self, name: str, queue: str) -> None:
        """The job is over and its PodGroup gone, which the controllers notice."""
        self.take("PodGroup", name, "team-a")
        self.objects["Queue", "", queue]["status"]["state"] = "Closed"

    def delete(self, ref: Ref, *, uid: str, version: str = "", **_: object) -> bool:
        if self.refusals:
            raise ApiError(403, "Forbidden", self.refusals.pop(0))
        if self.meanwhile:
            self.meanwhile.pop(0)()
        meta: Object = (self.get(ref) or {"metadata": {}})["metadata"]
        if meta.get("uid") != uid or version not in {"", meta.get("resourceVersion")}:
            return False
        self.take(ref.kind, ref.name, ref.namespace)
        return True

    def patch(self, ref: Ref, body: Any, **_: object) -> None:
        data = self.objects[ref.kind, ref.namespace, ref.name]["data"]
        for key, value in body["data"].items():
            if value is None:
                data.pop(key, None)
            else:
                data[key] = value

    def resource(self, _api: str, kind: str) -> Any:
        return SimpleNamespace(path=lambda _namespace, name: f"/{kind}/{name}")

    def request(self, method: str, path: str, *, body: Any, **_: object) -> None:
        assert method == "PATCH"
        name, subresource = path.split("/")[-2:]
        assert subresource == "status"
        self.objects["Queue", "", name]["status"] |= body["status"]

    def made_here(self, *names: str) -> None:
        data = {name: f"uid-{name}" for name in names}
        self.put(new_object("v1", "ConfigMap", CREATED_QUEUES.name, CREATED_QUEUES.namespace, data=data))


class Watch:
    """Every tick one thing happens in the store, and everything is told anew."""

    def __init__(self, store: Store, subjects: Sequence[Subject], deadline: Deadline) -> None:
        self._store, self._subjects, self._deadline = store, subjects, deadline

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def changes(self, tick: float) -> Iterator[Change]:
        assert tick > 0
        while not self._deadline.passed:
            for subject in self._subjects:
                items = self._store.list(subject.api_version, subject.kind).items
                name = subject.fields.removeprefix("metadata.name=")
                kept = tuple(item for item in items if not name or item["metadata"]["name"] == name)
                yield Change(subject, "RESET", kept, 0.0)
            if self._store.later:
                self._store.later.pop(0)()


@dataclass
class Run:
    """What the tests need of an Engine."""

    cluster: Store
    check: bool = False
    outcomes: list[ObjectOutcome] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    lost: threading.Event = field(default_factory=threading.Event)
    deadline: Deadline = field(default_factory=lambda: Deadline(60))

    def add_outcome(self, outcome: ObjectOutcome) -> None:
        self.outcomes.append(outcome)

    def add_problem(self, problem: Problem) -> None:
        self.problems.append(problem)

    def add_warning(self, problem: Problem) -> None:
        self.warnings.append(problem)

    def progress(self, line: str) -> None:
        self.lines.append(line)

    def result(self) -> Any:
        return SimpleNamespace(outcomes=tuple(self.outcomes))

    @property
    def told(self) -> list[tuple[str, str, Any, Any]]:
        """What was noted of each queue: the action, its name, its state before and after."""
        return [
            (str(item.action), item.ref.name, (item.before or {}).get("state"), (item.after or {}).get("state"))
            for item in self.outcomes
        ]
