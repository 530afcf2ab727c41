"""Webhooks in the way of requests: the ones that can refuse an object, as causes that other checks find broken."""

from __future__ import annotations

import re

from kubeflow_volcano.cluster.admission.webhooks import labelled_namespace
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS

LISTS = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)
"""Kinds of webhook configurations."""
_FAILED_CALL = re.compile(r'failed calling webhook "([^"]+)"')
"""How the API server says which webhook it could not ask (apiserver, admission/plugin/webhook/errors)."""


def webhook_ref(name: str) -> Ref:
    """One webhook as something that a finding breaks. Its name is unique among all configurations in practice."""
    return Ref("admissionregistration.k8s.io/v1", "Webhook", "", name)


def named_in(text: str) -> frozenset[Ref]:
    """The webhooks that could not be called, by the API server's message."""
    return frozenset(map(webhook_ref, _FAILED_CALL.findall(text)))


def in_the_way(facts: Facts, api_version: str, kind: str, plural: str, namespace: str = "") -> frozenset[Ref]:
    """The webhooks without whose answer no such object is created (failurePolicy Fail), as far as they were read."""
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"namespace": namespace, "name": ""}}
    space = next((item for item in facts.objects.get(NAMESPACES, ()) if item["metadata"]["name"] == namespace), None)
    where = labelled_namespace(space, namespace)
    return frozenset(
        webhook_ref(hook.name)
        for resource in LISTS
        for hook in entries(facts.objects.get(resource, ()))
        if hook.text.get("failurePolicy", "Fail") == "Fail"
        and hook.matches_rules(obj, plural)
        and hook.matches_namespace(where)
    )
