"""Planned and running images, container by container."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.reach.recognition import image_of, stands_for
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import NODES, PODS
from kubeflow_volcano.validators.subjects.ownership import workload_of
from kubeflow_volcano.validators.subjects.workloads import RESOURCE_OF_KIND

_SPECS = ("initContainers", "containers")
_Kind = tuple[str, str]
_STATUSES = ("initContainerStatuses", "containerStatuses")


@dataclass(frozen=True, slots=True)
class Running:
    """One container of a workload: its planned image and the one in its pod template, both as full names.

    `contents` are the digests that real pods run for this name, on nodes of one architecture and container runtime;
    more than one means that the tag has moved.
    """

    workload: Ref
    container: str
    planned: ImageName
    image: ImageName
    contents: frozenset[str]

    @property
    def same(self) -> bool:
        """Whether it is the planned image with the planned name."""
        return self.planned == self.image

    @property
    def elsewhere(self) -> bool:
        """Whether it is the planned image from another registry."""
        return not self.same and stands_for(self.image, self.planned)


@lru_cache(maxsize=4)
def running(facts: Facts) -> tuple[Running, ...]:
    """Every container of an existing workload for which an image is planned.

    Raises:
        CannotJudgeError: workloads or pods could not be read.
    """
    contents = _contents(facts)
    return tuple(_running(facts, contents))


def images_in(obj: Object) -> Iterator[tuple[tuple[Ref, str], str]]:
    """Image by workload and container of a manifest; nothing if it is not a workload."""
    if obj["kind"] in RESOURCE_OF_KIND:
        for key in _SPECS:
            for item in obj["spec"]["template"]["spec"].get(key) or ():
                yield (Ref.of(obj), item["name"]), item["image"]


def planned_of(facts: Facts, pod: Object, container: str) -> str:
    """The planned image of a container of a pod; empty if none is planned."""
    owner = workload_of(pod)
    return facts.expectations.images.get((owner, container), "") if owner else ""


def as_planned(facts: Facts, image: str, planned: str) -> bool:
    """Whether `image` is the planned one; from another registry only if the plan does not name the registry."""
    one, other = ImageName.parse(image), ImageName.parse(planned)
    if one is None or other is None:
        return False
    return one == other or (not facts.expectations.images_exact and stands_for(one, other))


def _running(facts: Facts, contents: Mapping[tuple[Ref, str, str], frozenset[str]]) -> Iterator[Running]:
    for (ref, container), text in sorted(facts.expectations.images.items()):
        live = facts.get(RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name)
        asked = image_of(live["spec"]["template"], container) if live else ""
        planned, image = ImageName.parse(text), ImageName.parse(asked)
        if planned and image:
            yield Running(ref, container, planned, image, contents.get((ref, container, asked), frozenset()))


def _contents(facts: Facts) -> Mapping[tuple[Ref, str, str], frozenset[str]]:
    """Digests by planned workload, container and image of real pods.

    Container runtimes report the digest of a manifest list, or that of the manifest for their architecture. So only
    nodes of one kind are compared, and of several kinds the one with the most digests counts.
    """
    simulated = {item["metadata"]["uid"] for item in facts.simulated_pods}
    planned = {ref for ref, _ in facts.expectations.images}
    kinds = {item["metadata"]["name"]: _kind(item) for item in facts.all(NODES)}
    contents: dict[tuple[Ref, str, str], dict[_Kind, set[str]]] = defaultdict(lambda: defaultdict(set))
    for pod in facts.all(PODS):
        owner = workload_of(pod)
        if owner is None or owner not in planned or pod["metadata"]["uid"] in simulated:
            continue
        kind = kinds.get(pod["spec"].get("nodeName", ""), ("", ""))
        for status in (item for key in _STATUSES for item in pod.get("status", {}).get(key) or ()):
            if digest := status.get("imageID", "").rpartition("@")[2]:
                contents[owner, status["name"], image_of(pod, status["name"])][kind].add(digest)
    return {place: max(map(frozenset, digests.values()), key=len) for place, digests in contents.items()}


def _kind(node: Object) -> _Kind:
    info = node.get("status", {}).get("nodeInfo", {})
    return info.get("architecture", ""), info.get("containerRuntimeVersion", "").partition(":")[0]
