"""The certificates that webhook backends serve with."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from validators.core.facts import Facts
from validators.subjects import webhooks

__all__ = ["certificates"]


def certificates(cluster: Cluster, facts: Facts) -> Mapping[Ref, bytes]:
    """Public certificates that webhook backends serve with, from the Secrets that their pods mount. No key is kept."""
    simulated = {ref for item in facts.simulated_webhooks for ref in item.services}
    services = {
        ref
        for item in webhooks.configurations(facts)
        for entry in item.get("webhooks") or ()
        if (ref := webhooks.service_of(entry)) and ref not in simulated
    }
    found = {ref: _certificate(cluster, facts, ref) for ref in sorted(services)}
    return {ref: pem for ref, pem in found.items() if pem}


def _certificate(cluster: Cluster, facts: Facts, ref: Ref) -> bytes:
    service = facts.get("services", ref.namespace, ref.name)
    selector = ((service or {}).get("spec", {}).get("selector") or {}).items()
    names = {
        volume["secret"]["secretName"]
        for pod in facts.all("pods")
        if selector
        and pod["metadata"]["namespace"] == ref.namespace
        and selector <= (pod["metadata"].get("labels") or {}).items()
        for volume in pod["spec"].get("volumes") or ()
        if "secret" in volume
    }
    for name in sorted(names):
        secret = cluster.get(Ref("v1", "Secret", ref.namespace, name)) or {}
        if pem := webhooks.decoded((secret.get("data") or {}).get("tls.crt", "")):
            return pem
    return b""
