"""Logins at registries in the namespaces of profiles: a Secret in each, which the accounts of its pods name.

Only those that the inventory marks: users may read the Secrets of their namespace. Notebooks, jobs and steps of
pipelines are made by their users, so no template can name the Secret. The accounts are made by Kubernetes and by the
profile controller, which does not change them afterwards (updateServiceAccount of profile_controller.go, v1.6.1 to
v1.10.0), and their pull secrets are one list, to which others add, such as OpenShift: a last step of the run appends to
it, and no manifest declares it.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from http import HTTPStatus

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.pull_secrets import pull_secret, refer
from kubeflow_volcano.rollout.settings.pods.credentials import RegistryLogin, authorizations, docker_config

SECRET = "profile-registries"  # noqa: S105  a name
_ACCOUNTS = ("default", "default-editor")
"""Pods that name no account, such as jobs and models; notebooks and steps of pipelines."""
_TRIES = 4
"""Others write new accounts in their first seconds, such as OpenShift, which gives each a pull secret of its own."""


def add_logins(objects: list[Object], namespaces: Iterable[str], logins: Sequence[RegistryLogin]) -> None:
    """Append a Secret for each of the namespaces with the logins that profiles get; nothing without any."""
    chosen = [item for item in logins if item.profiles]
    if chosen:
        text = docker_config(authorizations(chosen))
        objects += [pull_secret(SECRET, namespace, text) for namespace in namespaces]


def let_accounts_sign_in(run: Engine, objects: Collection[Object]) -> None:
    """Let the accounts of pods name the Secret of their namespace, beside what they name; check mode only reports it.

    An account that does not exist yet gets it with the next run, which a line says.
    """
    try:
        for obj in objects:
            if obj["kind"] == "Secret" and obj["metadata"]["name"] == SECRET:
                for name in _ACCOUNTS:
                    _append_persistently(run, Ref("v1", "ServiceAccount", obj["metadata"]["namespace"], name))
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))


def _append_persistently(run: Engine, ref: Ref) -> None:
    for left in reversed(range(_TRIES)):
        try:
            _append(run, ref)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT or not left:
                raise
        else:
            return


def _append(run: Engine, ref: Ref) -> None:
    live = run.cluster.get(ref)
    if live is None:
        if not run.check:
            run.progress(f"note: {ref} does not exist yet; the next run lets it sign in at registries")
        return
    if any(item.get("name") == SECRET for item in live.get("imagePullSecrets") or ()):
        return
    after = copy.deepcopy(live)
    refer(after, SECRET)
    if not run.check:
        # With the version that was read: an entry that another controller adds meanwhile is not lost.
        changes = {"imagePullSecrets": after["imagePullSecrets"]}
        version = {"resourceVersion": live["metadata"]["resourceVersion"]}
        after = run.cluster.patch(ref, {"metadata": version, **changes})
    run.add_outcome(ObjectOutcome(ref, Action.CHANGED, live, after))
