"""B4 to B6 on literal facts, and what an answer to a dry run says about webhooks."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.machinery.webhook_answers import (
    POLICIES,
    WEBHOOK_ANSWERS,
    HookAnswer,
    webhook_answers,
    webhooks_answer,
)
from kubeflow_volcano.validators.checks.machinery.webhooks import no_orphan_webhooks, webhook_blast_radius
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.reading.dry_runs import answer_of
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS, SimulatedWebhook
from tests.samples.facts import crd, facts, obj, pod, ref

VALIDATING = "ValidatingWebhookConfiguration"
OWNER = ref(VALIDATING, "jobs")
SERVICE = {"namespace": "volcano-system", "name": "admission"}
EXPECTED = Expectations(
    kubernetes=MinorRange("1.29", None), webhooks={OWNER: "volcano"}, namespaces=frozenset({"volcano-system"})
)
EXCLUDED = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}


def entry(name: str = "w.example.com", resource: str = "pods", **rest: Any) -> Object:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}
    call = {"service": SERVICE}
    return {"name": name, "clientConfig": call, "rules": [rule], "sideEffects": "None"} | rest


def known(*entries: Object, kind: str = VALIDATING, more: tuple[Object, ...] = (), **fields: Any) -> Facts:
    namespaces = [obj("Namespace", name) for name in ("default", "kube-system", "volcano-system")]
    hooks = obj(kind, "jobs", webhooks=list(entries)) if entries else None
    return facts(*namespaces, *([hooks] if hooks else []), *more, expected=EXPECTED, **fields)


def answered(*answers: HookAnswer) -> Facts:
    return known(entry(), known={WEBHOOK_ANSWERS: answers})


HEARD = HookAnswer(OWNER, "w.example.com")


def test_webhooks_that_answer_pass_and_those_that_cannot_be_asked_are_told() -> None:
    outcome = webhooks_answer(answered(HEARD, HookAnswer(OWNER, "x", unasked="they take no dry runs")))
    assert (outcome.status, outcome.objects) == (Status.PASS, (OWNER,))
    assert re.match("1 webhook .* 1 not called", outcome.message)


def test_answers_of_a_rehearsal_are_told() -> None:
    stub = SimulatedWebhook(VALIDATING, "jobs", ("w.example.com",), ())
    answered = known(entry(), known={WEBHOOK_ANSWERS: (HEARD,), SIMULATED_WEBHOOKS: (stub,)})
    assert "for 1 of them" in webhooks_answer(answered).message


def test_silence_fails_and_names_the_webhook() -> None:
    sound = obj("Service", "volcano-system/admission", spec={"ports": [{"port": 443}]})
    outcome = webhooks_answer(
        known(entry(), more=(sound,), known={WEBHOOK_ANSWERS: (replace(HEARD, silence="refused"), HEARD)})
    )
    assert (outcome.status, outcome.reason) == (Status.FAIL, "Unanswered")
    assert re.search("w.example.com .*: refused", outcome.message)


def test_silence_of_an_unsound_webhook_follows_the_check_that_says_why() -> None:
    assert webhooks_answer(answered(replace(HEARD, silence="refused"))).because == ("B3",)


SOUND = obj("Service", "volcano-system/admission", spec={"selector": {"app": "x"}, "ports": [{"port": 443}]})
POLICY = Ref("networking.k8s.io/v1", "NetworkPolicy", "volcano-system", "deny")


def test_webhooks_of_one_backend_are_one_finding_and_a_policy_is_named_with_what_lets_the_api_server_in() -> None:
    names = ("v.example.com", "w.example.com")
    silent = tuple(HookAnswer(OWNER, name, silence="no answer within 5 s") for name in names)
    more = {WEBHOOK_ANSWERS: silent, POLICIES: {ref("Service", "volcano-system/admission"): (POLICY,)}}
    outcome = webhooks_answer(known(*map(entry, names), more=(SOUND,), known=more))
    assert outcome.objects == (ref("Service", "volcano-system/admission"),)
    assert len(outcome.breaks) == len(names)
    assert outcome.todo.startswith("NetworkPolicy volcano-system/deny ")
    assert [command.endswith("kubectl apply -f -") for command in outcome.changes] == [True]


def test_a_webhook_of_others_whose_service_is_gone_follows_the_check_that_says_so() -> None:
    other = obj(
        VALIDATING,
        "other",
        webhooks=[entry("o.example.com") | {"clientConfig": {"service": {"namespace": "x", "name": "y"}}}],
    )
    silent = HookAnswer(ref(VALIDATING, "other"), "o.example.com", silence="failed calling webhook")
    outcome = webhooks_answer(known(entry(), more=(other,), known={WEBHOOK_ANSWERS: (HEARD, silent)}))
    assert (outcome.status, outcome.because) == (Status.FAIL, ("B6",))


def test_a_right_that_is_declared_and_missing_is_an_error_and_another_is_told() -> None:
    pods, queues = Rule("create", "", "pods", "default"), Rule("create", "scheduling.volcano.sh", "queues")
    outcome = webhooks_answer(answered(HEARD, HookAnswer(OWNER, "x", unasked="you may not", forbidden=pods)))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Forbidden")
    assert "resources: ['pods'], verbs: ['create']" in outcome.todo
    other = HookAnswer(OWNER, "x", unasked="you may not create queues", forbidden=queues)
    assert webhooks_answer(answered(HEARD, other)).status is Status.PASS


def test_a_read_only_run_asks_nothing_and_a_run_that_could_ask_none_is_no_pass() -> None:
    assert webhooks_answer(known(entry())).reason == "ReadOnly"
    unasked = HookAnswer(OWNER, "x", unasked="it takes no dry runs")
    assert webhooks_answer(answered(unasked)).reason == webhooks_answer(answered()).reason == "NoneAsked"


DENIED = 'admission webhook "{}" denied the request: no'
FAILED = 'Internal error occurred: failed calling webhook "{}": connection refused'


@pytest.mark.parametrize(
    ("status", "reason", "message", "kind", "by"),
    [
        (500, "InternalError", FAILED.format("w"), "silent", "w"),
        (403, "Forbidden", DENIED.format("w"), "denied", "w"),
        (422, "Invalid", "spec.x: Required value", "invalid", ""),
        (403, "Forbidden", "exceeded quota", "refused", ""),
        (409, "AlreadyExists", "pods kfv-dry-run already exists", "accepted", ""),
        (0, "NoAnswer", "no answer within 5 s", "silent", ""),
    ],
)
def test_what_a_refusal_says(status: int, reason: str, message: str, kind: str, by: str) -> None:
    found = answer_of(ApiError(status, reason, message))
    assert (found.kind, found.by) == (kind, by)


def test_no_refusal_is_acceptance() -> None:
    assert answer_of(None).kind == "accepted"


class Server:
    """Serves what asking takes: rights, discovery, and one answer to each dry run."""

    def __init__(self, api: Any, *, allowed: bool = True) -> None:
        self.api = api
        kinds = [{"kind": "SelfSubjectAccessReview", "name": "selfsubjectaccessreviews", "namespaced": False}]
        api.on("GET", "/apis/authorization.k8s.io/v1", api.reply(body={"resources": kinds}))
        review = api.reply(body={"status": {"allowed": allowed}})
        api.on("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)

    def ask(self, found: Facts, *replies: Any) -> tuple[HookAnswer, ...]:
        self.api.on("POST", "/api/v1/namespaces/default/pods", *(replies or (self.api.reply(body={}),)))
        return webhook_answers(self.api.connect(), found)


def test_each_webhook_is_asked_three_times_by_a_dry_run(api: Any) -> None:
    (answer,) = Server(api).ask(known(entry()))
    assert answer == HEARD
    asked = [item for item in api.requests if item.path.endswith("/pods")]
    assert [item.query["dryRun"] for item in asked] == ["All"] * 3


def test_a_second_try_that_meets_silence_counts(api: Any) -> None:
    silence = api.status(500, "InternalError", FAILED.format("w.example.com"))
    (answer,) = Server(api).ask(known(entry()), api.reply(body={}), silence)
    assert "connection refused" in answer.silence


@pytest.mark.parametrize(
    ("status", "reason", "message", "heard"),
    [
        (403, "Forbidden", DENIED.format("v.example.com"), {"v.example.com"}),
        (403, "Forbidden", "exceeded quota", set()),
    ],
)
def test_a_dry_run_that_ends_before_a_webhook_says_nothing_about_it(
    api: Any, status: int, reason: str, message: str, heard: set[str]
) -> None:
    found = known(entry("v.example.com"), entry("w.example.com"))
    answers = Server(api).ask(found, api.status(status, reason, message))
    assert {item.name for item in answers if not item.unasked} == heard
    assert all(message in item.unasked for item in answers if item.unasked)


def test_what_is_invalid_was_mutated_before(api: Any) -> None:
    found = known(entry(), kind="MutatingWebhookConfiguration")
    (answer,) = Server(api).ask(found, api.status(422, "Invalid", "spec: Required value"))
    assert (answer.silence, answer.unasked) == ("", "")


def test_no_answer_in_time_is_silence_only_while_the_api_server_answers(api: Any) -> None:
    def late(_request: Any) -> Any:
        time.sleep(4)  # the silence itself
        return api.reply(body={})

    (answer,) = Server(api).ask(known(entry(), timing=Timing(dry_run_seconds=1.0)), late)
    assert "answers other requests" in answer.silence


def test_one_that_is_silent_is_named_and_not_those_that_are_called_with_it(api: Any) -> None:
    """Nobody says who it was: with more time the dry run is admitted, so it was one whose silence is ignored."""

    def late(_request: Any) -> Any:
        time.sleep(2.5)  # the silence itself, longer than the timeout of the webhook
        return api.reply(body={})

    other = {"service": {"namespace": "x", "name": "slow"}}
    foreign = obj(
        VALIDATING,
        "foreign",
        webhooks=[entry("slow.example.com") | {"clientConfig": other, "failurePolicy": "Ignore", "timeoutSeconds": 2}],
    )
    found = known(entry(), more=(foreign,), timing=Timing(dry_run_seconds=1.0))
    own, of_others = Server(api).ask(found, late, api.reply(body={}))
    assert (own.silence, "Service x/slow" in own.unasked) == ("", True)
    assert (of_others.name, "failurePolicy Ignore" in of_others.silence) == ("slow.example.com", True)


def astray() -> Facts:
    """A webhook whose Service has a pod, and an address of somebody else beside it."""
    labels, at = {"app": "admission"}, {"namespace": "volcano-system"}
    backend = obj("Service", "volcano-system/admission", spec={"ports": [{"port": 443}], "selector": labels})
    served = pod("volcano-system/admission-x", metadata={"labels": labels})
    served["status"]["podIP"] = "10.0.0.1"
    other = obj(
        "EndpointSlice",
        "volcano-system/migration",
        metadata={"labels": {"kubernetes.io/service-name": "admission"}, **at},
        addressType="IPv4",
        endpoints=[{"addresses": ["10.9.9.9"]}],
    )
    return known(entry(), more=(backend, served, other))


def test_silence_of_a_backend_with_an_address_of_others_is_told_with_its_slice() -> None:
    outcome = webhooks_answer(replace(astray(), found={WEBHOOK_ANSWERS: (replace(HEARD, silence="i/o timeout"),)}))
    assert (outcome.status, outcome.changes) == (
        Status.FAIL,
        ("kubectl -n volcano-system delete endpointslice migration",),
    )
    assert "10.9.9.9" in outcome.todo


def test_without_the_right_nothing_is_sent(api: Any) -> None:
    (answer,) = Server(api, allowed=False).ask(known(entry()))
    assert answer.forbidden == Rule("create", "", "pods", "default")
    assert not [item for item in api.requests if item.path.endswith("/pods")]


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ({"failurePolicy": "Ignore"}, "requests are admitted if they do not answer (failurePolicy Ignore)"),
        ({"sideEffects": "Some"}, "sideEffects"),
        ({"matchConditions": [{"name": "x", "expression": "true"}]}, "matchConditions"),
        ({"namespaceSelector": {"matchLabels": {"nobody": "has"}}}, "no namespace"),
        ({"rules": []}, "no creation"),
        ({"rules": [{**entry()["rules"][0], "apiVersions": ["v9"]}]}, "no creation"),
    ],
)
def test_a_webhook_that_cannot_be_asked_says_why(api: Any, rest: dict[str, Any], why: str) -> None:
    (answer,) = Server(api).ask(known(entry(**rest)))
    assert why in answer.unasked


def test_a_webhook_that_stops_every_pod_is_a_warning() -> None:
    outcome = webhook_blast_radius(known(entry()))
    assert (outcome.status, outcome.reason, outcome.objects) == (Status.WARN, "StopsEveryPod", (OWNER,))


@pytest.mark.parametrize(
    "rest",
    [
        {"failurePolicy": "Ignore"},
        {"namespaceSelector": {"matchExpressions": [EXCLUDED], "matchLabels": {"team": "ml"}}},
        {"namespaceSelector": {"matchLabels": {"team": "ml"}}},
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        {"resource": "jobs"},
    ],
)
def test_one_that_fails_open_or_sees_only_who_asks_for_it_passes(rest: dict[str, Any]) -> None:
    assert webhook_blast_radius(known(entry(**rest))).status is Status.PASS


def test_one_that_leaves_only_kube_system_alone_stops_the_pods_of_others() -> None:
    outcome = webhook_blast_radius(known(entry(namespaceSelector={"matchExpressions": [EXCLUDED]})))
    assert (outcome.status, outcome.reason) == (Status.WARN, "StopsOthersPods")
    for word in ("w.example.com", "no pod", "unrelated namespaces"):
        assert word in outcome.message


def conversion(namespace: str, *versions: str) -> Object:
    found = crd("things.example.com", versions=versions or ("v1", "v2"))
    client = {"service": {"namespace": namespace, "name": "admission"}}
    found["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": client}}
    return found


BACKEND = obj("Service", "volcano-system/admission", spec={"ports": [{"port": 443}]})


def test_webhooks_with_services_pass() -> None:
    outcome = no_orphan_webhooks(known(entry(), more=(BACKEND, conversion("volcano-system"))))
    assert (outcome.status, len(outcome.objects)) == (Status.PASS, 2)


def test_orphans_fail_whoever_they_belong_to() -> None:
    call = {"service": {"namespace": "katib", "name": "katib"}}
    foreign = obj(VALIDATING, "katib", webhooks=[entry(clientConfig=call)])
    outcome = no_orphan_webhooks(known(entry(), more=(BACKEND, foreign)))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoService")
    assert "no namespace katib" in outcome.message
    assert [item.name for item in outcome.objects] == ["katib"]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"objectSelector": {"matchLabels": {"scan": "true"}}}, Status.WARN),
        (
            {"objectSelector": {"matchExpressions": [{"key": "scan", "operator": "NotIn", "values": ["no"]}]}},
            Status.FAIL,
        ),
        ({"failurePolicy": "Ignore"}, Status.WARN),
    ],
)
def test_an_orphan_of_others_that_holds_nobody_up_is_a_warning(more: dict[str, Any], status: Status) -> None:
    call = {"service": {"namespace": "scan", "name": "scan"}}
    foreign = obj(VALIDATING, "scan", webhooks=[entry(clientConfig=call, **more)])
    assert no_orphan_webhooks(known(entry(), more=(BACKEND, foreign))).status is status
    assert no_orphan_webhooks(known(entry(clientConfig=call, **more))).status is Status.FAIL


def test_a_conversion_of_one_version_is_never_called_and_a_warning() -> None:
    outcome = no_orphan_webhooks(known(more=(conversion("volcano-system", "v1"),)))
    assert (outcome.status, outcome.reason) == (Status.WARN, "NoService")
    assert outcome.changes[0].startswith("kubectl patch crd things.example.com ")


def test_a_conversion_without_service_is_an_orphan_too() -> None:
    outcome = no_orphan_webhooks(known(more=(conversion("volcano-system"),)))
    assert (outcome.status, outcome.changes) == (Status.FAIL, ())
    assert "CustomResourceDefinition things.example.com: " in outcome.message
    assert "Do not delete the CRD" in outcome.todo
    assert no_orphan_webhooks(known()).status is Status.SKIP
