"""Objects that our components' own programs made: they keep neither a namespace nor a CRD."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Object

_CERTIFICATE = "cert-manager.io/certificate-name"
"""Annotation of cert-manager on a Secret that it issued for a Certificate."""

# Read from the sources of each: istio pilot/pkg (namespace controller, CA), volcano installer/dockerfile/
# webhook-manager/gen-admission-secret.sh and pkg/scheduler/cache, pkg/controllers/queue, cert-manager
# pkg/webhook/authority, kubeflow/pipelines backend/src/cache/deployer, katib pkg/certgenerator.
_MADE = frozenset(
    {
        ("ConfigMap", "istio-ca-root-cert"),
        ("ConfigMap", "istio-gateway-status-leader"),
        ("ConfigMap", "istio-leader"),
        ("ConfigMap", "istio-namespace-controller-election"),
        ("Queue", "default"),
        ("Queue", "root"),
        ("Secret", "cert-manager-webhook-ca"),
        ("Secret", "istio-ca-secret"),
        ("Secret", "katib-webhook-cert"),
        ("Secret", "volcano-admission-secret"),
        ("Secret", "webhook-server-tls"),
    }
)


def is_derived(live: Object) -> bool:
    """Whether a program of our components made the object, and makes it again; given by its metadata."""
    meta = live["metadata"]
    if live["kind"] == "Secret" and _CERTIFICATE in (meta.get("annotations") or {}):
        return True
    return (live["kind"], meta["name"]) in _MADE
