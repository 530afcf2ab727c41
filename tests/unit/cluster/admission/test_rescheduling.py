"""Who gives pods another scheduler: what a dry run returns, and the webhooks that are called for such a pod."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.rescheduling import Rescheduling, rescheduling
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object

KIND = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
POD: Object = new_object("v1", "Pod", "a", "lab", spec={"schedulerName": "volcano"})


def configuration(name: str, *, resource: str = "pods", space: str = "lab") -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": space}}
    hook = {"name": f"{name}.example.com", "rules": [rule], "namespaceSelector": chosen}
    return {"apiVersion": KIND[0], "kind": KIND[1], "metadata": {"name": name}, "webhooks": [hook]}


def asked(given: str, *configurations: Object, refusal: ApiError | None = None) -> Rescheduling | None:
    def create(obj: Object, **_: Any) -> Object:
        if refusal:
            raise refusal
        return {**obj, "spec": {"schedulerName": given}}

    cluster: Any = SimpleNamespace(
        create=create, list=lambda *_: SimpleNamespace(items=configurations), get=lambda _: None
    )
    return rescheduling(cluster, POD)


def test_the_webhooks_that_are_called_for_the_pod_are_named() -> None:
    found = asked("other", configuration("a"), configuration("b", resource="jobs"), configuration("c", space="x"))
    assert found == Rescheduling("volcano", "other", (Ref(*KIND, "", "a"),))


@pytest.mark.parametrize("refusal", [None, ApiError(403, "Forbidden", "no")])
def test_a_pod_that_keeps_its_scheduler_or_is_refused_tells_nothing(refusal: ApiError | None) -> None:
    assert asked("volcano", configuration("a"), refusal=refusal) is None
