"""One cause, one failure, on a real cluster: what other checks see of it is reported as its consequence."""

from __future__ import annotations

import base64
import contextlib
import copy
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, new_object
from kubeflow_volcano.rehearsal.cluster.status import read_status
from kubeflow_volcano.validators.core.consequences import REASON
from kubeflow_volcano.validators.core.timing import Timing
from tests.integration.breaking import Findings, absent, bad, judge, made, patched, space
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

HASTY = Timing(made_seconds=5, bind_seconds=5)
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
BINDING = Ref("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "training-operator")
PODGROUPS_MUTATE = Ref(
    "admissionregistration.k8s.io/v1",
    "MutatingWebhookConfiguration",
    "",
    "volcano-admission-service-podgroups-mutate",
)


def test_rights_that_are_gone_with_their_binding_are_one_failure(cluster: Cluster, kubeconfig: Path) -> None:
    with absent(cluster, BINDING):
        found = judge(kubeconfig, "operator", "C1", read_only=False, timing=HASTY)
    assert bad(found) == {"C1": "Absent"}
    assert following(found) == {"G2", "G5", "G6"}


def test_a_webhook_with_a_wrong_authority_is_one_failure(cluster: Cluster, kubeconfig: Path) -> None:
    configuration = cluster.get(PODGROUPS_MUTATE)
    other = cluster.get(Ref("v1", "ConfigMap", "default", "kube-root-ca.crt"))
    assert configuration
    assert other
    bundle = base64.b64encode(other["data"]["ca.crt"].encode()).decode()
    with patched(cluster, PODGROUPS_MUTATE) as patch:
        hooks = [
            item | {"clientConfig": item["clientConfig"] | {"caBundle": bundle}} for item in configuration["webhooks"]
        ]
        patch({"webhooks": hooks})
        found = judge(kubeconfig, "machinery", "operator", "H1", read_only=False, timing=HASTY)
    assert bad(found) == {"B3": "UnknownAuthority"}
    assert following(found) >= {"B4", "G5", "G6", "H1"}


def following(found: Findings) -> set[str]:
    return {id_ for id_, (_, reason) in found.items() if reason == REASON}


def test_a_second_operator_is_named_and_the_first_is_not_blamed(cluster: Cluster, kubeconfig: Path) -> None:
    deployment = cluster.get(OPERATOR)
    assert deployment
    with space(cluster) as where, made(cluster, _second(deployment, where)):
        found = judge(kubeconfig, "operator", read_only=False, timing=HASTY)
    assert bad(found) == {"G1": "SecondOperator"}


def _second(deployment: Object, namespace: str) -> Object:
    """The operator as another installation would have it: without the flag. It gets no pod here, for want of rights."""
    spec = copy.deepcopy(deployment["spec"])
    spec["template"]["spec"] |= {"serviceAccountName": "absent", "serviceAccount": "absent"}
    spec["template"]["spec"]["containers"][0]["args"] = []
    return new_object("apps/v1", "Deployment", "training-operator", namespace, spec=spec)


@pytest.mark.long
def test_a_stopped_kubelet_is_the_one_failure(cluster: Cluster, kubeconfig: Path) -> None:
    with _stopped_kubelet(kubeconfig.parent.name):
        until(lambda: _lost(cluster))
        found = judge(kubeconfig, "reach", "machinery", "workloads", "volcano", "storage", "network", read_only=False)
    assert {id_: reason for id_, reason in bad(found).items() if id_ != "C10"} == {"A4": "NotReady"}
    until(lambda: not _lost(cluster))
    until(lambda: not bad(judge(kubeconfig, "nodes", "workloads")))


def _lost(cluster: Cluster) -> bool:
    nodes = cluster.list("v1", "Node").items
    return any(conditions(item).get("Ready", {}).get("status") != "True" for item in nodes)


@contextlib.contextmanager
def _stopped_kubelet(name: str) -> Iterator[None]:
    """The kubelet of a rehearsal cluster does nothing inside the block, like one whose machine hangs."""
    (kubelet,) = [item for item in read_status(name).daemons if item.name == "kubelet"]
    assert "kubelet" in Path(f"/proc/{kubelet.pid}/cmdline").read_text()
    os.kill(kubelet.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(kubelet.pid, signal.SIGCONT)
