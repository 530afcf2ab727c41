"""The objects of a run as they are on the cluster: read in lists and compared as they arrive."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType

from kubeflow_volcano.apply.compare import is_up_to_date
from kubeflow_volcano.apply.fields.ceded import REPLICAS, Pointer, declares, without
from kubeflow_volcano.apply.fields.takeover import has_left_fields
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Kinds, Resource
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref, group_of
from kubeflow_volcano.cluster.readiness import assess
from kubeflow_volcano.deadline import Deadline

_THREADS = 8
"""Measured with 594 objects: with more threads the API server is the bottleneck."""

_FEW = 2
"""Up to so many are read one by one, because a list may hold many objects of others."""
_PAGE, _CRD_PAGE = 250, 20  # a CRD may be half a megabyte of text


class Presence(StrEnum):
    """How a declared object compares with the cluster."""

    UP_TO_DATE = "up to date"
    DIFFERS = "differs"
    ABSENT = "absent"
    NO_NAMESPACE = "no namespace"
    NOT_SERVED = "not served"


@dataclass(frozen=True, slots=True)
class Found:
    """One object as found; `live` only if it differs, `ready` by its own status, `uid` if it exists.

    `ceded` are the fields that are left to others, also spec.replicas if a HorizontalPodAutoscaler, `scaler`, has it.
    """

    presence: Presence
    live: Object | None = None
    ready: bool = False
    uid: str = ""
    ceded: tuple[Pointer, ...] = ()
    scaler: str = ""


def survey(
    cluster: Cluster,
    objects: Mapping[Ref, Object],
    kinds: Kinds,
    deadline: Deadline,
    *,
    ceded: Mapping[Ref, tuple[Pointer, ...]] = MappingProxyType({}),
    adopted: Collection[Ref] = (),
) -> Mapping[Ref, Found]:
    """Look for all `objects` (normalized) of the served `kinds` on the cluster, 8 requests at a time.

    `ceded` are fields that are left to others, beside the replicas that a HorizontalPodAutoscaler sets. An `adopted`
    object is not up to date as long as it has fields that only a tool of others applied.

    Raises:
        ApiError: something may not be read, or the server does not answer.
    """
    namespaces = {
        item["metadata"]["name"]
        for page in cluster.pages("v1", "Namespace", size=_PAGE, deadline=deadline)
        for item in page.items
        if "deletionTimestamp" not in item["metadata"]
    }
    found: dict[Ref, Found] = {}
    groups: dict[tuple[str, str, str], list[Ref]] = defaultdict(list)
    for ref in objects:
        left = ceded.get(ref, ())
        if ref.kind not in kinds[ref.api_version]:
            found[ref] = Found(Presence.NOT_SERVED, ceded=left)
        elif ref.namespace and ref.namespace not in namespaces:
            found[ref] = Found(Presence.NO_NAMESPACE, ceded=left)
        else:
            found[ref] = Found(Presence.ABSENT, ceded=left)
            groups[ref.api_version, ref.kind, ref.namespace].append(ref)

    scaled = {ref for refs in groups.values() for ref in refs if declares(objects[ref], REPLICAS)}

    def look(refs: Sequence[Ref]) -> None:
        for live in _live(cluster, refs, deadline):
            ref = Ref(refs[0].api_version, refs[0].kind, refs[0].namespace, live["metadata"]["name"])
            if ref in found:
                scaler = autoscalers.result().get(_target(ref), "") if autoscalers and ref in scaled else ""
                stays = ref not in adopted or not has_left_fields(live)
                found[ref] = _compared(objects[ref], live, ceded.get(ref, ()), scaler, stays=stays)

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="survey") as pool:
        autoscalers = pool.submit(_autoscalers, cluster, deadline) if scaled else None
        list(pool.map(look, groups.values()))
    return found


def learn_kinds(cluster: Cluster, versions: Iterable[str]) -> Kinds:
    """Discover the kinds of these group versions; a cache of an earlier run may be outdated.

    Raises:
        ApiError: the API server does not answer.
    """
    wanted = set(versions)
    listed = cluster.all_kinds() if len(wanted) > _FEW else None
    asked = sorted(wanted if listed is None else (version for version in wanted if "/" not in version))
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="discover") as pool:
        kinds: dict[str, Mapping[str, Resource]] = dict(zip(asked, pool.map(cluster.kinds, asked), strict=True))
    return {version: kinds[version] if version in kinds else (listed or {}).get(version, {}) for version in wanted}


def _live(cluster: Cluster, refs: Sequence[Ref], deadline: Deadline) -> Iterator[Object]:
    first = refs[0]
    resource = cluster.resource(first.api_version, first.kind)
    if resource.namespaced and not first.namespace:
        return  # no such object can exist; sending it reports that
    if len(refs) <= _FEW:
        for ref in refs:
            try:
                live: Object = cluster.request("GET", resource.path(ref.namespace, ref.name), deadline=deadline)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                continue
            yield live
        return
    size = _CRD_PAGE if first.kind == "CustomResourceDefinition" else _PAGE
    for page in cluster.pages(first.api_version, first.kind, namespace=first.namespace, size=size, deadline=deadline):
        yield from page.items


def _autoscalers(cluster: Cluster, deadline: Deadline) -> Mapping[Ref, str]:
    """The name of the HorizontalPodAutoscaler of each object that has one; the Refs have the group as API version."""
    autoscalers: dict[Ref, str] = {}
    with contextlib.suppress(NotServed):
        for page in cluster.pages("autoscaling/v1", "HorizontalPodAutoscaler", size=_PAGE, deadline=deadline):
            for item in page.items:
                target, meta = item["spec"]["scaleTargetRef"], item["metadata"]
                group = group_of(target.get("apiVersion", ""))
                autoscalers[Ref(group, target["kind"], meta["namespace"], target["name"])] = meta["name"]
    return autoscalers


def _target(ref: Ref) -> Ref:
    return ref._replace(api_version=ref.group)


def _compared(declared: Object, live: Object, ceded: tuple[Pointer, ...], scaler: str, *, stays: bool) -> Found:
    """How the two compare; `stays` says whether fields that are not declared are left as they are."""
    ready, uid = assess(live).ready, live["metadata"]["uid"]
    scaler = "" if REPLICAS in ceded else scaler
    left = (*ceded, REPLICAS) if scaler else ceded
    deleted = "deletionTimestamp" in live["metadata"]
    if stays and not deleted and is_up_to_date(without(declared, left), live):
        return Found(Presence.UP_TO_DATE, None, ready, uid, left, scaler)
    return Found(Presence.DIFFERS, live, ready, uid, left, scaler)
