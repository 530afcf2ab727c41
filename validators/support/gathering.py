"""What of a cluster belongs into a support bundle, as texts by path; credentials are hidden in each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import yaml

from kubeflow_volcano import __version__
from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, last_seen
from kubeflow_volcano.cluster.readiness import assess
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.redaction import redacted, without_secrets, without_variables
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.expectations import SCHEDULER
from kubeflow_volcano.validators.core.resources import CONFIGMAPS, PODS, RESOURCES, Resource
from kubeflow_volcano.validators.reading.trimming import trim_of

_PARALLEL = 6
_LINES = 500
"""Of each container's log, the last ones."""
_MOST_LOGS = 300
_SYSTEM = "kube-system"
"""Of its pods, logs of those that are not ready only: a large cluster has hundreds of others."""

_COMMANDS = ("args", "command", "env", "envFrom", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe")

Target = tuple[Resource, str]


@dataclass
class Gathered:
    """Texts by their path in the bundle, and a line for all that could not be had."""

    files: dict[str, str] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)


def platform_namespaces() -> frozenset[str]:
    """The namespaces that releases of the catalog bring, and kube-system."""
    known = {_SYSTEM}
    for version in read.releases():
        known |= {name for part in read.load_release(version).components.values() for name in part.namespaces}
    for name in read.OWN_FILES:
        known |= {
            space for version in read.versions_of(name) for space in read.load_component(name, version).namespaces
        }
    return frozenset(known)


def gather(cluster: Cluster, namespaces: Sequence[str], *, taken: str, progress: Progress) -> Gathered:
    """Objects of all kinds that checks read, events, and the ends of logs; namespaced ones of `namespaces` only.

    `taken` is the time to write into the bundle.
    """
    gathered = Gathered()
    about = {
        "schema": "kfv.support/v1",
        "version": __version__,
        "taken": taken,
        "server": cluster.version,
        "namespaces": list(namespaces),
    }
    gathered.files["about.json"] = json.dumps(about, indent=2) + "\n"
    targets = list(_targets(cluster, namespaces))
    progress(f"reading {counted(len(RESOURCES), 'kind')} of objects in {counted(len(namespaces), 'namespace')}")
    pods: list[Object] = []
    for (resource, namespace), objects in zip(targets, _each(cluster, _listed, targets, gathered), strict=True):
        if resource == PODS:
            pods += objects
        if objects:
            place = f"objects/{namespace}/{resource}.yaml" if namespace else f"objects/{resource}.yaml"
            gathered.files[place] = _as_yaml(resource, objects)
    progress("reading events")
    for namespace, lines in zip(namespaces, _each(cluster, _events, namespaces, gathered), strict=True):
        if lines:
            gathered.files[f"events/{namespace}.txt"] = redacted("".join(f"{line}\n" for line in lines))
    wanted = list(_logs(pods))
    if len(wanted) > _MOST_LOGS:
        gathered.lacking.append(
            f"{len(wanted) - _MOST_LOGS} of {len(wanted)} logs: those of pods that are not ready came first"
        )
    wanted = wanted[:_MOST_LOGS]
    progress(f"reading {counted(len(wanted), 'log')}")
    for log, texts in zip(wanted, _each(cluster, _read_log, wanted, gathered), strict=True):
        for text in texts:
            gathered.files[log.path] = redacted(without_variables(text))
    gathered.files["lacking.txt"] = redacted("".join(f"{line}\n" for line in gathered.lacking) or "nothing\n")
    return gathered


def _targets(cluster: Cluster, namespaces: Sequence[str]) -> Iterator[Target]:
    for resource in RESOURCES.values():
        try:
            namespaced = cluster.resource(resource.api_version, resource.kind).namespaced
        except NotServed:
            continue
        for namespace in namespaces if namespaced else ("",):
            if resource != CONFIGMAPS or namespace == SCHEDULER.namespace:
                yield resource, namespace


def _each(
    cluster: Cluster, one: Callable[[Cluster, Any], Sequence[Any]], items: Sequence[Any], gathered: Gathered
) -> list[Sequence[Any]]:
    """What `one` returns for every item; nothing, and a line, where the API server refuses it."""

    def tried(item: Any) -> Sequence[Any] | ApiError:
        try:
            return one(cluster, item)
        except ApiError as error:
            return error

    answers = in_parallel(tried, items, _PARALLEL)
    gathered.lacking += [
        f"{_named(item)}: {answer}" for item, answer in zip(items, answers, strict=True) if isinstance(answer, ApiError)
    ]
    return [() if isinstance(answer, ApiError) else answer for answer in answers]


def _named(item: Any) -> str:
    if isinstance(item, _Log):
        return item.path
    return " in ".join(str(part) for part in item if part) if isinstance(item, tuple) else f"events in {item}"


def _listed(cluster: Cluster, target: Target) -> Sequence[Object]:
    resource, namespace = target
    return cluster.list(resource.api_version, resource.kind, namespace=namespace).items


def _events(cluster: Cluster, namespace: str) -> Sequence[str]:
    events = cluster.list("v1", "Event", namespace=namespace).items
    return [_line(obj) for obj in sorted(events, key=last_seen)]


def _line(event: Object) -> str:
    about = event["involvedObject"]
    message = " ".join(str(event.get("message", "")).split())
    return (
        f"{last_seen(event)} {event.get('type', '')} {event.get('reason', '')} x{event.get('count') or 1} "
        f"{about.get('kind', '')} {about.get('name', '')}: {message}"
    )


@dataclass(frozen=True)
class _Log:
    namespace: str
    pod: str
    container: str
    previous: bool = False

    @property
    def path(self) -> str:
        """Where it is in the bundle."""
        return f"logs/{self.namespace}/{self.pod}/{self.container}{'.previous' if self.previous else ''}.log"


def _logs(pods: Sequence[Object]) -> Iterator[_Log]:
    """The logs to read: first those of pods that are not ready."""
    ready = {pod["metadata"]["uid"]: assess(pod).ready for pod in pods}
    for pod in sorted(pods, key=lambda pod: ready[pod["metadata"]["uid"]]):
        meta, status = pod["metadata"], pod.get("status") or {}
        if meta["namespace"] == _SYSTEM and ready[meta["uid"]]:
            continue
        for item in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
            log = partial(_Log, meta["namespace"], meta["name"], item["name"])
            if "waiting" not in (item.get("state") or {}):
                yield log()
            if item.get("restartCount"):
                yield log(previous=True)


def _read_log(cluster: Cluster, log: _Log) -> Sequence[str]:
    text = cluster.logs(log.namespace, log.pod, log.container, previous=log.previous, tail=_LINES)
    return [text] if text else []


def _as_yaml(resource: Resource, objects: Sequence[Object]) -> str:
    trim = trim_of(resource, whole_pods=True)
    for obj in objects:
        trim(obj)
        if resource == PODS:
            _hide_commands(obj["spec"])
    shown = without_secrets(objects, every_variable=True)
    return yaml.dump_all(shown, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)


def _hide_commands(spec: Object) -> None:
    """Remove what containers are started with: it may hold credentials in any form."""
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        for key in _COMMANDS:
            container.pop(key, None)
