"""What the plan shows: components in order, gang scheduling, queues, fields left to others, a validation, hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.apply.fields.ceded import as_text
from kubeflow_volcano.apply.normalize import normalize
from kubeflow_volcano.catalog.evictions.presets import UPSTREAM
from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.gang.native import makers
from kubeflow_volcano.rollout.gang.trainer import RUNTIME_KINDS
from kubeflow_volcano.rollout.manifests.downloads import without_credentials
from kubeflow_volcano.rollout.settings.ceded import ceded_of
from kubeflow_volcano.rollout.settings.queue_states import QueueState, wanted_states
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.settings.validation.schedule import PART

_WITHOUT = (
    "The group nodes is empty, so no host is set up. Images are renamed in manifests only; kernel settings, container "
    "runtimes and directories of volumes are left to the administrators of the hosts."
)

_OWN_STORAGE = {
    "existing": "none: volumes come from the default StorageClass of the cluster",
    "static": "none: volumes are made in advance, one for each claim of the chosen components",
}


def steps_of(settings: Settings, parts: Mapping[str, Sequence[Object]]) -> Iterator[dict[str, Any]]:
    """Each component with its source, the number of its objects, and the workloads that must become ready."""
    for number, part in enumerate(settings.components, start=1):
        present = {Ref.of(obj) for obj in parts.get(part.name, ())}
        yield {
            "step": number,
            "component": part.name,
            "title": part.title,
            "version": part.version,
            "source": source_of(settings, part),
            "requires": [settings.stands_in(name) for name in part.requires],
            "objects": len(parts.get(part.name, ())),
            "ready": [str(ref) for ref in part.workloads if ref in present],
        }


def source_of(settings: Settings, part: Component) -> str:
    """The source of its manifests, without credentials."""
    if part.name == "local-path" and settings.storage.mode != "local_path":
        return _OWN_STORAGE[settings.storage.mode]
    own = settings.sources.get(part.name)
    if own:
        return without_credentials(own)
    return f"{part.path} of {without_credentials(settings.source)}"


def gang_of(settings: Settings, parts: Mapping[str, Sequence[Object]]) -> dict[str, Any]:
    """The gang scheduler, and the arguments and runtimes that make operators use it."""
    arguments = [
        argument
        for obj in parts.get(COMPONENT, ())
        if obj["kind"] == "Deployment" and obj["metadata"]["name"] == COMPONENT
        for container in obj["spec"]["template"]["spec"]["containers"]
        for argument in container.get("args") or ()
        if "gang" in argument
    ]
    runtimes = [
        obj["metadata"]["name"]
        for obj in parts.get("trainer", ())
        if obj["kind"] in RUNTIME_KINDS and "podGroupPolicy" in obj["spec"]
    ]
    asked = settings.gang_scheduler
    own_volcano = asked == VOLCANO.name and asked not in settings.existing
    return {
        "scheduler": asked,
        "volcano": settings.volcano.version if own_volcano else None,
        "volcano_preset": preset if own_volcano and (preset := settings.scheduling.preset) != UPSTREAM else None,
        "scheduler_plugins": settings.scheduler_plugins.version if asked == SCHEDULER_PLUGINS.name else None,
        "operator_arguments": arguments,
        "trainer_runtimes": runtimes,
        "podgroups": list(makers(parts)) if asked == KUBERNETES.name else [],
    }


def queues_of(settings: Settings, parts: Mapping[str, Sequence[Object]]) -> list[dict[str, Any]]:
    """The queues of the inventory with their state; absent ones with the seconds that draining may take."""
    if VOLCANO.name not in parts:
        return []
    asked = settings.scheduling
    return [
        {"queue": name, "state": str(state)}
        | ({"drain_seconds": asked.drain_seconds} if state is QueueState.ABSENT else {})
        for name, state in wanted_states(asked.queues).items()
    ]


def ceded_fields(settings: Settings, parts: Mapping[str, Sequence[Object]]) -> Iterator[dict[str, Any]]:
    """The objects of which fields are left to others, with these fields."""
    for obj in (obj for objects in parts.values() for obj in objects):
        if pointers := ceded_of(settings.ceded, normalize(obj)):
            yield {"object": str(Ref.of(obj)), "paths": [as_text(pointer) for pointer in pointers]}


def scheduled_validation(settings: Settings) -> dict[str, Any] | None:
    """The CronJob with its rights, if the inventory has a schedule."""
    asked = settings.scheduled
    if not asked.schedule:
        return None
    return {
        "schedule": asked.schedule,
        "image": asked.image,
        "probes": asked.probes,
        "objects": [str(Ref.of(obj)) for obj in settings.added.get(PART, ())],
    }


def hosts_of(nodes: Sequence[str]) -> dict[str, Any]:
    """The hosts of the group `nodes`, and a note if there are none."""
    return {"nodes": list(nodes), "note": "" if nodes else _WITHOUT}
