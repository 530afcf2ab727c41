"""A small release of made-up objects, and its roll-out by the engine."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress, silent
from tests.faults.proxy import Asked, Fault

NUMBERS = itertools.count()


def obj(kind: str, name: str, namespace: str = "", api_version: str = "v1", **more: Any) -> Object:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def crd(name: str, group: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return obj(
        "CustomResourceDefinition",
        f"{name}s.{group}",
        api_version="apiextensions.k8s.io/v1",
        spec={
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": name.capitalize(), "plural": f"{name}s", "singular": name},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )


@contextlib.contextmanager
def small_release(cluster: Cluster) -> Iterator[list[Object]]:
    """A small release: a namespace, CRDs with objects, rights, what pods read, and a workload without pods."""
    name = f"faults-{os.getpid()}-{next(NUMBERS)}"
    group = f"{name}.example.com"
    labels = {"app": "main"}
    pod = {"serviceAccountName": "main", "containers": [{"name": "main", "image": "none.invalid/main:1"}]}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    rbac = "rbac.authorization.k8s.io/v1"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "main"}
    made = [
        obj("Namespace", name),
        *(crd(kind, group) for kind in ("apple", "pear")),
        *(obj(kind, str(number), name, f"{group}/v1") for kind in ("Apple", "Pear") for number in range(3)),
        obj("Role", "main", name, rbac, rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
        obj("RoleBinding", "main", name, rbac, roleRef=role, subjects=[{"kind": "ServiceAccount", "name": "main"}]),
        obj("ServiceAccount", "main", name),
        obj("Secret", "main", name, stringData={"key": "value"}),
        *(obj("ConfigMap", f"main-{number}", name, data={"number": str(number)}) for number in range(8)),
        obj("Deployment", "main", name, "apps/v1", spec=spec),
    ]
    try:
        yield made
    finally:
        for item in made:
            if item["kind"] in {"Namespace", "CustomResourceDefinition"} and (live := cluster.get(Ref.of(item))):
                cluster.delete(Ref.of(item), uid=live["metadata"]["uid"])


def run(
    cluster: Cluster,
    objects: Sequence[Object],
    seconds: float = 240,
    progress: Progress = silent,
    *,
    check: bool = False,
    brought: Collection[str] = (),
) -> ApplyResult:
    """Apply them; `brought` are UIDs that earlier runs recorded."""
    engine = Engine(
        cluster,
        {"": objects},
        {},
        deadline=Deadline(seconds),
        progress=progress,
        check=check,
        texts=False,
        brought=brought,
    )
    engine.apply()
    return engine.result()


def outcomes(result: ApplyResult, action: Action) -> set[str]:
    return {f"{item.ref.kind} {item.ref.name}" for item in result.outcomes if item.action is action}


def assert_whole(cluster: Cluster, objects: Sequence[Object]) -> None:
    """Everything is as declared: a run without faults finds nothing to do."""
    again = run(cluster, objects)
    assert not again.problems
    assert {item.action for item in again.outcomes} == {Action.UNCHANGED}, again.as_dict()


def often(*faults: Fault, share: float = 0.3, seed: int = 7) -> Callable[[Asked], Fault | None]:
    """Every so-manieth request meets one of the faults, in an order that is the same each time."""
    choice = random.Random(seed)  # noqa: S311  no secret

    def plan(asked: Asked) -> Fault | None:
        return choice.choice(faults) if asked.path != "/version" and choice.random() < share else None

    return plan
