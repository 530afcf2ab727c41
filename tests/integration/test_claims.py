"""Class and size of claims on a real API server, in objects that stand for a component's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.integration.rolling import own_sources, roll_out
from tests.integration.test_images_gone import written

__all__ = ["written"]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

NAMESPACE = Ref("v1", "Namespace", "", "stand-in-claims")
COMPONENT = "kubeflow-namespace"
SLOW, FAST = "stand-in-slow", "stand-in-fast"


def claim(**meta: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def storage_class(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "example.invalid/none",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": name == FAST,
    }


OBJECTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE.name}},
    claim(name="data", namespace=NAMESPACE.name),
    {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": NAMESPACE.name},
        "spec": {
            "replicas": 0,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{"name": "a", "image": "example.invalid/a:1"}]},
            },
            "volumeClaimTemplates": [claim(name="logs")],
        },
    },
]

Chosen = Callable[..., Settings]


@pytest.fixture
def chosen(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> Iterator[Chosen]:
    """Settings with class and size of the claims data and logs; what a roll-out brings is removed afterwards."""
    (tmp_path / "kustomization.yaml").write_text("resources: [objects.yaml]\n")
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(OBJECTS))
    made = [cluster.create(storage_class(name)) for name in (SLOW, FAST)]

    def settings(data: dict[str, str], logs: dict[str, str]) -> Settings:
        return parse(
            {
                "kubeflow_components": [COMPONENT],
                "kubeflow_claims": {COMPONENT: {"data": data, "logs": logs}},
                "kustomize_binary": own_sources(kubeconfig)["kustomize_binary"],
                "kubeflow_sources": {COMPONENT: str(tmp_path)},
            }
        )

    yield settings
    for obj in made:
        cluster.delete(Ref.of(obj), uid=obj["metadata"]["uid"])
    if live := cluster.get(NAMESPACE):
        cluster.delete(NAMESPACE, uid=live["metadata"]["uid"])


def test_claims_get_class_and_size_and_what_cannot_change_is_refused_with_nothing_written(
    cluster: Cluster, chosen: Chosen, written: list[str]
) -> None:
    first = chosen({"storage_class": SLOW, "size": "3Gi"}, {"storage_class": FAST})
    parts = [first.component(COMPONENT)]
    planned = roll_out(cluster, first, parts, check=True, progress=silent)
    assert {str(item.ref) for item in planned.outcomes if item.action is Action.CREATED} >= {
        f"PersistentVolumeClaim {NAMESPACE.name}/data",
        f"StatefulSet {NAMESPACE.name}/db",
    }
    assert written == []
    done = roll_out(cluster, first, parts, check=False, progress=silent)
    assert done.problems == ()
    spec = (cluster.get(Ref("v1", "PersistentVolumeClaim", NAMESPACE.name, "data")) or {})["spec"]
    assert (spec["storageClassName"], spec["resources"]["requests"]["storage"]) == (SLOW, "3Gi")
    again = roll_out(cluster, first, parts, check=False, progress=silent)
    assert not again.changed

    for check in (False, True):
        written.clear()
        other = chosen({"storage_class": FAST}, {"storage_class": FAST, "size": "9Gi"})
        with pytest.raises(InvalidInput) as caught:
            roll_out(cluster, other, parts, check=check, progress=silent)
        said = {problem.found: problem.todo for problem in caught.value.problems}
        claim, creator = said
        for text, words in (
            (claim, (f"PersistentVolumeClaim {NAMESPACE.name}/data ", SLOW, FAST)),
            (creator, (f"StatefulSet {NAMESPACE.name}/db ", "logs", "2Gi", "9Gi")),
        ):
            assert [word for word in words if word not in text] == []
        assert written == []

    smaller = chosen({"storage_class": SLOW, "size": "1Gi"}, {"storage_class": FAST})
    with pytest.raises(InvalidInput, match="no claim shrinks"):
        roll_out(cluster, smaller, parts, check=False, progress=silent)
    assert written == []
