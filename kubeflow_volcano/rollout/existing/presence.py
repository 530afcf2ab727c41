"""Whether a component that others are said to have is there: the component itself, not software that it shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.existing.shared import shared_part
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.admission.webhooks import webhook_configurations, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.applied_objects import GUARDED_KINDS
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import few

WORKLOADS = (("apps/v1", "DaemonSet"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))
_JUDGED_ELSEWHERE = frozenset(read.INDEPENDENT)
"""Components that are looked for by what they do: schedulers, and the default StorageClass."""


def absent_component(
    cluster: Cluster, part: Component, manifests: Sequence[Object], live: Sequence[Object]
) -> Iterator[Problem]:
    """The problem of a component of others of which nothing is there that is its own.

    There it is by a workload or a webhook of its own under the release's name, by a webhook that has the same name in
    another configuration, as those of revisions of Istio have, or by a workload with the image of one of its own,
    whatever others call it. CRDs alone run nothing. A component without any of these is there by one of its other
    objects. `manifests` are the release's objects of it, none where they are not known; `live` the cluster's workloads.

    Raises:
        ApiError: something cannot be read.
    """
    if part.name in _JUDGED_ELSEWHERE:
        return
    own = [ref for ref in (*part.workloads, *part.webhooks) if not shared_part(part.name, ref)]
    if own:
        there = _runs(cluster, own, manifests, live)
    else:
        others = [Ref.of(obj) for obj in manifests if obj["kind"] not in GUARDED_KINDS]
        there = not others or any(_exists(cluster, ref) for ref in others)
        own = others
    if there:
        return
    beside = sorted({item.title for ref in _live_central(cluster, part) if (item := shared_part(part.name, ref))})
    also = f" {few(beside)} is there, which others install without {part.name} as well." if beside else ""
    yield Problem(
        f"{part.title}, which kubeflow_existing names, is not there: neither {few([*map(str, own)], 4)}, nor anything "
        f"else of its own.{also}",
        f"{part.title} itself, under these names or with the same images.",
        f"remove {part.name} from kubeflow_existing, so that this project installs it; or leave it out with "
        f"kubeflow_exclude: [{part.name}].",
    )


def _runs(cluster: Cluster, own: Sequence[Ref], manifests: Sequence[Object], live: Sequence[Object]) -> bool:
    running = {Ref.of(item) for item in live}
    configurations = webhook_configurations(cluster)
    if not running.isdisjoint(own) or not {Ref.of(item) for item in configurations}.isdisjoint(own):
        return True
    mine = [obj for obj in manifests if Ref.of(obj) in own]
    if {hook.name for hook in webhooks(mine)} & {hook.name for hook in webhooks(configurations)}:
        return True
    images = {name for obj in mine for name in _images(obj)}
    return any(images.intersection(_images(item)) for item in live)


def _images(obj: Object) -> Iterator[str]:
    """The last parts of the names of a workload's images, which mirrors keep."""
    spec = ((obj.get("spec") or {}).get("template") or {}).get("spec") or {}
    for container in spec.get("containers") or ():
        if name := ImageName.parse(container.get("image", "")):
            yield name.name


def _live_central(cluster: Cluster, part: Component) -> Iterator[Ref]:
    return (ref for ref in part.central if _exists(cluster, ref))


def _exists(cluster: Cluster, ref: Ref) -> bool:
    try:
        return cluster.get(ref) is not None
    except NotServed:
        return False
