"""What roll-outs brought to the cluster, by component: merged by each of them, also by one that failed."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, Brought, Place, parse, serialize
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.rollout.state.store import write_keys

Inventory = Mapping[str, Brought]
"""What was brought, by component."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What a run did for one component: the objects that it declares, or of a `wired` operator a part of them.

    `uids` has those of them that are on the cluster.
    """

    version: str
    uids: Mapping[Ref, str]
    wired: bool = False


def read_inventory(cluster: Cluster) -> Inventory:
    """What the roll-outs so far have recorded; a key that was edited into another form is left out.

    Raises:
        ApiError: it cannot be read.
    """
    brought: dict[str, Brought] = {}
    for component, text in ((cluster.get(APPLIED_OBJECTS) or {}).get("data") or {}).items():
        with contextlib.suppress(ValueError):
            brought[component] = parse(text)
    return brought


def merged(
    earlier: Inventory, applied: Mapping[str, Applied], declared: Collection[Place], gone: Collection[Place] = ()
) -> Inventory:
    """`earlier` after a run: what it no longer declares stays recorded, under the version that last declared it.

    `declared` is all that the run declares, whether it is on the cluster yet or not; `gone` is known to be absent.
    """
    result: dict[str, Brought] = {}
    elsewhere = {*declared, *gone}
    for component in {**earlier, **applied}:
        before, run = earlier.get(component, Brought()), applied.get(component)
        left = {version: _without(refs, elsewhere) for version, refs in before.left.items()}
        if run is None:
            # An object that moved to a component of this run is recorded there.
            result[component] = Brought(before.version, _without(before.objects, elsewhere), left)
        elif run.wired:
            own = {Place.of(ref) for ref in run.uids}
            result[component] = Brought(before.version, {**_without(before.objects, {*own, *gone}), **run.uids}, left)
        else:
            if former := _without(before.objects, elsewhere):
                left[before.version] = {**left.get(before.version, {}), **former}
            result[component] = Brought(run.version, run.uids, left)
    return result


def write_inventory(cluster: Cluster, inventory: Inventory) -> None:
    """Record it.

    Raises:
        ApiError: it cannot be written.
    """
    texts = {
        name: serialize(item) if item.objects or any(item.left.values()) else None for name, item in inventory.items()
    }
    write_keys(cluster, APPLIED_OBJECTS, texts)


def _without(refs: Mapping[Ref, str], places: Collection[Place]) -> dict[Ref, str]:
    return {ref: uid for ref, uid in refs.items() if Place.of(ref) not in places}
