"""Which objects are stale: brought by a roll-out, declared by none of the chosen components any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.apply.graph import WEBHOOK_KINDS
from kubeflow_volcano.apply.removing.managed import managed_objects
from kubeflow_volcano.cluster.admission.webhooks import webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import Brought, Place
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline


@dataclass(frozen=True, slots=True)
class Stale:
    """A stale object with its metadata. `component` and `version` are those that last declared it, empty if unknown."""

    ref: Ref
    live: Object
    component: str
    version: str


@dataclass(frozen=True, slots=True)
class Survey:
    """The stale objects, those of the inventory that are gone, and kinds that could not be listed, with the reason."""

    stale: tuple[Stale, ...]
    gone: frozenset[Place]
    unread: Mapping[str, str]


def find_stale(
    cluster: Cluster,
    inventory: Mapping[str, Brought],
    declared: Collection[Place],
    *,
    chosen: Collection[str],
    whole: Collection[str],
    existing: Collection[str] = (),
    of_existing: Collection[Place] = (),
    deadline: Deadline,
) -> Survey:
    """The objects of earlier roll-outs that are on the cluster, but not in `declared`.

    `chosen` are the components of the settings, `whole` those of them that this run declares in full. If these are the
    same, the field manager finds also what no inventory recorded. An object that was recreated by others since it was
    recorded, by its UID, and one that this project did not apply, is none of ours. Neither is one of a component in
    `existing`, whether an earlier roll-out recorded it or it is in `of_existing`.

    Raises:
        ApiError: the API server does not answer which kinds it serves.
    """
    ours = {name: brought for name, brought in inventory.items() if name not in existing}
    kept = {Place.of(ref) for name in set(chosen) - set(whole) if name in ours for ref in ours[name].objects}
    theirs = [brought for name, brought in inventory.items() if name in existing]
    kept |= {Place.of(ref) for item in theirs for refs in (item.objects, *item.left.values()) for ref in refs}
    kept |= {*declared, *of_existing}
    recorded = {place: item for place, item in _recorded(ours, chosen, whole) if place not in kept}
    everything = set(chosen) <= set(whole)
    if not everything and not recorded:
        return Survey((), frozenset(), {})
    kinds = None if everything else {(place.group, place.kind) for place in recorded}
    uids = {uid for _, _, uid in recorded.values()}
    live = managed_objects(cluster, deadline, kinds=kinds, uids=uids)
    places = {Place.of(ref): (ref, obj) for ref, obj in live.objects.items()}
    stale = []
    for place, (ref, obj) in places.items():
        if place in kept or (place not in recorded and not everything):
            continue
        component, version, uid = recorded.get(place, ("", "", ""))
        if uid in {"", obj["metadata"]["uid"]}:
            stale.append(Stale(ref, obj, component, version))
    gone = frozenset(recorded) - places.keys() if not live.unread else frozenset()
    return Survey(tuple(sorted(stale, key=lambda item: item.ref)), gone, live.unread)


def unserved_webhooks(cluster: Cluster, stale: Collection[Stale], declared: Collection[Place]) -> Iterator[Stale]:
    """Stale webhook configurations whose backend stays, in a version that does not serve them, or is gone already.

    With failurePolicy Fail such a configuration refuses every object that it intercepts: Volcano 1.12 dropped
    podgroups-mutate, pods-mutate and pods-validate, and its admission does not answer at their paths.

    Raises:
        ApiError: one of them cannot be read.
    """
    for item in stale:
        if item.ref.kind in WEBHOOK_KINDS and (live := cluster.get(item.ref)):
            services = {Ref("v1", "Service", *hook.service) for hook in webhooks([live]) if hook.service}
            if any(Place.of(ref) in declared or cluster.get(ref) is None for ref in services):
                yield item


def _recorded(
    inventory: Mapping[str, Brought], chosen: Collection[str], whole: Collection[str]
) -> Iterator[tuple[Place, tuple[str, str, str]]]:
    for component, brought in inventory.items():
        for version, refs in brought.left.items():
            yield from ((Place.of(ref), (component, version, uid)) for ref, uid in refs.items())
        if component not in chosen or component in whole:
            yield from ((Place.of(ref), (component, brought.version, uid)) for ref, uid in brought.objects.items())
