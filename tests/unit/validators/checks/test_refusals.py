"""What a refused probe object says about the cluster."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.watch.leaders import CONTROLLERS, SCHEDULER
from kubeflow_volcano.experiment.ended import UNPLACED, UNSEEN
from kubeflow_volcano.experiment.session import EVERYWHERE
from kubeflow_volcano.validators.checks.refusals import not_tried, refusal
from kubeflow_volcano.validators.core.outcome import Status

BY_POLICY = "pods p is forbidden: ValidatingAdmissionPolicy 'no-gangs' with binding 'b' denied request: no"


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (BY_POLICY, "ValidatingAdmissionPolicy no-gangs"),
        ('admission webhook "deny.example.com" denied the request: no', "Webhook deny.example.com"),
        ("exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0", "ResourceQuota small"),
        ('pods "p" is forbidden: violates PodSecurity "restricted:latest": x', "PodSecurity restricted"),
    ],
)
def test_what_denies_ordinary_objects_everywhere_is_the_clusters_failure(text: str, policy: str) -> None:
    outcome = refusal(f"{text} ({EVERYWHERE}: default, team)")
    assert (outcome.status, outcome.reason) == (Status.FAIL, "PolicyDenies")
    assert outcome.message.startswith(f"{policy} denies ")
    assert "exempt the probe" not in outcome.todo
    assert outcome.because == (frozenset(outcome.objects),)


def test_the_check_that_owns_the_denial_follows_no_other() -> None:
    assert refusal(f"{BY_POLICY} ({EVERYWHERE}: team)", owns=True).because == ()


def test_what_concerns_the_probe_alone_is_no_failure() -> None:
    outcome = refusal(BY_POLICY)
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ProbeRefused")
    assert "exempt the probe" in outcome.todo


def test_a_namespace_that_nobody_prepares_follows_from_the_controller_manager() -> None:
    outcome = refusal("namespace x has no default ServiceAccount after 24 s; kube-controller-manager makes it.")
    assert (outcome.status, outcome.because) == (Status.ERROR, (frozenset({CONTROLLERS.lease}),))
    assert "start kube-controller-manager" in outcome.todo


def test_a_server_that_does_not_answer_refuses_nothing() -> None:
    outcome = refusal("Pod x cannot be deleted: no answer from https://192.0.2.1:6443 (Read timed out.)")
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ProbeInterrupted")
    assert "policy" not in outcome.todo


def test_a_pod_that_no_scheduler_looked_at_follows_from_the_scheduler() -> None:
    outcome = not_tried((UNSEEN, "the probe pod is still Pending after 60 s: scheduler x has not looked at it"))
    assert (outcome.status, outcome.because) == (Status.FAIL, ("E1",))
    assert SCHEDULER.lease in outcome.breaks


def test_a_pod_that_no_node_takes_has_the_remedy_of_what_the_scheduler_says() -> None:
    outcome = not_tried((UNPLACED, "still Pending: 0/6 nodes are available: 1 node(s) were unschedulable."))
    assert (outcome.status, outcome.because) == (Status.ERROR, ("A4",))
    assert outcome.todo.startswith("uncordon")


def test_a_policy_without_its_parameters_is_no_matter_of_the_probe() -> None:
    said = f"{BY_POLICY.removesuffix('no')}failed to configure binding: no params found for policy binding with `Deny`"
    outcome = refusal(said)
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ProbeRefused")
    assert "paramRef of the binding b" in outcome.todo
    assert outcome.commands


def test_a_condition_that_fails_for_every_pod_is_reported_once() -> None:
    outcome = refusal("pods \"a\" is forbidden: expression 'object.x == 1' resulted in error: no such key: x")
    assert outcome.because == ("E1",)
    assert "matchConditions" in " ".join(outcome.commands)
