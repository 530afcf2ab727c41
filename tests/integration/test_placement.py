"""Terms of placement on a real API server, in a Deployment that stands for a component."""

from __future__ import annotations

from collections.abc import Iterator
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

REF = Ref("apps/v1", "Deployment", "stand-in", "stand-in")
NAMESPACE = Ref("v1", "Namespace", "", "stand-in")
COMPONENT = "kubeflow-namespace"
TOLERATION = {"key": "platform", "operator": "Exists", "effect": "NoSchedule"}
OBJECTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE.name}},
    {
        "apiVersion": REF.api_version,
        "kind": REF.kind,
        "metadata": {"name": REF.name, "namespace": REF.namespace},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "stand-in"}},
            "template": {
                "metadata": {"labels": {"app": "stand-in"}},
                "spec": {"containers": [{"name": "a", "image": "example.invalid/a:1"}]},
            },
        },
    },
]


@pytest.fixture
def manifests(cluster: Cluster, tmp_path: Path) -> Iterator[Path]:
    """Manifests without a pod to wait for; what they bring is removed afterwards."""
    (tmp_path / "kustomization.yaml").write_text("resources: [objects.yaml]\n")
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(OBJECTS))
    yield tmp_path
    if live := cluster.get(NAMESPACE):
        cluster.delete(NAMESPACE, uid=live["metadata"]["uid"])


@pytest.fixture
def label(cluster: Cluster) -> dict[str, str]:
    """A label that a node of this cluster has."""
    node = cluster.list("v1", "Node").items[0]
    return {"kubernetes.io/hostname": node["metadata"]["labels"]["kubernetes.io/hostname"]}


def settings(kubeconfig: Path, manifests: Path, **placement: Any) -> Settings:
    return parse(
        {
            "kubeflow_components": [COMPONENT],
            "kubeflow_placement": placement,
            "kustomize_binary": own_sources(kubeconfig)["kustomize_binary"],
            "kubeflow_sources": {COMPONENT: str(manifests)},
        }
    )


def test_pods_get_their_terms_check_mode_foretells_it_and_a_second_run_changes_nothing(
    cluster: Cluster, kubeconfig: Path, manifests: Path, label: dict[str, str]
) -> None:
    chosen = settings(
        kubeconfig,
        manifests,
        node_selector=label,
        tolerations=[TOLERATION, {"key": "node.example.org/any", "operator": "Exists"}, {"operator": "Exists"}],
        priority_class="system-cluster-critical",
    )
    parts = [chosen.component(COMPONENT)]
    plain = roll_out(cluster, settings(kubeconfig, manifests), parts, check=False, progress=silent)
    assert plain.problems == ()
    planned = roll_out(cluster, chosen, parts, check=True, progress=silent)
    assert [str(item.ref) for item in planned.outcomes if item.action is Action.CHANGED] == [str(REF)]
    done = roll_out(cluster, chosen, parts, check=False, progress=silent)
    assert done.problems == ()
    spec = (cluster.get(REF) or {})["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == label
    assert spec["tolerations"][0] == TOLERATION
    assert spec["priorityClassName"] == "system-cluster-critical"
    again = roll_out(cluster, chosen, parts, check=False, progress=silent)
    assert not again.changed


def test_nodes_and_classes_that_do_not_exist_are_refused_with_nothing_written(
    cluster: Cluster, kubeconfig: Path, manifests: Path, written: list[str]
) -> None:
    chosen = settings(kubeconfig, manifests, node_selector={"absent.example.org/a": "b"}, priority_class="absent")
    with pytest.raises(InvalidInput) as caught:
        roll_out(cluster, chosen, [chosen.component(COMPONENT)], check=False, progress=silent)
    said = [problem.found for problem in caught.value.problems]
    assert any("labels absent.example.org/a=b" in text for text in said)
    assert any("PriorityClass absent" in text for text in said)
    assert len(said) == 2
    assert written == []
