"""Components that others installed: what of the release's manifests they do not have is not expected of them."""

from __future__ import annotations

from dataclasses import replace

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.core.expectations import Expectations


def without_absent(expectations: Expectations, cluster: Cluster) -> Expectations:
    """The same expectations without the workloads and webhooks of existing components that are not there.

    Others may name them differently, or put them elsewhere; those that are as in the release's manifests are judged
    like the release's. Volcano's scheduler stays expected: no gang starts without it.
    """
    theirs = expectations.existing
    if not theirs:
        return expectations
    asked = {
        ref
        for refs in (expectations.workloads, expectations.webhooks)
        for ref, component in refs.items()
        if component in theirs and ref != expectations.scheduler
    }
    absent = {ref for ref in asked if not _exists(cluster, ref)}
    workloads = {ref: component for ref, component in expectations.workloads.items() if ref not in absent}
    empty = {ref.namespace for ref in absent if ref.namespace} - {ref.namespace for ref in workloads}
    return replace(
        expectations,
        workloads=workloads,
        webhooks={ref: component for ref, component in expectations.webhooks.items() if ref not in absent},
        namespaces=expectations.namespaces - empty,
    )


def _exists(cluster: Cluster, ref: Ref) -> bool:
    """Whether it is there; also if it may not be read: the checks that read it say so."""
    try:
        fields = f"metadata.name={ref.name}"
        return bool(cluster.list(ref.api_version, ref.kind, namespace=ref.namespace, fields=fields, brief=True).items)
    except ApiError:
        return True
