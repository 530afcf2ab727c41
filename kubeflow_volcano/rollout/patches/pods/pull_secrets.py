"""Pull secrets: a Secret with the logins in each namespace with pods, named by their templates.

Templates rather than ServiceAccounts: the pull secrets of a template are merged by name, so that others may add theirs,
and of a ServiceAccount they are one list, which the next roll-out would take from other controllers that wrote it, such
as those of OpenShift. A changed template also replaces the pods that wait for their image, which a changed
ServiceAccount does not.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.pods.templates import is_helper, pod_spec, with_helper
from kubeflow_volcano.rollout.settings.pods.credentials import authorizations, docker_config
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["add_pull_secrets", "secret_name"]


def secret_name(component: str) -> str:
    """The name of a component's Secret. Each has its own, which is uninstalled with it."""
    return f"{component}-registries"


def add_pull_secrets(objects: list[Object], component: str, settings: Settings) -> None:
    """Give every pod of the component the logins, and add the Secrets with them before the workloads."""
    if not settings.credentials:
        return
    name = secret_name(component)
    namespaces: dict[str, int] = {}
    for number, obj in enumerate(objects):
        for spec in with_helper(obj) if is_helper(obj) else filter(None, (pod_spec(obj),)):
            _refer(spec, name)
            namespaces.setdefault(obj["metadata"]["namespace"], number)
    for namespace, number in reversed(namespaces.items()):
        objects.insert(number, _secret(name, namespace, settings))


def _refer(spec: Object, name: str) -> None:
    others: Sequence[Object] = spec.get("imagePullSecrets") or ()
    spec["imagePullSecrets"] = [*(item for item in others if item.get("name") != name), {"name": name}]


def _secret(name: str, namespace: str, settings: Settings) -> Object:
    text = docker_config(authorizations(settings.credentials))
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(text.encode()).decode()},
    }
