"""Several pods of Volcano's programs and of the operator: who leads, where they run, and what cannot have them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.operator import eras
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import parse


def deployment(name: str, *arguments: str, image: str = "volcanosh/x:v1.10.0", **pod: Any) -> dict[str, Any]:
    container = {"name": name, "image": image, "args": list(arguments)}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "where"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}},
        },
    }


SCHEDULER = deployment("volcano-scheduler", "--logtostderr", "--leader-elect=false", "-v=3", "2>&1")
CONTROLLERS = deployment("volcano-controllers", "--logtostderr", "2>&1")
ADMISSION = deployment("volcano-admission", "--port=8443", "2>&1")
OPERATOR = deployment(
    "training-operator", image="kubeflow/training-operator:v1-04f9f13", serviceAccountName="training-operator"
)


def by_name(objects: tuple[dict[str, Any], ...], kind: str) -> dict[str, dict[str, Any]]:
    return {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == kind}


def test_by_default_volcano_is_as_upstream_ships_it() -> None:
    objects = (SCHEDULER, CONTROLLERS, ADMISSION)
    assert patched(objects, "volcano", parse({})) == objects


def test_volcanos_programs_elect_a_leader_and_its_admission_does_not() -> None:
    found = patched([SCHEDULER, CONTROLLERS, ADMISSION], "volcano", parse({"volcano_replicas": 2}))
    live = by_name(found, "Deployment")
    arguments = {name: obj["spec"]["template"]["spec"]["containers"][0]["args"] for name, obj in live.items()}
    assert arguments == {
        "volcano-scheduler": ["--leader-elect=true", "--logtostderr", "-v=3", "2>&1"],
        "volcano-controllers": ["--leader-elect=true", "--logtostderr", "2>&1"],
        "volcano-admission": ["--port=8443", "2>&1"],
    }
    assert {obj["spec"]["replicas"] for obj in live.values()} == {2}


def test_its_pods_go_to_several_nodes_and_are_not_all_drained_at_once() -> None:
    found = patched([SCHEDULER], "volcano", parse({"volcano_replicas": 3}))
    pods = by_name(found, "Deployment")["volcano-scheduler"]["spec"]["template"]["spec"]
    (spread,) = pods["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")
    budget = by_name(found, "PodDisruptionBudget")["volcano-scheduler"]
    assert budget["spec"] == {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "volcano-scheduler"}}}
    assert budget["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "kubeflow-volcano"}


def test_an_affinity_of_somebody_elses_stays_alone() -> None:
    own = deployment("volcano-scheduler", affinity={"podAntiAffinity": {}})
    live = by_name(patched([own], "volcano", parse({"volcano_replicas": 2})), "Deployment")["volcano-scheduler"]
    assert "topologySpreadConstraints" not in live["spec"]["template"]["spec"]


def test_the_operator_elects_a_leader_and_may_have_its_lease() -> None:
    found = patched([OPERATOR], "training-operator", parse({"gang_scheduling_operator_replicas": 2}))
    live = by_name(found, "Deployment")["training-operator"]
    assert live["spec"]["replicas"] == 2
    assert live["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "--gang-scheduler-name=volcano",
        "--leader-elect=true",
    ]
    (role,) = by_name(found, "Role").values()
    assert role["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]}
    ]
    (binding,) = by_name(found, "RoleBinding").values()
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "training-operator", "namespace": "where"}]


def test_the_operator_elects_a_leader_with_gang_scheduling_off_too() -> None:
    variables = {"gang_scheduling_operator_replicas": 2, "gang_scheduling_scheduler": "none"}
    found = patched([OPERATOR], "training-operator", parse(variables))
    container = by_name(found, "Deployment")["training-operator"]["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == ["--leader-elect=true"]


def test_one_pod_is_upstreams_text() -> None:
    (found,) = patched([OPERATOR], "training-operator", parse({}))
    container = OPERATOR["spec"]["template"]["spec"]["containers"][0] | {"args": ["--gang-scheduler-name=volcano"]}
    assert found["spec"]["replicas"] == 1
    assert found["spec"]["template"]["spec"]["containers"] == [container]


def test_an_operator_that_cannot_elect_is_refused_by_the_release_and_by_its_image() -> None:
    with pytest.raises(InvalidInput, match=r"1\.5\.0 .*leader"):
        parse({"kubeflow_release": "1.6.1", "gang_scheduling_operator_replicas": 2})
    old = deployment("training-operator", image="kubeflow/training-operator:v1-e1434f6")
    with pytest.raises(InvalidInput, match=r"1\.5\.0 .*leader"):
        patched([old], "training-operator", parse({"gang_scheduling_operator_replicas": 2}))


def test_without_a_training_operator_its_replicas_are_refused() -> None:
    variables = {"kubeflow_components": ["volcano"], "gang_scheduling_operator_replicas": 2}
    with pytest.raises(InvalidInput, match="no training operator"):
        parse(variables)


def test_every_era_from_1_6_on_elects_a_leader() -> None:
    assert [era.lowest for era in eras() if era.elects_leader] == ["1.6.0", "1.8.0"]
