"""Teams in the manifests of the profile controller: profiles, and what is in their namespaces.

The controller makes the namespace of a profile; what is in it waits for that. A contributor is a RoleBinding and an
AuthorizationPolicy of Istio as Kubeflow's access management makes them (kfam/bindings.go of kubeflow/kubeflow), so that
the dashboard shows and removes them. Its settings are in the same ConfigMap as the controller's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.schedulers import reads_queue_of_namespace
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, named, new_object
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.account.stored import validate_owner
from kubeflow_volcano.rollout.queues.view import list_queues
from kubeflow_volcano.rollout.settings.people.profiles import (
    PROFILES,
    Contributor,
    Profile,
    container_defaults_of,
    priority_class_of,
    queue_of,
)
from kubeflow_volcano.rollout.settings.volcano import quantities

DEFAULTS = "container-defaults"
"""Name of the LimitRange in the namespace of a profile."""

MAKERS = frozenset({("kubeflow.org", "Profile")})
"""Kinds whose controllers make a namespace with the name of the object."""

_ADMISSION = "volcano-admission"
_HEADER, _PREFIX = "USERID_HEADER", "USERID_PREFIX"
_GATEWAY, _PIPELINES = "ISTIO_INGRESS_GATEWAY_PRINCIPAL", "KFP_UI_PRINCIPAL"
"""Since Kubeflow 1.8: who may say in the header on whose behalf they call."""


def add_teams(objects: list[Object], profiles: Sequence[Profile]) -> None:
    """Append the profiles of the inventory with all that is in their namespaces, and their priority classes.

    Raises:
        InvalidInput: the manifests do not say by which header users are known.
    """
    if not profiles:
        return
    known = _configuration(objects)
    for item in profiles:
        if item.priority_class is not None:
            objects.append(_priority_class(item))
        objects += [_profile(item), _namespace(item)]
        if defaults := container_defaults_of(item):
            objects.append(_limit_range(item.name, defaults))
        for contributor in item.contributors:
            objects += [_role_binding(item, contributor), _policy(item, contributor, known)]


def without_defaults_of_others(
    cluster: Cluster, objects: Sequence[Object], profiles: Iterable[Profile], progress: Progress
) -> tuple[Object, ...]:
    """The objects without a LimitRange that follows from a quota, where one of others gives defaults already.

    Of two, the API server takes whichever it meets first. One that is there stays declared: left out it would neither
    go nor be known to an uninstallation any more.

    Raises:
        ApiError: the API server refuses a question.
    """
    derived = {item.name for item in profiles if item.container_defaults is None}
    kept = []
    for obj in objects:
        namespace = obj["metadata"].get("namespace", "")
        if obj["kind"] == "LimitRange" and namespace in derived and (theirs := _ranges_of_others(cluster, namespace)):
            others = f"LimitRange {', '.join(theirs)}"
            if cluster.get(Ref.of(obj)) is None:
                progress(f"note: containers in {namespace} get the defaults of {others}")
                continue
            progress(
                f"note: containers in {namespace} get the defaults of {DEFAULTS} or of {others}; to end that, set "
                "container_defaults: {} of this profile, and remove the LimitRange that is left"
            )
        kept.append(obj)
    return tuple(kept)


def _ranges_of_others(cluster: Cluster, namespace: str) -> list[str]:
    return sorted(
        live["metadata"]["name"]
        for live in cluster.list("v1", "LimitRange", namespace=namespace).items
        if live["metadata"]["name"] != DEFAULTS
        and any(item.get("default") or item.get("defaultRequest") for item in live["spec"].get("limits") or ())
    )


def allow_reading_queues(objects: Sequence[Object], profiles: Iterable[Profile], version: str) -> None:
    """Let Volcano's admission read the namespaces of teams with a queue.

    Its webhook looks for the annotation, but no ClusterRole of upstream allows that, up to the last version that asks.
    The webhook takes the refusal for a namespace without annotation (v1.7.0 to v1.11.2).
    """
    names = sorted(item.name for item in profiles if queue_of(item))
    role = named(objects, "ClusterRole", _ADMISSION)
    if names and role and reads_queue_of_namespace(version):
        rule = {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": names, "verbs": ["get"]}
        role["rules"] = [*role["rules"], rule]


def unmet_teams(
    cluster: Cluster, profiles: Sequence[Profile], existing: Collection[str], parts: Collection[str]
) -> Iterator[Problem]:
    """Namespaces that belong to others, and queues that a Volcano of others does not have.

    Raises:
        ApiError: the API server refuses a question.
    """
    if PROFILES not in parts:
        return
    for item in profiles:
        yield from validate_owner(cluster, item.name, item.owner, "rename the profile in kubeflow_profiles")
    wanted = {queue_of(item): item.name for item in profiles if queue_of(item)}
    if wanted and VOLCANO.name in existing:
        live = list_queues(cluster)
        for queue, name in wanted.items():
            if queue not in live:
                yield Problem(
                    f"kubeflow_profiles: {name} has queue {queue}, which does not exist.",
                    f"one of the queues of the Volcano of others: {', '.join(sorted(live)) or 'none'}.",
                    "correct the name, or have the queue created.",
                )


def _configuration(objects: Sequence[Object]) -> Mapping[str, str]:
    for obj in objects:
        if obj["kind"] == "ConfigMap" and _HEADER in (obj.get("data") or {}):
            return {key: str(text).strip('"') for key, text in obj["data"].items()}
    raise InvalidInput.problem(
        "the manifests of profiles do not say by which header users are known.",
        f"a ConfigMap with {_HEADER}, as in every release.",
        "correct kubeflow_source or kubeflow_sources.profiles, or remove kubeflow_profiles.",
    )


def _profile(item: Profile) -> Object:
    spec: dict[str, Any] = {"owner": {"kind": "User", "name": item.owner}}
    if item.quota:
        spec["resourceQuotaSpec"] = {"hard": quantities(item.quota)}
    return new_object("kubeflow.org/v1", "Profile", item.name, spec=spec)


def _namespace(item: Profile) -> Object:
    """As far as it is declared here; the owner is what the controller writes, too."""
    annotations = {"owner": item.owner}
    if queue := queue_of(item):
        annotations[QUEUE_NAME] = queue
    return new_object("v1", "Namespace", item.name, meta={"annotations": annotations})


def _limit_range(namespace: str, defaults: Mapping[str, Mapping[str, str]]) -> Object:
    names = {"requests": "defaultRequest", "limits": "default"}
    item = {"type": "Container", **{names[side]: dict(amounts) for side, amounts in defaults.items()}}
    return new_object("v1", "LimitRange", DEFAULTS, namespace, spec={"limits": [item]})


def _role_binding(item: Profile, contributor: Contributor) -> Object:
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": f"kubeflow-{contributor.role}"}
    user = {"apiGroup": group, "kind": "User", "name": contributor.user}
    return _binding(item, contributor, f"{group}/v1", "RoleBinding", roleRef=role, subjects=[user])


def _policy(item: Profile, contributor: Contributor, known: Mapping[str, str]) -> Object:
    values = [known.get(_PREFIX, "") + contributor.user]
    rule: dict[str, Any] = {"when": [{"key": f"request.headers[{known[_HEADER]}]", "values": values}]}
    if _GATEWAY in known:
        rule["from"] = [{"source": {"principals": [known[key] for key in (_GATEWAY, _PIPELINES) if key in known]}}]
    spec = {"rules": [rule]}
    return _binding(item, contributor, "security.istio.io/v1beta1", "AuthorizationPolicy", spec=spec)


def _binding(item: Profile, contributor: Contributor, api_version: str, kind: str, **fields: Any) -> Object:
    annotations = {"role": contributor.role, "user": contributor.user}
    return new_object(api_version, kind, contributor.binding, item.name, meta={"annotations": annotations}, **fields)


def _priority_class(item: Profile) -> Object:
    asked = item.priority_class or {}
    rest: Object = {"value": int(asked["value"])}
    if "preemption_policy" in asked:
        rest["preemptionPolicy"] = str(asked["preemption_policy"])
    if "description" in asked:
        rest["description"] = str(asked["description"])
    return new_object("scheduling.k8s.io/v1", "PriorityClass", priority_class_of(item), **rest)
