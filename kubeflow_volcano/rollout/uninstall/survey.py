"""What an uninstallation reads before its first change: our objects, and what else is where they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.apply.removing.contents import Contents, contents_of
from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS
from kubeflow_volcano.cluster.admission.webhooks import WEBHOOK_KINDS, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.applied_objects import Brought, Place
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.rollout.queues.view import QueueView
from kubeflow_volcano.rollout.stale.find import Stale, find_stale
from kubeflow_volcano.rollout.state.inventory import read_inventory

_CONTROLLERS = "kube-controller-manager"
_SECONDS = 120.0
_HOOKS = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Survey:
    """What is on the cluster.

    `ours` has the objects of the chosen components, or all; `gone` those of the inventory that do not exist. `shared`
    are Namespaces and StorageClasses that others had made before a roll-out applied them. `contents` is what is in our
    namespaces. `jobs` are those in each queue, `pods` unfinished ones by the scheduler of ours that places them.
    `hooks` are webhook configurations of others, with their Services.
    """

    inventory: Mapping[str, Brought]
    ours: tuple[Stale, ...]
    gone: frozenset[Place] = frozenset()
    unread: Mapping[str, str] = field(default_factory=dict)
    shared: frozenset[Ref] = frozenset()
    contents: Contents = field(default_factory=lambda: Contents({}, {}))
    jobs: Mapping[str, list[str]] = field(default_factory=dict)
    hooks: Mapping[Ref, frozenset[tuple[str, str]]] = field(default_factory=dict)
    pods: Mapping[str, list[str]] = field(default_factory=dict)


def read_survey(
    cluster: Cluster,
    components: Collection[str],
    *,
    existing: Collection[str] = (),
    of_existing: Collection[Place] = (),
) -> Survey:
    """Read all of it; with `components` only their objects are ours. Those of `existing` ones are never ours.

    Raises:
        ApiError: the API server does not answer.
    """
    deadline = Deadline(_SECONDS)
    inventory = read_inventory(cluster)
    staying = {name for name in inventory if name not in components} if components else set()
    stale = find_stale(
        cluster, inventory, (), chosen=staying, whole=(), existing=existing, of_existing=of_existing, deadline=deadline
    )
    ours = tuple(item for item in stale.stale if not components or item.component in components)
    names = {item.ref.name for item in ours if item.ref.kind == "Namespace"}
    queues = [item.ref.name for item in ours if item.ref.kind == "Queue"]
    parts = {item.component for item in ours}
    view = QueueView.read(cluster) if queues else QueueView()
    return Survey(
        inventory,
        ours,
        stale.gone,
        stale.unread,
        frozenset(item.ref for item in ours if _is_shared(cluster, item.ref)),
        contents_of(cluster, names, deadline),
        {name: view.jobs(name) for name in queues},
        _hooks_of_others(cluster, {item.ref for item in ours}),
        {gang.scheduler: _pods_of(cluster, gang.scheduler) for name, gang in GANG_SCHEDULERS.items() if name in parts},
    )


def was_made_by_others(live: Object) -> bool:
    """Whether a manager other than a roll-out has been there since its creation, and a roll-out came later."""
    meta = live["metadata"]
    own = own_entry(live)
    first = [
        entry
        for entry in meta.get("managedFields") or ()
        if entry.get("time") == meta["creationTimestamp"]
        and not entry.get("subresource")
        and entry["manager"] != _CONTROLLERS
    ]
    others = [entry for entry in first if entry["manager"] != FIELD_MANAGER]
    return own is not None and bool(others) and len(others) == len(first)


def _is_shared(cluster: Cluster, ref: Ref) -> bool:
    live = cluster.get(ref) if ref.kind in {"Namespace", "StorageClass"} else None
    return live is not None and was_made_by_others(live)


def _pods_of(cluster: Cluster, scheduler: str) -> list[str]:
    fields = f"spec.schedulerName={scheduler},status.phase!=Succeeded,status.phase!=Failed"
    return sorted(str(Ref.of(item)) for item in cluster.list("v1", "Pod", fields=fields, brief=True).items)


def _hooks_of_others(cluster: Cluster, ours: Collection[Ref]) -> Mapping[Ref, frozenset[tuple[str, str]]]:
    called = {}
    for kind in sorted(WEBHOOK_KINDS):
        try:
            live = cluster.list(_HOOKS, kind).items
        except NotServed:
            continue
        for item in live:
            if Ref.of(item) not in ours and own_entry(item) is None:
                called[Ref.of(item)] = frozenset(hook.service for hook in webhooks([item]) if hook.service)
    return called
