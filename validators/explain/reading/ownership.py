"""Jobs of kinds that are not known here: found by the API server's discovery, read by their pods' chains of owners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.ref import group_of
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.kinds import Kind, foreign
from kubeflow_volcano.validators.explain.reading.queries import refusal

_WITHOUT_DISCOVERY = ("apps/v1", "batch/v1")
"""Asked where a server is too old to list all its kinds at once."""
_LONGEST_CHAIN = 6


def kinds_named(cluster: Cluster, word: str) -> tuple[Kind, ...]:
    """The served kinds of that name, one for each API group: `RayJob`, `rayjobs` or `rayjobs.ray.io`, in any case."""
    served = cluster.all_kinds() or {version: cluster.kinds(version) for version in _WITHOUT_DISCOVERY}
    served = {**served, "v1": cluster.kinds("v1")}  # Pod, which the list of API groups does not have
    word = word.lower()
    found: dict[tuple[str, str], Kind] = {}
    for item in (item for kinds in served.values() for item in kinds.values() if item.namespaced):
        names = {item.kind, f"{item.kind}.{group_of(item.api_version)}", item.plural, item.title}
        if word in {name.lower() for name in names}:
            found.setdefault(item.key, Kind(item.api_version, item.kind, item.plural, foreign))
    core = tuple(item for item in found.values() if item.api_version == "v1")
    return core or tuple(found.values())  # `pods` of the core group, and not those of metrics.k8s.io


def between(cluster: Cluster, uid: str, pods: Iterable[Object]) -> tuple[set[str], Mapping[str, Unread]]:
    """UIDs of the objects that stand between the object of that UID and pods that it owns, directly or not.

    Returns:
        These UIDs, and by resource what could not be read, so that pods may be missing.
    """
    known: dict[Ref, Object | None] = {}
    unread: dict[str, Unread] = {}

    def leads(obj: Object, left: int) -> set[str]:
        """UIDs from the owners of `obj` up to the wanted one; none where they do not lead there."""
        for owner in obj["metadata"].get("ownerReferences") or ():
            if owner["uid"] == uid:
                return {uid}
            ref = Ref(owner["apiVersion"], owner["kind"], obj["metadata"]["namespace"], owner["name"])
            above = read(ref) if left else None
            if above and above["metadata"]["uid"] == owner["uid"] and (way := leads(above, left - 1)):
                return way | {owner["uid"]}
        return set()

    def read(ref: Ref) -> Object | None:
        if ref not in known:
            try:
                known[ref] = cluster.get(ref)
            except ApiError as error:
                known[ref] = None
                rule = Rule("get", ref.group, cluster.resource(ref.api_version, ref.kind).plural, ref.namespace)
                unread[rule.resource] = refusal(error, rule, str(ref))
        return known[ref]

    return {item for pod in pods for item in leads(pod, _LONGEST_CHAIN)}, unread
