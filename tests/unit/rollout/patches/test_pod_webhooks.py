"""Volcano's webhooks on pods: what becomes of everybody's pods while its admission is down."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.webhooks import labelled_namespace, webhooks
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import parse

EXCLUDED = [
    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["volcano-system", "kube-system"]},
]


def configuration(resource: str, kind: str = "Mutating") -> dict[str, Any]:
    hook = {
        "name": f"{resource}.volcano.sh",
        "failurePolicy": "Fail",
        "namespaceSelector": {"matchExpressions": EXCLUDED},
        "clientConfig": {"service": {"name": "volcano-admission-service", "namespace": "volcano-system"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": f"volcano-admission-service-{resource}"},
        "webhooks": [hook],
    }


HOOKS = [configuration("pods"), configuration("pods", "Validating"), configuration("jobs"), configuration("podgroups")]


def policies(**variables: Any) -> list[str]:
    return [hook.text["failurePolicy"] for hook in webhooks(patched(HOOKS, "volcano", parse(variables)))]


def test_by_default_nobodys_pods_wait_for_volcano_and_its_own_kinds_still_do() -> None:
    assert policies() == ["Ignore", "Ignore", "Fail", "Fail"]


def test_upstreams_policy_may_be_asked_for() -> None:
    assert policies(volcano_pod_webhook_failure_policy="Fail") == ["Fail"] * 4


@pytest.mark.parametrize(
    ("name", "labels", "seen"),
    [
        ("team-a", {"volcano": "yes"}, True),
        ("team-b", {}, False),
        ("team-c", {"volcano": "no"}, False),
        ("kube-system", {"volcano": "yes"}, False),
    ],
)
def test_with_labels_only_such_namespaces_are_seen_and_those_left_out_stay_out(
    name: str, labels: dict[str, str], *, seen: bool
) -> None:
    given = parse({"volcano_pod_webhook_namespace_labels": {"volcano": "yes"}})
    namespace = labelled_namespace({"metadata": {"labels": labels}}, name)
    of_pods, _, of_jobs, _ = webhooks(patched(HOOKS, "volcano", given))
    assert of_pods.matches_namespace(namespace) is seen
    assert of_jobs.matches_namespace(namespace) is (name != "kube-system")


def test_a_volcano_without_webhooks_on_pods_stays_as_it_is() -> None:
    rest = HOOKS[2:]
    variables = {"volcano_pod_webhook_namespace_labels": {"a": "b"}}
    assert list(patched(rest, "volcano", parse(variables))) == rest
