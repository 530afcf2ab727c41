"""What a run compares with the cluster, when manifests and API server name an object differently."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.applied_objects import Place
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.stale import handling
from kubeflow_volcano.rollout.stale.find import Survey

SCOPES = {"CompositeController": False, "ConfigMap": True}


def served(api_version: str, kind: str) -> Resource:
    if kind not in SCOPES:
        raise NotServed(api_version, kind)
    return Resource(api_version, kind, kind.lower(), namespaced=SCOPES[kind])


def text(kind: str, namespace: str = "") -> Object:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "a", **({"namespace": namespace} if namespace else {})},
    }


@pytest.mark.parametrize(
    ("declared", "place"),
    [
        (text("CompositeController", "kubeflow"), Place("", "CompositeController", "", "a")),
        (text("ConfigMap"), Place("", "ConfigMap", "default", "a")),
        (text("ConfigMap", "kubeflow"), Place("", "ConfigMap", "kubeflow", "a")),
        (text("Unknown", "kubeflow"), Place("", "Unknown", "kubeflow", "a")),
    ],
)
def test_a_declared_object_is_looked_for_where_the_api_server_has_it(
    monkeypatch: pytest.MonkeyPatch, declared: Object, place: Place
) -> None:
    """Upstream gives its CompositeController a namespace, and some ConfigMaps none; neither is stale."""
    compared: list[Any] = []

    def look(_cluster: object, _inventory: object, places: Any, **_: Any) -> Survey:
        compared.extend(places)
        return Survey((), frozenset(), {})

    monkeypatch.setattr(handling, "find_stale", look)
    monkeypatch.setattr(handling, "read_inventory", lambda _: {})
    engine: Any = SimpleNamespace(
        cluster=SimpleNamespace(resource=served), parts={}, deadline=Deadline(5), progress=silent
    )
    prepared: Any = SimpleNamespace(
        settings=parse({}),
        scope=SimpleNamespace(parts=(), wired=(), components=()),
        desired=SimpleNamespace(parts={"pipelines": (declared,)}),
        whole=False,
    )
    handling.StaleObjects(engine, prepared)
    assert compared == [place]
