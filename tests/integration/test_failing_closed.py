"""A webhook whose backend does not start refuses nothing, on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.rehearsal.inside.placement import SIMULATED_LABEL, TOLERATION
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SPACE = "kfv-failing-closed"
HOOK = Ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", SPACE)


def namespace() -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}


def service() -> Object:
    spec = {"selector": {"app": "back"}, "ports": [{"port": 443}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "back", "namespace": SPACE}, "spec": spec}


def backend(**pod: Any) -> Object:
    labels = {"app": "back"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}], **pod}}
    return new_object(
        "apps/v1", "Deployment", "back", SPACE, spec={"selector": {"matchLabels": labels}, "template": template}
    )


def configuration() -> Object:
    rule = {
        "apiGroups": ["coordination.k8s.io"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["leases"],
    }
    hook = {
        "name": "leases.kubeflow-volcano.test",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": SPACE, "name": "back", "path": "/"}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SPACE}},
        "rules": [{**rule, "scope": "Namespaced"}],
        "sideEffects": "None",
        "timeoutSeconds": 1,
    }
    return new_object(HOOK.api_version, HOOK.kind, HOOK.name, webhooks=[{**hook, "failurePolicy": "Fail"}])


@pytest.fixture(autouse=True)
def clean(cluster: Cluster) -> Iterator[None]:
    yield
    for ref in (HOOK, Ref.of(namespace())):
        if live := cluster.get(ref):
            cluster.delete(ref, uid=live["metadata"]["uid"])
    until(lambda: cluster.get(Ref.of(namespace())) is None, 60)


def apply(cluster: Cluster, *objects: Object, seconds: float) -> tuple[ApplyResult, list[str]]:
    said: list[str] = []
    engine = Engine(cluster, {"part": objects}, {}, deadline=Deadline(seconds), progress=said.append, check=False)
    if engine.apply():
        engine.finish()
    return engine.result(), said


def policy(cluster: Cluster) -> str:
    live = cluster.get(HOOK)
    assert live is not None
    found: str = live["webhooks"][0]["failurePolicy"]
    return found


def lease(name: str) -> Object:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": SPACE}}


def test_a_webhook_fails_closed_only_after_its_backend_is_ready(cluster: Cluster) -> None:
    others, ours = (namespace(), service(), configuration()), lease("ours")
    stuck = backend(nodeSelector={"kfv-test": "nowhere"})
    result, said = apply(cluster, *others, stuck, ours, seconds=6)
    assert [str(Ref.of(stuck)) in problem.found for problem in result.problems] == [True]
    assert {item.ref: item.action for item in result.outcomes}[Ref.of(ours)] is Action.HELD
    assert policy(cluster) == "Ignore"
    assert any(f"{HOOK} ignores failures" in line for line in said), said
    cluster.create(lease("while-it-starts"))

    running = backend(tolerations=[TOLERATION], nodeSelector={SIMULATED_LABEL: "true"})
    result, _ = apply(cluster, *others, running, ours, seconds=30)
    assert not result.problems
    assert policy(cluster) == "Fail"
    done = {item.ref: item.action for item in result.outcomes}
    assert len(done) == len(result.outcomes)
    assert (done[HOOK], done[Ref.of(ours)]) == (Action.CHANGED, Action.CREATED)
    assert not apply(cluster, *others, running, ours, seconds=30)[0].changed
