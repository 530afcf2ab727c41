"""Fields that are left to others, on a real API server: values stay, and nothing is reported or fought over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.decode import decode
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.ceded import CededFields, ceded_of

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

REF = Ref("apps/v1", "Deployment", "default", "ceded")
REPLICAS = CededFields("Deployment", "ceded", "default", "apps", paths=("/spec/replicas",))
MEMORY = CededFields("Deployment", "ceded", paths=("/spec/template/spec/containers/0/resources/limits",))

AUTOSCALER: Object = {
    "apiVersion": "autoscaling/v1",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "ceded", "namespace": "default"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "ceded"},
        "minReplicas": 4,
        "maxReplicas": 4,
    },
}


def deployment(replicas: int = 2, image: str = "example.invalid/a:1") -> Object:
    """A Deployment whose pods no node takes."""
    container = {"name": "a", "image": image, "resources": {"limits": {"memory": "1Gi"}}}
    pod = {"nodeSelector": {"absent": "true"}, "containers": [container]}
    labels = {"app": "ceded"}
    return {
        "apiVersion": REF.api_version,
        "kind": REF.kind,
        "metadata": {"name": REF.name, "namespace": REF.namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


@pytest.fixture(autouse=True)
def clean(cluster: Cluster) -> Iterator[None]:
    yield
    delete(cluster, Ref.of(AUTOSCALER))
    delete(cluster, REF)


def delete(cluster: Cluster, ref: Ref) -> None:
    if found := cluster.get(ref):
        cluster.delete(ref, uid=found["metadata"]["uid"])


def apply(
    cluster: Cluster,
    obj: Object,
    *ceded: CededFields,
    check: bool = False,
    progress: Callable[[str], None] = silent,
) -> ApplyResult:
    engine = Engine(
        cluster,
        {"part": [obj]},
        {},
        deadline=Deadline(60),
        progress=progress,
        check=check,
        ceded=lambda found: ceded_of(ceded, found),
    )
    engine.apply()
    return engine.result()


def actions(result: ApplyResult) -> list[Action]:
    assert not result.problems, result.problems
    return [item.action for item in result.outcomes]


def live(cluster: Cluster) -> Object:
    found = cluster.get(REF)
    assert found
    return found


def memory(obj: Object) -> Any:
    return obj["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]


def owners(cluster: Cluster, field: str = "f:replicas") -> set[str]:
    entries = live(cluster)["metadata"]["managedFields"]
    return {item["manager"] for item in entries if field in str(item["fieldsV1"].get("f:spec"))}


def write(cluster: Cluster, change: Any, manager: str, subresource: str = "") -> None:
    path = cluster.resource(REF.api_version, REF.kind).path(REF.namespace, REF.name) + subresource
    query = {"fieldManager": manager}
    cluster.request("PATCH", path, query=query, body=change, content_type="application/merge-patch+json")


def test_the_replicas_of_an_autoscaler_stay_as_long_as_there_is_one(cluster: Cluster) -> None:
    """The scale is written here, as the autoscaler's controller does within its next period."""
    assert actions(apply(cluster, deployment())) == [Action.CREATED]
    cluster.create(AUTOSCALER)
    write(cluster, {"spec": {"replicas": 4}}, "kube-controller-manager", "/scale")
    lines: list[str] = []
    for check in (True, False):
        assert actions(apply(cluster, deployment(), check=check, progress=lines.append)) == [Action.UNCHANGED]
    said = [line for line in lines if line.startswith("note: ")]
    assert len(said) == 2
    for line in said:
        assert line.startswith(f"note: {REF}: spec.replicas ")
        assert line.endswith("HorizontalPodAutoscaler ceded")

    newer = deployment(image="example.invalid/a:2")
    foretold = apply(cluster, newer, check=True)
    assert actions(foretold) == [Action.CHANGED]
    assert (foretold.outcomes[0].after or {})["spec"]["replicas"] == 4
    assert actions(apply(cluster, newer)) == [Action.CHANGED]
    assert live(cluster)["spec"]["replicas"] == 4
    assert owners(cluster) == {"kube-controller-manager"}

    delete(cluster, Ref.of(AUTOSCALER))
    (problem,) = apply(cluster, newer).problems
    assert 'conflict with "kube-controller-manager" with subresource "scale"' in problem.found


def test_a_field_that_only_we_own_is_given_up_with_its_value(cluster: Cluster) -> None:
    """Leaving it out of what is applied would reset the replicas to 1, and the limits to none."""
    apply(cluster, deployment())
    for check in (True, False):
        assert actions(apply(cluster, deployment(), REPLICAS, MEMORY, check=check)) == [Action.UNCHANGED]
    assert (live(cluster)["spec"]["replicas"], memory(live(cluster))) == (2, "1Gi")
    assert not owners(cluster) | owners(cluster, "f:limits")
    cluster.apply(deployment(7), manager="other-tool")
    assert actions(apply(cluster, deployment(), REPLICAS, MEMORY)) == [Action.UNCHANGED]
    assert live(cluster)["spec"]["replicas"] == 7


def test_a_ceded_field_is_set_when_its_object_is_created_and_then_given_up(cluster: Cluster) -> None:
    assert actions(apply(cluster, deployment(3), REPLICAS)) == [Action.CREATED]
    assert live(cluster)["spec"]["replicas"] == 3
    assert not owners(cluster)
    assert FIELD_MANAGER in owners(cluster, "f:selector")


def test_a_conflict_names_the_entry_that_ends_it(cluster: Cluster) -> None:
    apply(cluster, deployment())
    limits = {"template": {"spec": {"containers": [{"name": "a", "resources": {"limits": {"memory": "3Gi"}}}]}}}
    theirs = {"metadata": {"name": REF.name, "namespace": REF.namespace}, "spec": {"replicas": 9, **limits}}
    cluster.apply({"apiVersion": REF.api_version, "kind": REF.kind, **theirs}, manager="other-tool", force=True)

    (problem,) = apply(cluster, deployment()).problems
    entry = problem.details["fields"]
    ceded = decode(tuple[CededFields, ...], yaml.safe_load(entry))
    assert sorted(ceded[0].paths) == ["/spec/replicas", "/spec/template/spec/containers/0/resources/limits/memory"]
    for check in (True, False):
        assert actions(apply(cluster, deployment(), *ceded, check=check)) == [Action.UNCHANGED]
    assert (live(cluster)["spec"]["replicas"], memory(live(cluster))) == (9, "3Gi")
