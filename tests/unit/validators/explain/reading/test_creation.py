"""Pods as admission would change them: what is said where dry runs of them do not tell it."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.expectations import SCHEDULER, Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.creation.refusals import ADMISSION
from kubeflow_volcano.validators.explain.kinds import KINDS
from kubeflow_volcano.validators.explain.model import Situation
from kubeflow_volcano.validators.explain.reading import creation
from kubeflow_volcano.validators.explain.reading.queries import KINDS_READ
from kubeflow_volcano.validators.explain.reading.situation import assemble
from tests.samples.facts import NOW
from tests.samples.jobs import tfjob

TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def waiting() -> Situation:
    """A job without any pod."""
    facts = Facts(Expectations(scheduler=SCHEDULER), NOW, objects=dict.fromkeys(KINDS_READ, ()))
    return assemble(KINDS["TFJob"], tfjob(), facts)


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def test_templates_are_judged_as_admission_changes_them(api: Any) -> None:
    before = waiting()

    def changed(request: Any) -> Any:
        assert request.query["dryRun"] == "All"
        spec: Object = {**request.body["spec"], "tolerations": [TOLERATION]}
        return api.reply(201, {**request.body, "spec": spec})

    api.on("POST", pods(before.job.ref.namespace), changed)
    found = creation.with_admission(api.connect(), before)
    assert [role.template["spec"]["tolerations"] for role in found.job.roles] == [[TOLERATION]]
    assert ADMISSION.name not in found.facts.unread


def test_a_dry_run_without_an_answer_is_told(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = waiting()
    monkeypatch.setattr(creation, "_DRY_RUN_SECONDS", 0.3)
    api.on("POST", pods(before.job.ref.namespace), api.reply(reset=True))
    found = creation.with_admission(api.connect(), before)
    assert found.job == before.job
    why = found.facts.unread[ADMISSION.name]
    assert why.reason == "Unreachable"
    assert why.message.startswith("pods after admission ")


def test_a_caller_who_may_not_create_pods_is_told_what_to_grant(api: Any) -> None:
    before = waiting()
    space = before.job.ref.namespace
    text = (
        f'pods is forbidden: User "somebody" cannot create resource "pods" in API group "" in the namespace "{space}"'
    )
    api.on("POST", pods(space), api.status(403, "Forbidden", text))
    why = creation.with_admission(api.connect(), before).facts.unread[ADMISSION.name]
    assert why.reason == "Forbidden"
    assert f"create pods in {space}" in why.message
