"""Backends of webhooks that are started anew, so that they are trusted for what they serve."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeflow_volcano.apply.waiting.trust import restart_for_certificates
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent

JOB = Ref("batch/v1", "Job", "sys", "issue")


def objects(secret: str, *declared: str, namespace: str = "sys") -> list[Object]:
    pod = {"metadata": {"labels": {"app": "hook"}}, "spec": {"volumes": [{"secret": {"secretName": secret}}]}}
    meta = {"name": "svc", "namespace": namespace}
    client = {"service": {"namespace": namespace, "name": "svc"}}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**meta, "name": "hook"},
            "spec": {"template": pod},
        },
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": {"app": "hook"}}},
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hooks"},
            "webhooks": [{"name": name, "clientConfig": client, "rules": []} for name in ("a.io", "b.io")],
        },
        *({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "sys"}} for name in declared),
    ]


@pytest.fixture
def served(api: Any) -> Any:
    deployments, job = "/apis/apps/v1/namespaces/sys/deployments/hook", "/apis/batch/v1/namespaces/sys/jobs/issue"
    for group, kind, plural in (("batch", "Job", "jobs"), ("apps", "Deployment", "deployments")):
        kinds = {"resources": [{"kind": kind, "name": plural, "namespaced": True}]}
        api.on("GET", f"/apis/{group}/v1", api.reply(body=kinds))
    api.on("GET", job, api.reply(body={"metadata": {"name": "issue", "uid": "u-1"}}))
    live = {**objects("made")[0], "metadata": {"name": "hook", "namespace": "sys", "uid": "u-2"}}
    api.on("GET", deployments, api.reply(body=live))
    api.on("PATCH", deployments, api.reply(body=live))
    return api


def test_a_backend_is_started_anew_once_for_a_job_that_may_have_made_its_certificate(served: Any) -> None:
    done = restart_for_certificates(served.connect(), [JOB], objects("made", "other"), silent)
    assert [item.ref.name for item in done] == ["hook"]
    (patch,) = served.seen("PATCH", "/apis/apps/v1/namespaces/sys/deployments/hook")
    assert "u-1" in json.dumps(patch.body)


@pytest.mark.parametrize(
    ("jobs", "found"),
    [
        ([], objects("made")),
        ([JOB], objects("made", "made")),
        ([JOB], objects("made", namespace="elsewhere")),
    ],
    ids=["no Job ran again", "its Secret is declared", "it lives elsewhere"],
)
def test_other_backends_stay(served: Any, jobs: list[Ref], found: list[Object]) -> None:
    assert restart_for_certificates(served.connect(), jobs, found, silent) == ()
