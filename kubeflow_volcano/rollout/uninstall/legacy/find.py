"""The objects that an unmaintained tool left on the cluster, by its marks; never those that a roll-out applied."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.removing.managed import preferred_kinds, read_each
from kubeflow_volcano.catalog.legacy import KFCTL, KFDEF_CRD, KUBE_BATCH, KUBE_BATCH_GROUPS, marks, runs
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline

_CRDS = "apiextensions.k8s.io/v1"
_WORKLOADS = (("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))
_KFDEF_GROUP = KFDEF_CRD.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What the named tools left: metadata of objects with the tool of each; `programs` are workloads that run one.

    `unread` are plurals that could not be listed, and why.
    """

    objects: Mapping[Ref, tuple[str, Object]]
    programs: frozenset[Ref]
    unread: Mapping[str, str]


def find_leftovers(cluster: Cluster, tools: Collection[str], deadline: Deadline) -> Leftovers:
    """List every kind that can be deleted, metadata alone, 8 requests at a time.

    The garbage collector removes what has an owner, and one that a roll-out applied since is no leftover.

    Raises:
        ApiError: the API server does not answer which kinds it serves, or what workloads and CRDs it has.
    """
    kinds = [kind for kind in preferred_kinds(cluster) if "delete" in kind.verbs]

    def read(kind: Resource) -> dict[Ref, tuple[str, Object]]:
        pages = cluster.pages(kind.api_version, kind.kind, brief=True, deadline=deadline)
        return {Ref.of(item): (tool, item) for page in pages for item in page.items for tool in _tools(item, tools)}

    leftovers, unread = read_each(kinds, read)
    programs = dict(_programs(cluster, tools))
    return Leftovers(leftovers | programs, frozenset(programs), unread)


def _tools(item: Object, tools: Collection[str]) -> Iterator[str]:
    meta = item["metadata"]
    if meta.get("ownerReferences") or own_entry(item) is not None:
        return
    ref = Ref.of(item)
    group = ref.name.partition(".")[2] if ref.kind == CRD_KIND else ref.group
    for tool in tools:
        groups = {KUBE_BATCH: KUBE_BATCH_GROUPS, KFCTL: {_KFDEF_GROUP}}.get(tool, frozenset())
        if group in groups or marks(tool, meta):
            yield tool
            return


def _programs(cluster: Cluster, tools: Collection[str]) -> Iterator[tuple[Ref, tuple[str, Object]]]:
    for api_version, kind in _WORKLOADS:
        for item in cluster.list(api_version, kind).items:
            ran = next((tool for tool in tools if runs(tool, item)), "")
            if ran and own_entry(item) is None:
                yield Ref.of(item), (ran, item)
