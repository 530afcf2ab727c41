"""The Secrets of cert-manager's Certificates; no key is kept."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from validators.core.facts import Facts, TlsSecret
from validators.subjects.certificates import RESOURCE, secret_of
from validators.subjects.troubles import judged
from validators.subjects.webhooks import decoded

__all__ = ["tls_secrets"]


def tls_secrets(cluster: Cluster, facts: Facts) -> Mapping[Ref, TlsSecret]:
    """By the reference of the Secret, those that exist.

    Raises:
        ApiError: one of them may not be read.
    """
    refs = sorted({secret_of(item) for item in judged(facts, RESOURCE)})
    found: dict[Ref, TlsSecret] = {}
    for ref in refs if "cert-manager" in facts.expectations.components else ():
        if secret := cluster.get(ref):
            data = secret.get("data") or {}
            found[ref] = TlsSecret(frozenset(data), decoded(data.get("tls.crt", "")))
    return found
