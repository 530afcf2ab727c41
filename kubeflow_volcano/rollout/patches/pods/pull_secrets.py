"""Pull secrets: a Secret with the logins in each namespace with pods, named by their templates.

Templates rather than ServiceAccounts: the pull secrets of a template are merged by name, so that others may add theirs,
and of a ServiceAccount they are one list, which the next roll-out would take from other controllers that wrote it, such
as those of OpenShift. A changed template also replaces the pods that wait for their image, which a changed
ServiceAccount does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.pull_secrets import pull_secret, refer
from kubeflow_volcano.rollout.patches.pods.templates import is_helper, pod_spec, with_helper
from kubeflow_volcano.rollout.settings.pods.credentials import RegistryLogin, authorizations, docker_config


def add_pull_secrets(objects: list[Object], component: str, logins: Sequence[RegistryLogin]) -> None:
    """Give every pod of a component the logins, and add the Secrets with them.

    A Secret comes before the first workload of its namespace, and is named after its component, with which it is
    uninstalled.
    """
    name = f"{component}-registries"
    text = docker_config(authorizations(logins))
    supplied: set[str] = set()
    for obj in [*objects] if logins else ():
        for spec in with_helper(obj) if is_helper(obj) else filter(None, (pod_spec(obj),)):
            refer(spec, name)
            namespace = obj["metadata"]["namespace"]
            if namespace not in supplied:
                supplied.add(namespace)
                objects.insert(objects.index(obj), pull_secret(name, namespace, text))
