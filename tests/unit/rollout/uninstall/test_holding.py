"""A held custom resource keeps its controller and what that needs, and nothing else."""

from __future__ import annotations

from kubeflow_volcano.apply.removing.order import Wave
from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.rollout.uninstall.holding import waiting_for

PARTS = dict(read.load_release("1.9.1").components)
EXPERIMENT = Ref("kubeflow.org/v1beta1", "Experiment", "n", "e")
REVISION = Ref("serving.knative.dev/v1", "Revision", "n", "r")


def role(name: str) -> Ref:
    return Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", name)


COMPONENT = {
    role("serving"): "knative-serving",
    role("istio"): "istio-crds",
    role("dex"): "dex",
    role("unknown"): "",
    REVISION: "kserve",
}
LATER = set(COMPONENT) - {REVISION}


def test_the_controller_of_the_kind_and_what_it_requires_stay() -> None:
    found = waiting_for(Wave.CUSTOM, {REVISION}, LATER, COMPONENT, PARTS)
    assert found == {role("serving"), role("istio"), role("unknown")}


def test_nothing_waits_for_a_held_workload() -> None:
    assert waiting_for(Wave.WORKLOADS, {REVISION}, LATER, COMPONENT, PARTS) == set()
