"""What a probe that could not be carried out asks for."""

from __future__ import annotations

from validators.checks.refusals import refusal


def test_a_policy_that_rejects_a_probe_is_named_with_the_way_out() -> None:
    outcome = refusal('pods "p" is forbidden: violates PodSecurity "restricted:latest"')
    assert outcome.reason == "ProbeRefused"
    assert "--probe-namespace" in outcome.todo


def test_a_namespace_that_nothing_prepares_blames_no_policy() -> None:
    text = "namespace n has no default ServiceAccount after 60 s; kube-controller-manager makes both."
    outcome = refusal(text)
    assert (outcome.reason, "policy" in outcome.todo) == ("ProbeInterrupted", False)
    assert text in outcome.message
