"""Logins at registries for probe pods: a Secret in their namespace, which they name as pull secret."""

from __future__ import annotations

import base64
import copy

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.fitting import pod_specs

__all__ = ["login_secret", "with_pull_secret"]


def login_secret(name: str, namespace: str, docker_config: str) -> Object:
    """The Secret; `docker_config` is the text of a Docker configuration."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(docker_config.encode()).decode()},
    }


def with_pull_secret(obj: Object, name: str) -> Object:
    """The object with that pull secret in all its pods, templates included; the same object if it has none."""
    if not any(pod_specs(obj)):
        return obj
    obj = copy.deepcopy(obj)
    for spec in pod_specs(obj):
        spec["imagePullSecrets"] = [*(spec.get("imagePullSecrets") or ()), {"name": name}]
    return obj
