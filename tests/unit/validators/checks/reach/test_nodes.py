"""A4 on literal facts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.quantities import quantity
from kubeflow_volcano.experiment.pods import RESOURCES, SCRIPT_RESOURCES
from kubeflow_volcano.validators.checks.reach.nodes import nodes
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import deployment, facts, instant, node, pod

UNREACHABLE = "0/2 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }"
DEDICATED = {"key": "dedicated", "value": "etl", "effect": "NoSchedule"}


def test_healthy_nodes_pass_and_simulated_ones_are_told() -> None:
    simulated = node("gpu-1", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    outcome = nodes(facts(node(), simulated))
    assert outcome.status is Status.PASS
    assert "1 of them simulated" in outcome.message


def lost(name: str = "n2", **spec: Any) -> Object:
    unreachable = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    status = {"conditions": [{"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}]}
    return node(name, spec={"taints": [unreachable], **spec}, status=status)


def pressed(name: str = "n2") -> Object:
    status = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]}
    return node(name, status=status)


def of_release(*objects: Object) -> Facts:
    return facts(*objects, deployment("kubeflow/a"), workloads=["x Deployment kubeflow/a"])


def on(name: str, **rest: Any) -> Object:
    return pod("kubeflow/a-5d9-x", owner="a", spec={"containers": [{"name": "main"}], "nodeName": name}, **rest)


def test_the_only_node_under_pressure_fails_with_its_condition() -> None:
    outcome = nodes(facts(pressed()))
    assert (outcome.status, outcome.reason, [item.name for item in outcome.objects]) == (
        Status.FAIL,
        "DiskPressure",
        ["n2"],
    )


@pytest.mark.parametrize(("extra", "reason"), [(lost(), "NotReady"), (pressed(), "DiskPressure")])
def test_a_sick_node_that_no_pod_of_the_release_needs_is_a_warning(extra: Object, reason: str) -> None:
    outcome = nodes(of_release(node(), extra, on("n1")))
    assert (outcome.status, outcome.reason, [item.name for item in outcome.objects]) == (Status.WARN, reason, ["n2"])
    assert "1 node has room" in outcome.message
    assert outcome.commands == ("kubectl describe node n2",)


def test_a_lost_node_with_a_pod_of_the_release_on_it_fails() -> None:
    outcome = nodes(of_release(node(), lost(), on("n2")))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NotReady")
    assert "Pod kubeflow/a-5d9-x." in outcome.message


def test_a_pod_that_is_being_replaced_does_not_need_the_lost_node() -> None:
    ending = on("n2", metadata={"deletionTimestamp": instant(60)})
    assert nodes(of_release(node(), lost(), ending)).status is Status.WARN


def test_the_pod_of_a_stateful_set_is_not_replaced_before_it_is_gone() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}
    ending = pod(
        "kubeflow/db-0",
        spec={"containers": [{"name": "main"}], "nodeName": "n2"},
        metadata={"deletionTimestamp": instant(60), "ownerReferences": [owner]},
    )
    found = facts(node(), lost(), ending, workloads=["x StatefulSet kubeflow/db"])
    assert nodes(found).status is Status.FAIL


def test_pods_of_a_daemon_set_are_on_every_node_and_need_none() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "cni", "uid": "u", "controller": True}
    there = pod(
        "kubeflow/cni-x",
        spec={"containers": [{"name": "main"}], "nodeName": "n2"},
        metadata={"ownerReferences": [owner]},
    )
    assert nodes(facts(node(), lost(), there, workloads=["x DaemonSet kubeflow/cni"])).status is Status.WARN


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (f"{UNREACHABLE}, 1 node(s) had volume node affinity conflict.", Status.FAIL),
        ("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.", Status.WARN),
        ("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.", Status.WARN),
    ],
)
def test_a_pod_of_the_release_that_cannot_run_elsewhere_needs_the_lost_node(message: str, status: Status) -> None:
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    waiting = pod(
        "kubeflow/a-5d9-x",
        owner="a",
        spec={"containers": [{"name": "main"}]},
        status={"phase": "Pending", "conditions": [scheduled]},
    )
    assert nodes(of_release(node(), lost(), waiting)).status is status


def test_without_room_on_the_others_a_lost_node_fails() -> None:
    hungry = {"containers": [{"name": "main", "resources": {"requests": {"memory": "4050Mi"}}}], "nodeName": "n1"}
    outcome = nodes(of_release(node(), lost(), pod("default/big", spec=hungry)))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoRoom")
    assert "stopped posting" in outcome.message


def test_a_lost_node_that_was_the_only_one_without_a_taint_fails() -> None:
    outcome = nodes(of_release(node(spec={"taints": [DEDICATED]}), lost()))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NotReady")
    assert "n2: NotReady" in outcome.message
    assert outcome.changes == ("kubectl taint node n1 dedicated:NoSchedule-",)


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
    hungry = {"containers": [{"name": "main", "resources": {"requests": {"memory": "4050Mi"}}}], "nodeName": "n1"}
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


def tainted(name: str, *taints: Object, **spec: Any) -> Object:
    return node(name, spec={"taints": list(taints), **spec})


def test_taints_of_others_on_every_node_fail_with_a_command_for_each_node_and_its_taint() -> None:
    every = (
        tainted("n1", DEDICATED),
        tainted("n2", {"key": "dedicated", "value": "db", "effect": "NoExecute"}),
        tainted("n3", {"key": "dedicated", "effect": "PreferNoSchedule"}, {"key": "b", "effect": "NoSchedule"}),
    )
    outcome = nodes(facts(*every))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "AllTainted")
    assert re.search("n1: .*dedicated=etl:NoSchedule; n2: .*dedicated=db:NoExecute", outcome.message)
    assert outcome.changes == (
        "kubectl taint node n1 dedicated:NoSchedule-",
        "kubectl taint node n2 dedicated:NoExecute-",
        "kubectl taint node n3 b:NoSchedule-",
    )


def test_one_node_that_accepts_ordinary_pods_is_enough() -> None:
    assert nodes(facts(tainted("n1", DEDICATED), node("n2"))).status is Status.PASS
    assert nodes(facts(tainted("n1", {"key": "a", "effect": "PreferNoSchedule"}))).status is Status.PASS


def test_taints_that_pods_of_the_release_tolerate_are_a_warning() -> None:
    spec = {"containers": [{"name": "main"}], "tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    outcome = nodes(of_release(tainted("n1", DEDICATED), pod("kubeflow/a-5d9-x", owner="a", spec=spec)))
    assert (outcome.status, outcome.reason) == (Status.WARN, "AllTainted")
    assert "same toleration" in outcome.message


def test_the_pods_of_the_release_that_run_since_before_the_taint_do_not_excuse_it() -> None:
    assert nodes(of_release(tainted("n1", DEDICATED), on("n1"))).status is Status.FAIL


@pytest.mark.parametrize(
    ("taint", "words", "command"),
    [
        (
            {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
            "let its control plane run pods",
            "kubectl taint node n1 node-role.kubernetes.io/control-plane:NoSchedule-",
        ),
        (
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
            "reserved for GPU jobs",
            "kubectl describe node n1",
        ),
        (
            {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
            "cloud-controller-manager",
            "kubectl describe node n1",
        ),
        (
            {"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"},
            "Kubernetes removes the taint",
            "kubectl describe node n1",
        ),
        (
            {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"},
            "the controller that set the taint",
            "kubectl describe node n1",
        ),
    ],
)
def test_the_remedy_follows_from_who_set_the_taint(taint: Object, words: str, command: str) -> None:
    outcome = nodes(facts(tainted("n1", taint)))
    assert (outcome.status, outcome.reason, (*outcome.commands, *outcome.changes)) == (
        Status.FAIL,
        "AllTainted",
        (command,),
    )
    assert words in outcome.todo


def test_only_the_foreign_taint_is_to_be_removed_beside_a_control_plane_and_gpu_nodes() -> None:
    outcome = nodes(
        facts(
            tainted("cp", {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}),
            tainted("gpu", {"key": "nvidia.com/gpu", "effect": "NoSchedule"}),
            tainted("n1", DEDICATED),
        )
    )
    assert outcome.changes == ("kubectl taint node n1 dedicated:NoSchedule-",)


def test_simulated_nodes_keep_their_taint() -> None:
    simulated = tainted("gpu-1", {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"})
    simulated["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
    outcome = nodes(facts(simulated, tainted("n1", DEDICATED)))
    assert outcome.changes == ("kubectl taint node n1 dedicated:NoSchedule-",)


def test_a_cordoned_node_without_a_taint_is_to_be_uncordoned_where_all_others_have_taints() -> None:
    mirror = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    outcome = nodes(facts(tainted("n1", DEDICATED), tainted("n2", mirror, unschedulable=True)))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoneOpen")
    assert outcome.changes == ("kubectl uncordon n2",)


def test_room_on_nodes_that_keep_the_waiting_pods_away_does_not_count() -> None:
    hungry = {"containers": [{"name": "main", "resources": {"requests": {"memory": "4050Mi"}}}], "nodeName": "n1"}
    full = pod("default/big", spec=hungry)
    assert nodes(facts(node("n1"), tainted("n2", DEDICATED), full)).reason == "NoRoom"
    assert nodes(facts(node("n1"), node("n2"), full)).status is Status.PASS
