"""What admission changes of a pod, so that another node or none is the right one for it, and who may have done it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.admission.policies import BINDING, POLICY, VERSIONS, policies_for
from kubeflow_volcano.cluster.admission.webhooks import labelled_namespace, ways_out, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.ownership import owner_of
from kubeflow_volcano.cluster.pods.quantities import quantity
from kubeflow_volcano.text import few

_HOOKS = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
_WHOLE = ("affinity", "nodeName", "runtimeClassName", "schedulingGates", "topologySpreadConstraints")
_REQUESTS = "requests of"
_PREFERRED = "ScheduleAnyway"
_OF_NODES = "node.kubernetes.io/"
"""Of the tolerations that the API server's own admission and controllers add to every pod."""
_GROUP = "schedulingGroup"
_QUEUES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
_OF_GANGS = ".volcano.sh"
"""Webhooks of Volcano change nothing of a pod that is no job's."""


@dataclass(frozen=True, slots=True)
class Alteration:
    """Changes in words, and who is called for the pod: configurations of webhooks, and policies; none where unknown.

    `known` says of each of them whose it is and what leaves a pod out, as far as its selectors tell. `beside` is what
    was added that keeps the pod from no node.
    """

    changes: tuple[str, ...]
    hooks: tuple[Ref, ...] = ()
    known: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def explains(self, message: str) -> bool:
        """Whether it may be why a scheduler found no node; more requests are, where it says that something is short."""
        short = "nsufficient" in message
        return any(short or not item.startswith(_REQUESTS) for item in self.changes)

    def __str__(self) -> str:
        """A sentence part."""
        who = few([str(ref) for ref in self.hooks], 3) or "a webhook, an admission policy or a LimitRange"
        more = f". {'. '.join(self.known)}" if self.known else ""
        return f"admission gives the pod {'; '.join((*self.changes, *self.beside))} ({who}){more}"


def alteration(cluster: Cluster, pod: Object) -> Alteration | None:
    """What admission makes of the pod, by a dry run; None where it leaves alone what decides about its node."""
    try:
        changes = changed(pod, cluster.create(pod, dry_run=True))
    except ApiError:
        return None
    return altered_by(cluster, pod, changes) if changes else None


def altered_by(cluster: Cluster, pod: Object, changes: tuple[str, ...], beside: tuple[str, ...] = ()) -> Alteration:
    """These changes of the pod with who is called for it."""
    callers = _callers(cluster, pod)
    known = tuple(text for obj, ways in callers.values() if (text := _known(obj, ways)))
    return Alteration(changes, tuple(callers), known, beside)


def interceptors(cluster: Cluster, obj: Object, plural: str = "pods") -> tuple[Ref, ...]:
    """Configurations with a webhook that is called for the object, and policies; none where they may not be read."""
    return tuple(_callers(cluster, obj, plural))


def _callers(cluster: Cluster, pod: Object, plural: str = "pods") -> Mapping[Ref, tuple[Object, tuple[str, ...]]]:
    """Each of them with its object, and with what leaves the pod out of it."""
    space = pod["metadata"]["namespace"]
    try:
        found = cluster.list(*_HOOKS).items
        namespace = labelled_namespace(cluster.get(Ref("v1", "Namespace", "", space)), space)
    except ApiError:
        return {}
    called = [hook for hook in webhooks(found) if hook.intercepts(pod, namespace, plural)]
    others = [hook for hook in called if not hook.name.endswith(_OF_GANGS)]
    objects = {Ref.of(item): item for item in found}
    ways: dict[Ref, tuple[str, ...]] = {}
    for hook in others or called:
        ways[hook.owner] = (*ways.get(hook.owner, ()), *ways_out(hook.text))
    policies = {
        Ref.of(item): (item, tuple(ways_out(item["spec"].get("matchConstraints") or {})))
        for item in policies_for(_policies(cluster), pod, namespace, plural)
    }
    return {ref: (objects[ref], text) for ref, text in ways.items()} | policies


def _policies(cluster: Cluster) -> tuple[Object, ...]:
    """The policies that change objects, with their bindings; none where they are not served or may not be read."""
    for version in VERSIONS:
        try:
            return tuple(item for kind in (POLICY, BINDING) for item in cluster.list(version, kind).items)
        except ApiError:
            continue
    return ()


def _known(obj: Object, ways: tuple[str, ...]) -> str:
    owner = owner_of(obj)
    whose = "" if owner.endswith(" unknown") else f" is of {owner}"
    out = f" leaves out what has {' or '.join(dict.fromkeys(ways))}" if ways else ""
    return f"{obj['metadata']['name']}{whose}{' and' if whose and out else ''}{out}" if whose or out else ""


