"""Which silence of a webhook counts."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.apply.waiting import webhooks as answering
from kubeflow_volcano.apply.waiting.webhooks import wait_for_webhooks
from kubeflow_volcano.cluster.objects import Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent

HOOK = Ref("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "hook")
PATH = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hook"
PODS = "/api/v1/namespaces/default/pods"


def serve(api: Any, annotations: dict[str, str] | None = None, **entry: Any) -> None:
    kinds = [{"kind": HOOK.kind, "name": "mutatingwebhookconfigurations", "namespaced": False}]
    api.on("GET", "/apis/admissionregistration.k8s.io/v1", api.reply(body={"resources": kinds}))
    names = [{"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}} for name in ("a", "default")]
    api.on("GET", "/api/v1/namespaces", api.reply(body={"metadata": {"resourceVersion": "1"}, "items": names}))
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    text = {
        "name": "w.example.com",
        "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "sys", "name": "svc"}},
        "rules": [rule],
        **entry,
    }
    body = new_object(HOOK.api_version, HOOK.kind, "hook", meta={"annotations": annotations or {}}, webhooks=[text])
    api.on("GET", PATH, api.reply(body=body))


def ask(api: Any, seconds: float = 3) -> tuple[Any, ...]:
    return wait_for_webhooks(api.connect(), [HOOK], Deadline(seconds), silent)


LIST = {"resourceVersion": "1"}
SERVICE = new_object("v1", "Service", "svc", "sys", spec={"selector": {"app": "back"}})
BACKEND = {
    "metadata": {"name": "back", "namespace": "sys"},
    "spec": {"template": {"metadata": {"labels": {"app": "back", "more": "x"}}}},
}
DOWN = (500, "InternalError", 'failed calling webhook "w.example.com": connection refused')


def test_an_answer_is_an_answer_even_when_it_refuses(api: Any) -> None:
    serve(api)
    denied = api.status(403, "Forbidden", 'admission webhook "w.example.com" denied the request')
    for answer in (api.reply(201, {}), denied):
        api.on("POST", PODS, answer)
        assert ask(api) == ()
    assert {request.query["dryRun"] for request in api.seen("POST", PODS)} == {"All"}


@pytest.mark.parametrize(("there", "method"), [(False, "PATCH"), (True, "POST")])
def test_a_custom_resource_is_applied_unless_it_is_there(api: Any, there: bool, method: str) -> None:  # noqa: FBT001
    rule = {"operations": ["CREATE"], "apiGroups": ["g.io"], "apiVersions": ["v1"], "resources": ["foos"]}
    serve(api, rules=[rule])
    kinds = [{"kind": "Foo", "name": "foos", "namespaced": True}]
    api.on("GET", "/apis/g.io/v1", api.reply(body={"resources": kinds}))
    foo = {"apiVersion": "g.io/v1", "kind": "Foo", "metadata": {"name": "one", "namespace": "a"}}
    many = "/apis/g.io/v1/namespaces/a/foos"
    paths = {"POST": many, "PATCH": f"{many}/one"}
    if there:
        api.on("GET", paths["PATCH"], api.reply(body=foo))
    api.on(method, paths[method], api.status(*DOWN), api.reply(201, {}))
    cluster = api.connect()
    cluster.kinds("g.io/v1")
    assert wait_for_webhooks(cluster, [HOOK], Deadline(20), silent, [foo]) == ()
    asked = api.seen(method, paths[method])
    assert len(asked) == 2
    assert {request.query["dryRun"] for request in asked} == {"All"}


def test_silence_is_waited_for(api: Any) -> None:
    serve(api)
    api.on("POST", PODS, api.status(*DOWN), api.status(*DOWN), api.reply(201, {}))
    assert ask(api, 20) == ()


def test_lasting_silence_is_a_problem_with_its_service(api: Any) -> None:
    serve(api)
    api.on("POST", PODS, api.status(*DOWN))
    (problem,) = ask(api, 1)
    assert "w.example.com" in problem.found
    assert "sys/svc" in problem.needed


def test_an_untrusted_certificate_ends_the_wait_early_with_the_way_out(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "_PATIENCE_SECONDS", 0.5)
    serve(api)
    api.on("POST", PODS, api.status(500, "InternalError", 'failed calling webhook "w.example.com": x509: unknown'))
    api.on("GET", "/api/v1/namespaces/sys/services/svc", api.reply(body=SERVICE))
    api.on("GET", "/apis/apps/v1/namespaces/sys/deployments", api.reply(body={"metadata": LIST, "items": [BACKEND]}))
    (problem,) = ask(api, 3600)
    assert "kubectl rollout restart -n sys deployment/back" in problem.todo


UNTRUSTED = (500, "InternalError", 'failed calling webhook "w.example.com": x509: unknown')
BY_CERT_MANAGER = {"cert-manager.io/inject-ca-from": "sys/serving"}


def test_an_authority_that_cert_manager_writes_is_waited_for_longer(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_PATIENCE_SECONDS", 0.5)
    serve(api, BY_CERT_MANAGER)
    api.on("POST", PODS, *[api.status(*UNTRUSTED)] * 3, api.reply(201, {}))
    assert ask(api, 20) == ()


def test_an_authority_that_cert_manager_never_writes_is_told_with_its_certificate(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "_INJECTION_SECONDS", 0.5)
    serve(api, BY_CERT_MANAGER)
    api.on("POST", PODS, api.status(*UNTRUSTED))
    (problem,) = ask(api, 3600)
    assert "kubectl describe certificate -n sys serving" in problem.todo
    assert "rollout restart" not in problem.todo


def test_one_silence_is_told_once_whoever_meets_it(api: Any) -> None:
    serve(api)
    api.on("POST", PODS, api.status(500, "InternalError", 'failed calling webhook "other.example.com": refused'))
    cluster = api.connect()
    (problem,) = wait_for_webhooks(cluster, [HOOK, HOOK], Deadline(1), silent)
    assert "other.example.com" in problem.found


@pytest.mark.parametrize(
    "entry",
    [
        {"failurePolicy": "Ignore"},
        {"sideEffects": "Unknown"},
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        {"namespaceSelector": {"matchLabels": {"nobody": "has this"}}},
        {"rules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]},
    ],
)
def test_what_cannot_be_asked_is_not_asked(api: Any, entry: dict[str, Any]) -> None:
    serve(api, **entry)
    assert ask(api) == ()
    assert not [request for request in api.requests if request.method == "POST"]


def test_a_namespace_that_the_webhook_watches_is_used(api: Any) -> None:
    rule = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}
    serve(api, namespaceSelector={"matchExpressions": [rule]})
    api.on("POST", "/api/v1/namespaces/a/pods", api.reply(201, {}))
    assert ask(api) == ()
    assert len(api.seen("POST", "/api/v1/namespaces/a/pods")) == 1
