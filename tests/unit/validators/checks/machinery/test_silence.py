"""Who is silent, of the webhooks that the API server calls for one object; and what may keep it from them."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.webhooks import Webhook
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.checks.machinery.cut_off import allowing, keeping_out
from kubeflow_volcano.validators.checks.machinery.silence import Tried, backend_of, seconds_of, silence_in
from kubeflow_volcano.validators.reading.dry_runs import Answer
from tests.samples.facts import obj, ref

HUNG = Answer("silent", "", "no answer within 5 s")
ACCEPTED = Answer("accepted")


def hook(service: str, kind: str = "Mutating", **rest: Any) -> Webhook:
    place = {"service": {"namespace": "s", "name": service}}
    text = {"name": f"{service}.example.com", "clientConfig": place, **rest}
    return Webhook(ref(f"{kind}WebhookConfiguration", service), text)


def never(_number: int, _seconds: float) -> Answer:
    raise AssertionError("needs no more time")


A, B, C = hook("a"), hook("b"), hook("c")
IGNORED = hook("i", failurePolicy="Ignore")


def test_one_backend_that_is_silent_alone_explains_every_dry_run_that_waits_for_it() -> None:
    found = silence_in([Tried((A, B, C), HUNG), Tried((A,), HUNG), Tried((B, A), HUNG)], 5, never)
    assert (found.backends, found.doubtful) == ({backend_of(A)}, {})
    assert found.behind(2, Tried((B, A), HUNG)) == {backend_of(A)}


def test_what_answers_another_dry_run_is_not_silent() -> None:
    found = silence_in([Tried((A, B), HUNG), Tried((B,), ACCEPTED)], 5, never)
    assert found.backends == {backend_of(A)}


def test_what_the_api_server_names_is_silent_and_explains_the_others() -> None:
    named = Answer("silent", "a.example.com", "failed calling webhook")
    assert silence_in([Tried((B, A), HUNG), Tried((A,), named)], 5, never).backends == {backend_of(A)}


@pytest.mark.parametrize(
    ("longer", "silent"),
    [
        (Answer("silent", "b.example.com", "failed calling webhook"), B),
        (ACCEPTED, IGNORED),
        (Answer("denied", "c.example.com"), None),
    ],
)
def test_with_more_time_the_api_server_says_who_it_was(longer: Answer, silent: Webhook | None) -> None:
    tried = [Tried((A, B, C, IGNORED), HUNG)]
    found = silence_in(tried, 5, lambda _number, _seconds: longer)
    assert found.backends == ({backend_of(silent)} if silent else set())
    doubtful = {backend_of(item) for item in (A, B, IGNORED)}
    assert found.behind(0, tried[0]) == ({backend_of(silent)} if silent else doubtful)


def test_one_whose_silence_is_ignored_soon_may_be_silent_where_all_is_accepted() -> None:
    soon = hook("i", failurePolicy="Ignore", timeoutSeconds=2)
    found = silence_in([Tried((soon, A), HUNG), Tried((soon, A), ACCEPTED)], 5, never)
    assert found.backends == {backend_of(soon)}


def test_those_that_mutate_are_waited_for_one_by_one() -> None:
    validating = [hook(name, "Validating", timeoutSeconds=limit) for name, limit in (("v", 3), ("w", 7))]
    assert seconds_of((A, B, *validating)) == 27
    assert seconds_of((A,) * 9) == 60


SERVICE = obj(
    "Service", "volcano-system/admission", spec={"selector": {"app": "x"}, "ports": [{"port": 443, "targetPort": 8443}]}
)
PODS = [obj("Pod", f"volcano-system/{name}", metadata={"labels": {"app": name}}) for name in "xy"]


def policy(name: str = "deny", **spec: Any) -> Object:
    return new_object("networking.k8s.io/v1", "NetworkPolicy", name, "volcano-system", spec={"podSelector": {}, **spec})


BY_PODS = policy(ingress=[{"from": [{"podSelector": {}}]}])


@pytest.mark.parametrize(
    ("policies", "kept_out"),
    [
        ([BY_PODS], True),
        ([policy()], True),
        ([], False),
        ([policy(policyTypes=["Egress"])], False),
        ([policy(podSelector={"matchLabels": {"app": "y"}})], False),
        ([BY_PODS, policy("all", ingress=[{}])], False),
        ([policy(ingress=[{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}])], False),
    ],
)
def test_policies_that_admit_pods_alone_may_keep_the_api_server_out(policies: list[Object], *, kept_out: bool) -> None:
    assert bool(keeping_out(policies, SERVICE, PODS)) is kept_out


def test_the_command_makes_a_policy_that_admits_all() -> None:
    words = shlex.split(allowing(SERVICE))
    assert words[0] == "echo"
    assert words[2:] == ["|", "kubectl", "apply", "-f", "-"]
    made = json.loads(words[1])
    assert Ref.of(made).namespace == "volcano-system"
    assert made["spec"]["ingress"] == [{"ports": [{"port": 8443, "protocol": "TCP"}]}]
    assert keeping_out([BY_PODS, made], SERVICE, PODS) == ()
