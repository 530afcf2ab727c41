"""Logins at registries for probe pods: a Secret in their namespace, which they name as pull secret."""

from __future__ import annotations

import copy

from kubeflow_volcano.cluster.objects import Object, pod_specs
from kubeflow_volcano.cluster.pods.pull_secrets import refer


def with_pull_secret(obj: Object, name: str) -> Object:
    """The object with that pull secret in all its pods, templates included; the same object if it has none."""
    if not any(pod_specs(obj)):
        return obj
    obj = copy.deepcopy(obj)
    for spec in pod_specs(obj):
        refer(spec, name)
    return obj
