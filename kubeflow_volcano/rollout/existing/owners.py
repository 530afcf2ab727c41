"""Whose the components are that a run would apply: asked before its first change."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.catalog.existing.shared import Shared, shared_part
from kubeflow_volcano.catalog.images.names import version_tag
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.read import with_own_parts
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.applied_objects import GUARDED_KINDS, Place
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.ownership import owner_of
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.existing.elsewhere import left_behind
from kubeflow_volcano.rollout.images.rename.rewrite import ImageUse
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.state.inventory import read_inventory
from kubeflow_volcano.text import few

_PAGE = 500
_VERSION = "app.kubernetes.io/version"
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class _Foreign:
    """A component of others: its version, empty if unknown, and how many central objects each owner has.

    `shared` is software inside the component if others have only that: then it is not the component that they have.
    """

    part: Component
    version: str
    owners: Mapping[str, int]
    shared: Shared | None = None

    def __str__(self) -> str:
        name = self.shared.title if self.shared else self.part.name
        title = f"{name} {self.version}".strip()
        return f"{title} ({', '.join(f'{owner}: {number}' for owner, number in self.owners.items())})"


def brought_uids(cluster: Cluster) -> frozenset[str]:
    """UIDs of the objects that roll-outs have recorded.

    Raises:
        ApiError: the record cannot be read.
    """
    brought = read_inventory(cluster).values()
    return frozenset(uid for item in brought for refs in (item.objects, *item.left.values()) for uid in refs.values())


def foreign_components(
    cluster: Cluster,
    settings: Settings,
    components: Sequence[Component],
    parts: Mapping[str, Sequence[Object]],
    brought: Collection[str],
    *,
    progress: Progress,
    images: Iterable[ImageUse] = (),
) -> Iterator[Problem]:
    """The problem of the components with central objects that this project did not apply, all in one.

    Central are workloads, CRDs and webhook configurations; of a component without any, all objects but those that
    people create as well. `brought` are UIDs of objects that roll-outs recorded: a component with one of them is this
    project's, though people may have made others of its objects again; fields that these set otherwise are conflicts of
    their own. A component that is adopted is only named, with both versions, unless it would run on elsewhere; `images`
    has upstream's names of those that are renamed.

    Raises:
        ApiError: objects cannot be listed.
    """
    central = {part.name: set(_asked_about(part, parts[part.name])) for part in components}
    live = _live(cluster, {ref for refs in central.values() for ref in refs})
    foreign: list[_Foreign] = []
    for part in components:
        found = {ref: live[ref] for ref in sorted(central[part.name]) if ref in live}
        if any(item["metadata"]["uid"] in brought for item in found.values()):
            continue
        theirs = {ref: item for ref, item in found.items() if not is_ours(item, brought)}
        foreign += _foreign(cluster, part, theirs)
    originals = {use.final: use.original for use in images}
    for other in foreign:
        if other.part.name in settings.adopted:
            ours = other.part.version
            change = f"it becomes {ours}" if other.version != ours else "the version stays"
            change = f"then {other.shared.beside}" if other.shared else change
            progress(f"adopted, as kubeflow_adopt says: {other}; {change}")
    for part in {other.part.name: other.part for other in foreign if other.part.name in settings.adopted}.values():
        yield from left_behind(cluster, part, parts[part.name], originals)
    refused = [other for other in foreign if other.part.name not in settings.adopted]
    if whole := [other for other in refused if not other.shared]:
        yield _refusal(settings, whole)
    yield from (_refused_share(other.part, other.shared, str(other)) for other in refused if other.shared)


def _foreign(cluster: Cluster, part: Component, theirs: Mapping[Ref, Object]) -> Iterator[_Foreign]:
    """The component, if something of its own is of others; else each software of which they have a part."""
    by_share: dict[Shared | None, dict[Ref, Object]] = defaultdict(dict)
    for ref, item in theirs.items():
        by_share[shared_part(part.name, ref)][ref] = item
    for share, items in ({None: theirs} if None in by_share else by_share).items():
        owners = dict(Counter(owner_of(item) for item in items.values()).most_common())
        yield _Foreign(part, _version(cluster, part, items), owners, share)


def is_ours(live: Object, brought: Collection[str]) -> bool:
    """Whether this project applied the live object, or recorded its UID as `brought`."""
    return own_entry(live) is not None or live["metadata"]["uid"] in brought


def places_of_existing(settings: Settings) -> frozenset[Place]:
    """The places of the central objects of existing components, which no roll-out and no removal touches."""
    return frozenset(Place.of(ref) for name in settings.existing for ref in settings.component(name).central)


def _asked_about(part: Component, objects: Iterable[Object]) -> Iterator[Ref]:
    yield from part.central or (Ref.of(obj) for obj in objects if obj["kind"] not in GUARDED_KINDS)


def _live(cluster: Cluster, refs: Iterable[Ref]) -> Mapping[Ref, Object]:
    """Metadata of the objects beside which these would be, by list; kinds that are not served have none."""

    def look(place: tuple[str, str, str]) -> dict[Ref, Object]:
        api_version, kind, namespace = place
        with contextlib.suppress(NotServed):
            pages = cluster.pages(api_version, kind, namespace=namespace, size=_PAGE, brief=True)
            return {
                Ref(*place, item["metadata"]["name"]): item
                for page in pages
                for item in page.items
                if item["metadata"].get("namespace", "") == namespace
            }
        return {}

    live: dict[Ref, Object] = {}
    for answer in in_parallel(look, sorted({ref[:3] for ref in refs})):
        live |= answer
    return live


def _version(cluster: Cluster, part: Component, theirs: Mapping[Ref, Object]) -> str:
    """The version by the image of a workload of others, else by labels."""
    for ref in (ref for ref in part.workloads if ref in theirs):
        spec = ((cluster.get(ref) or {}).get("spec") or {}).get("template", {}).get("spec") or {}
        for container in spec.get("containers") or ():
            if tag := version_tag(container["image"]):
                return tag
    labels = [(item["metadata"].get("labels") or {}).get(_VERSION, "") for item in theirs.values()]
    return next((label.removeprefix("v") for label in labels if label), "")


def _refused_share(part: Component, share: Shared, found: str) -> Problem:
    return Problem(
        f"{found}: others applied it, and it is a part of component {part.name} as well.",
        f"{share.clash}. It is not {part.title}, so kubeflow_existing: [{part.name}] is not for it.",
        f"leave {part.title} out: kubeflow_exclude: [{part.name}]; or take these objects over: kubeflow_adopt: "
        f"[{part.name}], after a look at the changes with --check --diff, and {share.beside}.",
    )


def _refusal(settings: Settings, foreign: Sequence[_Foreign]) -> Problem:
    names = [item.part.name for item in foreign]
    covered = {part for name in names for part in with_own_parts(settings.release, [name]) if part != name}
    listed = ", ".join(name for name in names if name not in covered)
    ours = [f"{item.part.name} {item.part.version}" for item in foreign if item.version not in {"", item.part.version}]
    return Problem(
        f"components whose objects others applied: {few([str(item) for item in foreign], _MOST_SHOWN, '; ')}.",
        "components that this project alone applies, or your decision."
        + (f" The inventory has {', '.join(ours)}." if ours else ""),
        f"leave them to those who installed them: kubeflow_existing: [{listed}]; or take them over: "
        f"kubeflow_adopt: [{listed}], after a look at the changes with --check --diff.",
    )
