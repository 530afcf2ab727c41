"""One cause, one failure, on literal facts: trouble with pods that comes from a node or from a webhook."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.reach.nodes import nodes
from kubeflow_volcano.validators.checks.refusals import interruption
from kubeflow_volcano.validators.checks.workloads import workloads as checks
from kubeflow_volcano.validators.core.consequences import REASON, follow
from kubeflow_volcano.validators.core.outcome import Outcome, Status, failed
from kubeflow_volcano.validators.subjects.interception import webhook_ref
from kubeflow_volcano.validators.subjects.outages import LOST
from tests.samples.facts import deployment, facts, instant, node, obj, pod, ref

N1 = ref("Node", "n1")


def lost(name: str = "n1") -> Object:
    return node(name, status={"conditions": [{"type": "Ready", "status": "Unknown"}]})


def on_n1(name: str, **metadata: Any) -> Object:
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}]
    return pod(
        name,
        owner=name.rpartition("/")[2].partition("-")[0],
        metadata=metadata,
        spec={"nodeName": "n1", "containers": [{"name": "main"}]},
        status={"phase": "Running", "conditions": conditions},
    )


def names(*refs: Any, breaks: Any = ()) -> Outcome:
    return failed("Broken", "it is broken", todo="mend it", objects=refs, breaks=breaks)


def test_pods_and_workloads_on_a_lost_node_follow_from_it() -> None:
    known = facts(lost(), deployment("kubeflow/a", available=0), on_n1("kubeflow/a-5d9-x"))
    outcomes = {"A4": names(N1), "C2": checks.deployments(known), "C6": checks.pods_ready(known)}
    assert outcomes["C6"].status is Status.FAIL
    followed = follow(outcomes)
    assert {id_: item.reason for id_, item in followed.items() if id_ != "A4"} == {"C2": REASON, "C6": REASON}


def test_a_pod_that_is_not_ready_on_a_node_that_is_stands() -> None:
    known = facts(node(), on_n1("kubeflow/a-5d9-x"))
    assert follow({"A4": names(N1), "C6": checks.pods_ready(known)})["C6"].status is Status.FAIL


def test_a_workload_whose_pods_left_with_their_node_follows_from_it() -> None:
    known = facts(
        lost(), deployment("kubeflow/a", available=0), on_n1("kubeflow/a-5d9-x", deletionTimestamp=instant(10))
    )
    assert checks.pods_ready(known).status is not Status.FAIL
    assert follow({"A4": names(N1), "C2": checks.deployments(known)})["C2"].reason == REASON


def test_a_pod_that_waits_for_a_lost_node_follows_from_it() -> None:
    message = "0/2 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 1 other."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    waiting = pod("kubeflow/a", spec={"containers": []}, status={"phase": "Pending", "conditions": [condition]})
    known = facts(lost(), waiting)
    assert follow({"A4": names(N1, breaks=LOST), "C8": checks.pods_placed(known)})["C8"].reason == REASON


def test_a_workload_without_pods_may_be_kept_from_them_by_a_webhook() -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    hook = {"name": "pods.example", "clientConfig": {"url": "https://a"}, "rules": [rule]}
    configuration = obj("ValidatingWebhookConfiguration", "pods", webhooks=[hook])
    broken = names(breaks=[webhook_ref("pods.example")])
    alone = facts(configuration, deployment("kubeflow/a", available=0))
    assert follow({"B3": broken, "C2": checks.deployments(alone)})["C2"].reason == REASON
    with_pod = facts(configuration, deployment("kubeflow/a", available=0), on_n1("kubeflow/a-5d9-x"))
    assert follow({"B3": broken, "C2": checks.deployments(with_pod)})["C2"].status is Status.FAIL
    assert (
        follow({"B3": names(breaks=[webhook_ref("others.example")]), "C2": checks.deployments(alone)})["C2"].status
        is Status.FAIL
    )


def test_a_probe_that_only_a_lost_node_would_take_follows_from_it() -> None:
    stuck = interruption("still Pending: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }")
    assert follow({"A4": nodes(facts(lost())), "E1": stuck})["E1"].reason == REASON
    assert follow({"A4": nodes(facts(lost())), "E1": interruption("no answer")})["E1"].status is Status.ERROR
