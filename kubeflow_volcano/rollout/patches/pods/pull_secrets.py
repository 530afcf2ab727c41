"""Pull secrets: a Secret with the logins in each namespace with pods, named by their templates.

Templates rather than ServiceAccounts: the pull secrets of a template are merged by name, so that others may add theirs,
and of a ServiceAccount they are one list, which the next roll-out would take from other controllers that wrote it, such
as those of OpenShift. A changed template also replaces the pods that wait for their image, which a changed
ServiceAccount does not.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.pull_secrets import pull_secret, refer
from kubeflow_volcano.rollout.patches.pods.templates import is_helper, pod_spec, with_helper
from kubeflow_volcano.rollout.settings.pods.credentials import RegistryLogin, authorizations, docker_config


def with_pull_secrets(component: str, objects: Iterable[Object], logins: Sequence[RegistryLogin]) -> tuple[Object, ...]:
    """The objects of a component with the logins in every pod, changed on copies, and the Secrets with them.

    A Secret comes before the first workload of its namespace, and is named after its component, with which it is
    uninstalled. kubeflow_patches are merged into the result, so they win.
    """
    patched = tuple(objects)
    if not logins:
        return patched
    name = f"{component}-registries"
    text = docker_config(authorizations(logins))
    supplied: set[str] = set()
    result: list[Object] = []
    for given in patched:
        obj = given if given["kind"] == "CustomResourceDefinition" else copy.deepcopy(given)
        for spec in with_helper(obj) if is_helper(obj) else filter(None, (pod_spec(obj),)):
            refer(spec, name)
            namespace = obj["metadata"]["namespace"]
            if namespace not in supplied:
                supplied.add(namespace)
                result.append(pull_secret(name, namespace, text))
        result.append(obj)
    return tuple(result)
