"""A small catalog of images that are gone, so that tests of what follows from it need not follow the real one."""

from __future__ import annotations

from kubeflow_volcano.catalog.images.tables import Gone

_SINCE = (("1.6.1", "1.9.1"), "2025-11", "kubeflow/pipelines#12422")

GONE = (
    Gone("gcr.io/kubebuilder/kube-rbac-proxy", "quay.io/brancz/kube-rbac-proxy:{tag}", *_SINCE, program="same"),
    Gone("gcr.io/arrikto/istio/pilot", "docker.io/istio/pilot:1.14.1", *_SINCE, program="same"),
    Gone("gcr.io/ml-pipeline/minio", "docker.io/minio/minio:{tag}", *_SINCE, "-license-compliance", program="same"),
    Gone("gcr.io/ml-pipeline/api-server", "ghcr.io/kubeflow/kfp-api-server:2.4.0", *_SINCE, "", ("2.3.0",), "later"),
    Gone("gcr.io/ml-pipeline/*", None, *_SINCE),
)
"""Replaced by the same version, by a fixed one, without the end of the tag, by a later one; and not at all."""
