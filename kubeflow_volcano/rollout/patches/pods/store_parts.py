"""What the manifests of both stores outside of the cluster need: objects that must be there, variables, restarts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from kubeflow_volcano.cluster.objects import Object, named
from kubeflow_volcano.cluster.pods.environment import set_environment
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.account.sign_in import annotate

_ROUNDS, _BYTES = 200_000, 8


def needed(component: str, objects: Iterable[Object], kind: str, name: str, variable: str) -> Object:
    """The object of a component that this variable changes.

    Raises:
        InvalidInput: it is not there.
    """
    if found := named(objects, kind, name):
        return found
    raise InvalidInput.problem(
        f"the manifests of {component} have no {kind} {name}.",
        f"one, as in every release: it gets {variable}.",
        f"correct kubeflow_source or kubeflow_sources.{component}, or remove {variable}.",
    )


def set_variables(deployment: Object, variables: Sequence[Object]) -> None:
    """Give every container these variables, in place of those with their names."""
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        set_environment(container, variables)


def restart_on_change(objects: Iterable[Object], secret: str, mark: str, plain: str, password: str) -> None:
    """Annotate the pods of Deployments that name the Secret with a sum of what their programs read at their start.

    It is slow to compute: those who may read Deployments should not find the password by trying many.
    """
    total = hashlib.pbkdf2_hmac("sha256", password.encode(), plain.encode(), _ROUNDS, _BYTES).hex()
    for obj in objects:
        if obj["kind"] == "Deployment" and json.dumps(secret) in json.dumps(obj["spec"]["template"]):
            annotate(obj["spec"]["template"].setdefault("metadata", {}), mark, total)
