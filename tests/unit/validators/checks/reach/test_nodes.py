"""A4 on literal facts."""

from __future__ import annotations

from kubeflow_volcano.cluster.pods.quantities import quantity
from kubeflow_volcano.experiment.pods import RESOURCES, SCRIPT_RESOURCES
from tests.samples.facts import deployment, facts, node, pod
from validators.checks.reach.nodes import nodes
from validators.core.outcome import Status


def test_healthy_nodes_pass_and_simulated_ones_are_told() -> None:
    simulated = node("gpu-1", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    outcome = nodes(facts(node(), simulated))
    assert outcome.status is Status.PASS
    assert "1 of them simulated" in outcome.message


def test_a_node_under_pressure_fails_with_its_condition() -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]}
    outcome = nodes(facts(node(), node("n2", status=status)))
    assert (outcome.status, outcome.reason, [item.name for item in outcome.objects]) == (
        Status.FAIL,
        "DiskPressure",
        ["n2"],
    )


def test_no_node_at_all_fails() -> None:
    assert nodes(facts()).reason == "NoNodes"


def test_a_cordoned_node_is_a_warning_and_only_cordoned_nodes_a_failure() -> None:
    cordoned = node("n2", spec={"unschedulable": True})
    assert nodes(facts(node(), cordoned)).reason == "Cordoned"
    assert nodes(facts(cordoned)).reason == "AllCordoned"


def test_a_cluster_whose_cpu_is_all_requested_has_room_for_probes() -> None:
    busy = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}], "nodeName": "n1"}
    assert nodes(facts(node(), pod("default/busy", spec=busy))).status is Status.PASS
    assert quantity(SCRIPT_RESOURCES["requests"]["cpu"]) == quantity(RESOURCES["requests"]["cpu"]) == 0


def test_pods_that_have_ended_take_no_room_and_running_ones_do() -> None:
    hungry = {"containers": [{"name": "main", "resources": {"requests": {"memory": "4000Mi"}}}], "nodeName": "n1"}
    running = pod("default/big", spec=hungry)
    ended = pod("default/big", spec=hungry, status={"phase": "Succeeded"})
    assert nodes(facts(node(), running)).reason == "NoRoom"
    assert nodes(facts(node(), ended)).status is Status.PASS


def test_a_pod_of_the_profile_that_waits_counts_and_one_of_somebody_else_does_not() -> None:
    large = {"containers": [{"name": "main", "resources": {"requests": {"memory": "5Gi"}}}]}
    waiting = pod("kubeflow/a-5d9-x", owner="a", spec=large, status={"phase": "Pending"})
    of_profile = facts(node(), waiting, deployment("kubeflow/a"), workloads=["x Deployment kubeflow/a"])
    outcome = nodes(of_profile)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoRoom")
    assert "4Gi memory left" in outcome.message
    assert "5.1Gi memory" in outcome.message
    assert nodes(facts(node(), waiting, deployment("kubeflow/a"))).status is Status.PASS


def test_a_quantity_that_is_none_cannot_be_judged() -> None:
    odd = node(status={"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "many"}})
    assert nodes(facts(odd)).reason == "BadQuantity"


def test_nodes_that_all_keep_pods_away_are_a_warning() -> None:
    tainted = {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]}
    outcome = nodes(facts(node(spec=tainted)))
    assert (outcome.status, outcome.reason) == (Status.WARN, "AllTainted")
    assert "dedicated" in outcome.message
    assert nodes(facts(node(spec=tainted), node("n2"))).status is Status.PASS
