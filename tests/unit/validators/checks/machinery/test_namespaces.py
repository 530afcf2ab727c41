"""B8 on literal facts, and what is left in a namespace that is being deleted."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.machinery.namespaces import REMAINING, kinds_left, namespaces_active
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.subjects.finalizers import Terminating
from tests.samples.facts import facts, instant, obj, ref

EXPECTED = Expectations(kubernetes=MinorRange("1.29", None), namespaces=frozenset({"kubeflow", "kube-system"}))
SYSTEM = obj("Namespace", "kube-system")
CONTENT = (
    "Some resources are remaining: configmaps. has 1 resource instances, foos.example.com has 2 resource instances"
)


def known(*namespaces: Object, **fields: Any) -> Facts:
    return facts(SYSTEM, *namespaces, expected=EXPECTED, **fields)


def going(seconds: float, name: str = "kubeflow", *, failing: bool = False, **meta: Any) -> Object:
    found = [
        {"type": "NamespaceContentRemaining", "status": "True", "message": CONTENT},
        {"type": "NamespaceDeletionDiscoveryFailure", "status": str(failing), "message": "v1beta1.metrics.k8s.io"},
    ]
    meta |= {"deletionTimestamp": instant(seconds)}
    return obj("Namespace", name, metadata=meta, status={"phase": "Terminating", "conditions": found})


def test_namespaces_that_are_active_pass() -> None:
    outcome = namespaces_active(known(obj("Namespace", "kubeflow"), going(600, "somebody-elses")))
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["kube-system", "kubeflow"])


def test_one_that_is_stuck_fails_with_what_is_left_in_it() -> None:
    left = (Terminating(ref("ConfigMap", "kubeflow/c"), ("example.com/hold",)),)
    outcome = namespaces_active(known(going(121), known={REMAINING: {"kubeflow": left}}))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "Stuck", ())
    assert "configmaps. has 1 resource instances" in outcome.message
    assert "ConfigMap kubeflow/c (finalizers example.com/hold)" in outcome.message
    assert "not part of" in outcome.message
    assert "start the controller" in outcome.todo
    assert "example.com/hold" in outcome.todo


def test_a_finalizer_of_the_namespace_itself_is_named_with_its_controller() -> None:
    outcome = namespaces_active(known(going(121, finalizers=["controller.cattle.io/namespace-auth"])))
    assert "finalizers: controller.cattle.io/namespace-auth." in outcome.message
    assert outcome.todo.startswith("start Rancher")


def test_one_that_waits_for_an_apiservice_follows_it() -> None:
    outcome = namespaces_active(known(going(121, failing=True)))
    assert (outcome.because, "v1beta1.metrics.k8s.io" in outcome.message) == (("B2",), True)


def test_one_that_was_deleted_a_moment_ago_is_a_warning() -> None:
    assert namespaces_active(known(going(119))).status is Status.WARN


def test_one_of_a_profile_counts() -> None:
    label = {"app.kubernetes.io/part-of": "kubeflow-profile"}
    outcome = namespaces_active(known(obj("Namespace", "kubeflow"), going(600, "alice", labels=label)))
    assert [item.name for item in outcome.objects] == ["alice"]


def test_one_that_is_missing_follows_the_inventory() -> None:
    outcome = namespaces_active(known())
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "Missing", ("C1",))


def test_the_condition_names_the_kinds_that_are_left() -> None:
    assert kinds_left(going(1)) == (("configmaps", ""), ("foos", "example.com"))
    assert kinds_left(SYSTEM) == ()


@pytest.mark.parametrize("refused", [False, True])
def test_what_is_left_is_listed_as_far_as_it_may_be(api: Any, *, refused: bool) -> None:
    item = {"metadata": {"name": "c", "namespace": "kubeflow", "finalizers": ["example.com/hold"]}}
    answer = api.reply(body={"metadata": {"resourceVersion": "1"}, "items": [item]})
    path = "/api/v1/namespaces/kubeflow/configmaps"
    api.on("GET", path, api.status(403, "Forbidden", "no") if refused else answer)
    found = REMAINING.fetch(api.connect(), known(going(600)))
    left = Terminating(Ref("v1", "ConfigMap", "kubeflow", "c"), ("example.com/hold",))
    assert found == {"kubeflow": () if refused else (left,)}
