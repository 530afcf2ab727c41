"""Pull secrets: what a kubelet signs in with at registries, and how pods name it."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from kubeflow_volcano.cluster.objects import Object, new_object


def pull_secret(name: str, namespace: str, docker_config: str) -> Object:
    """The Secret; `docker_config` is the text of a Docker configuration."""
    data = {".dockerconfigjson": base64.b64encode(docker_config.encode()).decode()}
    return new_object("v1", "Secret", name, namespace, type="kubernetes.io/dockerconfigjson", data=data)


def refer(spec: Object, name: str) -> None:
    """Let the spec of a pod name that Secret, once, after the others that it names."""
    others: Sequence[Object] = spec.get("imagePullSecrets") or ()
    spec["imagePullSecrets"] = [*(item for item in others if item.get("name") != name), {"name": name}]
