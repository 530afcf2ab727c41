"""The domains under which objects name Services."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.service_domains import named_domains

CONFIG = Ref("v1", "ConfigMap", "auth", "dex")


def config(text: str, key: str = "config.yaml", kind: str = "ConfigMap") -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "dex", "namespace": "auth"}, "data": {key: text}}


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("issuer: http://dex.auth.svc.cluster.local:5556/dex\n", "cluster.local"),
        ('"dex.auth.svc.k8s.corp."', "k8s.corp"),
        ("*.auth.svc.local", "local"),
    ],
)
def test_full_names_of_services_have_a_domain(text: str, domain: str) -> None:
    assert named_domains([config(text)], {"auth"}) == {domain: [CONFIG]}


@pytest.mark.parametrize(
    "obj",
    [
        config("dex.auth.svc:5556 dex.auth"),
        config("https://sign-in.svc.example.com/ https://a.prod.svc.example.com"),
        config("$(POD_NAMESPACE).svc.cluster.local"),
        config("cluster.local/ns/auth/sa/dex"),
        config("dex.auth.svc.cluster.local", key="_example"),
        config("dex.auth.svc.cluster.local", kind="CustomResourceDefinition"),
    ],
)
def test_short_names_hosts_of_others_identities_and_examples_have_none(obj: Any) -> None:
    assert named_domains([obj], {"auth"}) == {}
