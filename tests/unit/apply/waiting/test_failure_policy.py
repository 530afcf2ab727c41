"""Webhook configurations that come fail closed only when their backend is ready."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.apply.waiting.failure_policy import ComingWebhooks, ignoring
from kubeflow_volcano.cluster.objects import Object, Ref, new_object

BACKEND = Ref("apps/v1", "Deployment", "sys", "back")


def configuration(**policies: str | None) -> Object:
    hooks = [
        {"name": name, "rules": [{"apiGroups": [""], "resources": ["pods"]}]}
        | ({"failurePolicy": policy} if policy else {})
        for name, policy in policies.items()
    ]
    return new_object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "hooks", webhooks=hooks)


REF = Ref.of(configuration())


def policies(obj: Object | None) -> dict[str, Any]:
    return {hook["name"]: hook.get("failurePolicy") for hook in (obj or {}).get("webhooks", ())}


@pytest.mark.parametrize(
    ("declared", "live", "sent"),
    [
        ({"a": "Fail"}, None, {"a": "Ignore"}),
        ({"a": None, "b": "Ignore"}, None, {"a": "Ignore", "b": "Ignore"}),
        ({"a": "Fail", "b": "Fail"}, {"a": "Fail"}, {"a": "Fail", "b": "Ignore"}),
        ({"a": "Fail"}, {"a": "Ignore"}, {"a": "Ignore"}),
        ({"a": "Fail", "b": "Ignore"}, {"a": "Fail"}, {}),
        ({"b": "Ignore"}, None, {}),
    ],
)
def test_what_comes_ignores_failures_and_what_fails_closed_goes_on_doing_so(
    declared: dict[str, str | None], live: dict[str, str | None] | None, sent: dict[str, str]
) -> None:
    text = configuration(**declared)
    assert policies(ignoring(text, configuration(**live) if live is not None else None)) == sent
    assert policies(text) == declared


@pytest.mark.parametrize(
    ("resources", "differs"),
    [(["jobs"], False), (["jobs", "jobs/status"], False), (["jobs", "others"], True), (["*"], True)],
)
def test_kinds_that_come_with_the_run_have_no_users(resources: list[str], *, differs: bool) -> None:
    text = configuration(a="Fail")
    text["webhooks"][0]["rules"] = [{"apiGroups": ["batch.example"], "resources": resources}]
    assert bool(ignoring(text, None, {("batch.example", "jobs")})) is differs


class Server:
    """Keeps what is sent."""

    def __init__(self, live: Object | None, refuse: Callable[[Object], bool]) -> None:
        self.live = live
        self.refuse = refuse
        self.sent: list[dict[str, Any]] = []

    def get(self, _: Ref) -> Object | None:
        return self.live

    def apply(self, obj: Object, found: Found) -> ObjectOutcome:
        assert found.live is self.live
        if self.refuse(obj):
            return ObjectOutcome(REF, Action.FAILED, None, None, "denied")
        self.sent.append(policies(obj))
        before, self.live = self.live, obj
        action = Action.UNCHANGED if before == obj else Action.CHANGED if before else Action.CREATED
        return ObjectOutcome(REF, action, before, obj)


def coming(
    server: Server, *, ready: bool = False, declared: Object, backend: Presence = Presence.UP_TO_DATE
) -> ComingWebhooks:
    found = {REF: Found(Presence.DIFFERS, server.live), BACKEND: Found(backend, ready=ready)}
    cluster: Any = SimpleNamespace(get=server.get)
    return ComingWebhooks(cluster, {REF: declared}, found, {REF: [BACKEND]}, server.apply)


@pytest.mark.parametrize("live", [None, configuration(a="Ignore"), configuration(b="Fail")], ids=str)
def test_it_is_sent_twice_and_told_once(live: Object | None) -> None:
    server, declared = Server(live, lambda _: False), configuration(a="Fail")
    hooks = coming(server, declared=declared)
    first = hooks.send(declared, Found(Presence.DIFFERS, live))
    assert first
    assert hooks.left_open == (REF,)
    last = hooks.close(REF)
    assert last
    assert server.sent == [{"a": "Ignore"}, {"a": "Fail"}]
    assert (last.action, last.before, last.after) == (Action.CHANGED if live else Action.CREATED, live, declared)
    assert not hooks.left_open
    assert hooks.close(REF) is None


@pytest.mark.parametrize(("backend", "ready", "twice"), [("up to date", True, False), ("differs", True, True)])
def test_only_a_backend_that_is_not_ready_delays_it(backend: str, *, ready: bool, twice: bool) -> None:
    server, declared = Server(None, lambda _: False), configuration(a="Fail")
    hooks = coming(server, ready=ready, declared=declared, backend=Presence(backend))
    assert bool(hooks.send(declared, Found(Presence.ABSENT))) is twice


def test_a_refusal_is_the_outcome() -> None:
    server, declared = Server(None, lambda obj: policies(obj)["a"] == "Fail"), configuration(a="Fail")
    hooks = coming(server, declared=declared)
    assert hooks.send(declared, Found(Presence.ABSENT))
    last = hooks.close(REF)
    assert last
    assert (last.action, last.reason) == (Action.FAILED, "denied")
