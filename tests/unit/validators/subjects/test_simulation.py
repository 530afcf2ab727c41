"""What of a cluster is simulated is read from the cluster itself."""

from __future__ import annotations

import json
import re
from typing import cast

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.workloads.workloads import deployments, pods_ready
from kubeflow_volcano.validators.subjects.simulation import SimulatedWebhook, simulated_webhooks, simulated_workload
from tests.samples.facts import deployment, facts, node, pod, ref

REGISTER = {
    "kind": "MutatingWebhookConfiguration",
    "name": "katib",
    "webhooks": ["a", "b"],
    "services": ["kubeflow/katib-controller"],
}


class Register:
    """The part of a cluster that holds the list of the rehearsal's stub."""

    def __init__(self, found: Object | None) -> None:
        self.found = found
        self.asked = 0

    def get(self, wanted: Ref) -> Object | None:
        assert (wanted.kind, wanted.namespace) == ("ConfigMap", "kube-system")
        self.asked += 1
        return self.found


def kwok(name: str = "kwok") -> Object:
    return node(name, metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})


def on(where: str, name: str, owner: str) -> Object:
    found = pod(name, owner=owner)
    found["spec"]["nodeName"] = where
    return found


def test_the_list_of_the_stub_is_read_where_nodes_are_simulated_and_nowhere_else() -> None:
    cluster = Register({"data": {"webhooks.json": json.dumps([REGISTER])}})
    service = ref("Service", "kubeflow/katib-controller")
    entry = SimulatedWebhook("MutatingWebhookConfiguration", "katib", ("a", "b"), (service,))

    assert simulated_webhooks(cast("Cluster", cluster), facts(kwok())) == (entry,)
    assert simulated_webhooks(cast("Cluster", cluster), facts(node())) == ()
    assert cluster.asked == 1
    assert simulated_webhooks(cast("Cluster", Register(None)), facts(kwok())) == ()


def test_a_workload_is_simulated_when_all_of_its_pods_are() -> None:
    going = on("kwok", "a/w", "f")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    half = facts(kwok(), on("kwok", "a/x", "d"), on("n1", "a/y", "d"), on("kwok", "a/z", "e"), going)
    assert simulated_workload(half, ref("Deployment", "a/e"))
    assert not simulated_workload(half, ref("Deployment", "a/d"))
    assert not simulated_workload(half, ref("Deployment", "a/f"))
    assert not simulated_workload(half, ref("Deployment", "a/without-pods"))


def test_checks_of_workloads_and_pods_say_how_much_is_simulated() -> None:
    found = facts(kwok(), deployment("a/d"), deployment("a/e"), on("kwok", "a/x", "d"), on("n1", "a/y", "e"))
    for outcome in (deployments(found), pods_ready(found)):
        assert re.search(r"\b1 of them .*simulated", outcome.message)