def changed(sent: Object, stored: Object) -> tuple[str, ...]:
    """What was added to a pod, or changed, of what schedulers look at. More tolerations keep no pod from a node."""
    return tuple(_changed(sent["spec"], stored["spec"]))


def added(sent: Object, stored: Object) -> tuple[str, ...]:
    """What was added to a pod that keeps it from no node, but changes how it runs and what it counts for."""
    return tuple(_added(sent, stored))


def _added(sent: Object, stored: Object) -> Iterator[str]:
    own = {item["name"]: item for item in _containers(sent)}
    for item in _containers(stored):
        if item["name"] not in own:
            yield f"the container {item['name']}, which it did not have"
        limits, asked = (
            (each.get("resources") or {}).get("limits") or {} for each in (item, own.get(item["name"], {}))
        )
        if more := {key: amount for key, amount in limits.items() if not _are_equal(asked.get(key), amount)}:
            yield f"limits {_amounts(more)} for container {item['name']}"
    had = [item.get("key") for item in sent["spec"].get("tolerations") or ()]
    for item in stored["spec"].get("tolerations") or ():
        if item.get("key") not in had and not str(item.get("key") or "").startswith(_OF_NODES):
            yield f"a toleration of {item.get('key') or 'every taint'}"
    if _GROUP in sent["spec"] and stored["spec"].get(_GROUP) != sent["spec"][_GROUP]:
        name = (stored["spec"].get(_GROUP) or {}).get("podGroupName") or "none"
        yield f"{_GROUP} {name} in place of {sent['spec'][_GROUP].get('podGroupName')}"
    marks, before = (item["metadata"].get("annotations") or {} for item in (stored, sent))
    for key in _QUEUES:
        if key in marks and marks[key] != before.get(key):
            yield f"queue {marks[key]} in place of {before[key]}" if key in before else f"queue {marks[key]}"


def _containers(pod: Object) -> Iterator[Object]:
    return (item for kind in ("containers", "initContainers") for item in pod["spec"].get(kind) or ())


def _changed(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[str]:
    if "schedulerName" in sent and stored.get("schedulerName") != sent["schedulerName"]:
        yield f"schedulerName {stored.get('schedulerName')} in place of {sent['schedulerName']}"
    asked = sent.get("nodeSelector") or {}
    for key, value in (stored.get("nodeSelector") or {}).items():
        if asked.get(key) != value:
            yield f"nodeSelector {key}={value}"
    for key in _WHOLE:
        found, asked_for = _binding(stored.get(key)), _binding(sent.get(key))
        if found and found != asked_for:
            yield f"{key}, which it did not have" if not asked_for else f"another {key}"
    kept = [item.get("key") for item in stored.get("tolerations") or ()]
    for item in sent.get("tolerations") or ():
        if item.get("key") not in kept:
            yield f"no toleration of {item.get('key')} any more"
    yield from _requested(sent, stored)


def _binding(value: Any) -> Any:
    """A field without what is only preferred, and so keeps no pod from a node."""
    if isinstance(value, list):
        return [item for item in value if not isinstance(item, dict) or item.get("whenUnsatisfiable") != _PREFERRED]
    if not isinstance(value, dict):
        return value
    kinds = {
        kind: {key: item for key, item in (terms or {}).items() if not key.startswith("preferred")}
        for kind, terms in value.items()
    }
    return {kind: terms for kind, terms in kinds.items() if terms}


def _requested(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[str]:
    """Requests that were added, by containers of others too; a container without requests keeps no pod from a node."""
    kinds = ("containers", "initContainers")
    own = {item["name"]: item for kind in kinds for item in sent.get(kind) or ()}
    for item in (item for kind in kinds for item in stored.get(kind) or ()):
        requests = (item.get("resources") or {}).get("requests") or {}
        if more := _other(own.get(item["name"], {}), requests):
            of = "" if item["name"] in own else ", which it did not have"
            yield f"{_REQUESTS} {_amounts(more)} by container {item['name']}{of}"


def _other(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Requests that are not those that were sent; a limit counts as its request."""
    resources = sent.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {key: amount for key, amount in stored.items() if not _are_equal(asked.get(key), amount)}


def _are_equal(asked: Any, stored: Any) -> bool:
    """Whether both are one amount: the API server writes 0.5 as 500m, and 1024Mi as 1Gi. What is not asked for is 0."""
    try:
        return quantity(asked or 0) == quantity(stored)
    except ValueError:
        return str(asked) == str(stored)


def _amounts(requests: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {amount}" for key, amount in sorted(requests.items()))
