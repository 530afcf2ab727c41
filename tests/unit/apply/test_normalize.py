"""What is declared of an object, and what is left to others."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from kubeflow_volcano.apply.normalize import normalize
from kubeflow_volcano.cluster.objects import Object, new_object

REAL = base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()


def hooks(bundle: str | None, **annotations: str) -> Object:
    config: dict[str, Any] = {"service": {"name": "s", "namespace": "n"}}
    if bundle is not None:
        config["caBundle"] = bundle
    return new_object(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "w",
        meta={"annotations": annotations},
        webhooks=[{"name": "one", "clientConfig": config}],
    )


@pytest.mark.parametrize("bundle", ["", "Cg==", "\n", " ", base64.b64encode(b" \n ").decode()])
def test_placeholders_of_a_ca_are_not_declared(bundle: str) -> None:
    (hook,) = normalize(hooks(bundle))["webhooks"]
    assert hook["clientConfig"] == {"service": {"name": "s", "namespace": "n"}}


def test_a_real_ca_is_declared_unless_an_injector_writes_it() -> None:
    assert normalize(hooks(REAL))["webhooks"][0]["clientConfig"]["caBundle"] == REAL
    injected = normalize(hooks(REAL, **{"cert-manager.io/inject-ca-from": "n/c"}))
    assert "caBundle" not in injected["webhooks"][0]["clientConfig"]


def test_the_ca_of_a_conversion_is_treated_likewise() -> None:
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "Cg==", "url": "u"}}}
    crd = new_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "c",
        meta={"creationTimestamp": None},
        spec={"group": "g", "conversion": conversion},
        status={"conditions": []},
    )
    before = copy.deepcopy(crd)
    done = normalize(crd)
    assert done["spec"] == {
        "group": "g",
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "u"}}},
    }
    assert done["metadata"] == {"name": "c"}
    assert "status" not in done
    assert crd == before


def test_plain_values_of_a_secret_become_data() -> None:
    secret: Object = new_object("v1", "Secret", "s", data={"a": "Zm9v\nYmFy\n"}, stringData={"b": "plain"})
    done = normalize(secret)
    assert done["data"] == {"a": "Zm9vYmFy", "b": base64.b64encode(b"plain").decode()}
    assert "stringData" not in done


def test_rules_of_an_aggregated_role_are_left_to_its_controller() -> None:
    role: Object = new_object("rbac.authorization.k8s.io/v1", "ClusterRole", "r", rules=[])
    assert normalize(role)["rules"] == []
    assert "rules" not in normalize({**role, "aggregationRule": {"clusterRoleSelectors": []}})


def test_a_custom_object_keeps_its_status() -> None:
    custom: Object = {"apiVersion": "g.io/v1", "kind": "Foo", "metadata": {"name": "f"}, "status": {"x": 1}}
    assert normalize(custom) == custom
