"""Volcano as it is on a cluster: its scheduler, wherever others installed it, and the configuration that it mounts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.go_flags import read_flags, values_of
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.foreign import read_yaml

GANG_SWITCH = "enableJobReady"
"""Of the plugin gang: with it off, gangs are not all or nothing, as nothing asks whether minMember pods have a node
(JobReady of pkg/scheduler/framework/session_plugins.go, which decides about stmt.Commit in actions/allocate; v1.8.0 to
v1.15.1). enableJobPipelined and enableJobStarving only matter to what allocate reserves, and to preemption."""

QUEUE_NAME = "scheduling.volcano.sh/queue-name"
"""Annotation with the queue: of a pod or job for itself, of a namespace for its jobs, where something reads it."""
_LABELS = "app=volcano-scheduler"
"""Labels of the scheduler's Deployment in Volcano's manifests and in its chart."""
SCHEDULER_PROGRAM = "vc-scheduler"
"""Name of the scheduler's image, without registry and path."""
_NAME = "volcano-scheduler"
JOB_CONTROLLER = "job-controller"
"""The controller that makes PodGroup and pods of Volcano's own jobs."""
_BUILT_IN = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


VENDORS = re.compile(r"volcano-npu(_v(?P<version>\S+?)_linux-\S+)?$")
"""Plugins that vendors' builds of Volcano load: that of MindCluster for Ascend, whose name has its version."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The `document` under `key` of the ConfigMap `ref`; its plugins with their options, in the order of the tiers.

    Plugins named in `custom` are a vendor's: no version of Volcano has them.
    """

    ref: Ref
    key: str
    document: Mapping[str, Any]
    actions: tuple[str, ...]
    plugins: Mapping[str, Mapping[str, Any]]
    custom: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why the configuration cannot be read."""

    ref: Ref
    reason: str
    message: str
    todo: str


def find_schedulers(cluster: Cluster, namespace: str = "", *, brief: bool = False) -> tuple[Object, ...]:
    """The Deployments with the labels of Volcano's scheduler; in a given namespace also the one with its name.

    `brief` reads their metadata only.

    Raises:
        ApiError: Deployments may not be listed.
    """
    deployments = cluster.list("apps/v1", "Deployment", namespace=namespace, labels=_LABELS, brief=brief).items
    if deployments or not namespace:
        return tuple(deployments)
    named = cluster.get(Ref("apps/v1", "Deployment", namespace, _NAME))
    return (named,) if named else ()


def scheduler_ref(cluster: Cluster, namespace: str = "") -> Ref | None:
    """The only Deployment that is Volcano's scheduler; None if there is none, or several, or they may not be listed."""
    try:
        schedulers = find_schedulers(cluster, namespace, brief=True)
    except ApiError:
        return None
    return Ref.of(schedulers[0]) if len(schedulers) == 1 else None


def read_configuration(
    scheduler: Object, config_map: Callable[[Ref], Object | None], custom: Collection[str] = ()
) -> Configuration | Unusable:
    """The configuration that the Deployment of the scheduler mounts and names in its arguments.

    Without the argument --scheduler-conf it is the one that is built in (DefaultSchedulerConf of pkg/scheduler/util.go,
    the same from v1.8.0 to v1.15.1). What UnmarshalSchedulerConf there refuses is unusable, and nothing else: the
    scheduler then uses what it read last.
    """
    pod = scheduler["spec"]["template"]["spec"]
    container = scheduler_container(pod)
    path = PurePosixPath(flags_of_scheduler(container).get("--scheduler-conf", ""))
    if not path.name:
        return configuration_of(Ref.of(scheduler), "", read_yaml(_BUILT_IN), custom)
    source = _mounted_at(path.parent, container, pod)
    key = next((item["key"] for item in source.get("items") or () if item["path"] == path.name), path.name)
    ref = Ref("v1", "ConfigMap", scheduler["metadata"]["namespace"], source.get("name", "volcano-scheduler-configmap"))
    live = config_map(ref)
    text = ((live or {}).get("data") or {}).get(key)
    if not text:
        message = f"{ref} has no key {key}." if live else f"{ref} does not exist."
        return Unusable(ref, "NoConfiguration", message, "apply Volcano's manifests again.")
    try:
        return configuration_of(ref, key, read_yaml(text), custom)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        message = f"{ref} is not a valid scheduler configuration: {type(error).__name__}: {error}."
        todo = "correct it; until then the scheduler uses what it read last, or its built-in configuration."
        return Unusable(ref, "Unreadable", message, todo)


def configuration_of(ref: Ref, key: str, parsed: Any, custom: Collection[str]) -> Configuration:
    """What was parsed, with the types of pkg/scheduler/conf/scheduler_conf.go; tiers, plugins and names may be absent.

    Raises:
        KeyError, TypeError, AttributeError: the scheduler refuses it, too.
    """
    plugins: dict[str, Mapping[str, Any]] = {}
    for tier in parsed.get("tiers") or ():
        for item in tier.get("plugins") or ():
            for switch, value in item.items():
                if switch.lower().startswith("enable") and not isinstance(value, bool | None):
                    message = f"{switch} of plugin {item.get('name')} is {value!r}, which is neither true nor false"
                    raise TypeError(message)
            if not isinstance(item.get("arguments"), dict | None):
                message = f"arguments of plugin {item.get('name')} are no mapping"
                raise TypeError(message)
            plugins[str(item.get("name") or "")] = item
    actions = tuple(item.strip() for item in parsed["actions"].split(","))
    return Configuration(ref, key, parsed, actions, plugins, frozenset({*custom, *filter(VENDORS.match, plugins)}))


def gang_faults(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Reason and text of what keeps gangs from being all or nothing."""
    if "gang" not in configuration.plugins:
        yield "GangMissing", "plugin gang is missing, so members of a PodGroup are scheduled one by one"
    if configuration.plugins.get("gang", {}).get(GANG_SWITCH) is False:
        yield "GangDisabled", f"plugin gang has {GANG_SWITCH}: false, so members of a PodGroup are scheduled one by one"


def scheduler_container(pod: Object) -> Object:
    """The container of Volcano's scheduler in the spec of its pods."""
    containers: list[Object] = pod["containers"]
    return next((item for item in containers if SCHEDULER_PROGRAM in item["image"]), containers[0])


def scheduler_names(scheduler: Object) -> tuple[str, ...]:
    """The values of `schedulerName` whose pods this scheduler places (cmd/scheduler/app/options of Volcano)."""
    return values_of("--scheduler-name", _words(scheduler_container(scheduler["spec"]["template"]["spec"]))) or (
        "volcano",
    )


def parent_queue(obj: Object) -> str:
    """Name of the queue that a Queue of Volcano is a part of; empty without one, and for other kinds."""
    of_volcano = str(obj.get("apiVersion", "")).startswith("scheduling.volcano.sh/") and obj.get("kind") == "Queue"
    return str((obj.get("spec") or {}).get("parent") or "") if of_volcano else ""


def makes_no_jobs(controllers: Object) -> bool:
    """Whether the flag --controllers of a controller manager leaves out the one of Volcano's own jobs.

    The first word that names it decides, else whether there is '*' (isControllerEnabled of cmd/controller-manager/app
    of Volcano, v1.10.0 to v1.15.1).
    """
    words = values_of("--controllers", _words(controllers["spec"]["template"]["spec"]["containers"][0]))
    decisive = next((word for word in words if word.lstrip("+-") == JOB_CONTROLLER), "")
    return decisive.startswith("-") if decisive else bool(words) and "*" not in words


def labels_of_nodes(container: Object) -> tuple[tuple[str, str], ...]:
    """Labels with their values of which a node must have one for the scheduler to know it; none: it knows every node.

    Its flag --node-selector has `label:value`, several times or with commas; what has no value is passed over
    (updateNodeSelectors of pkg/scheduler/cache/cache.go, nodeCanAddCache of event_handlers.go; v1.5.0 to v1.15.1).
    """
    pairs = (item.partition(":") for item in values_of("--node-selector", _words(container)))
    return tuple((label.strip(), value.strip()) for label, _, value in pairs if value)


def knows(labels: tuple[tuple[str, str], ...], node: Object) -> bool:
    """Whether a scheduler with these labels of nodes knows the node."""
    own = node["metadata"].get("labels") or {}
    return not labels or any(own.get(label) == value for label, value in labels)


def flags_of_scheduler(container: Object) -> Mapping[str, str]:
    """Values by flag; where a shell starts the scheduler, its arguments are one text."""
    return read_flags(_words(container))


def _words(container: Object) -> list[str]:
    return [
        word for item in (*(container.get("command") or ()), *(container.get("args") or ())) for word in item.split()
    ]


def _mounted_at(directory: PurePosixPath, container: Object, pod: Object) -> Object:
    """The ConfigMap's part of the volume that is mounted there, else of the first one; empty without any."""
    maps: dict[str, Object] = {
        item["name"]: item["configMap"] for item in pod.get("volumes") or () if "configMap" in item
    }
    mounts = container.get("volumeMounts") or ()
    here = [
        maps[item["name"]] for item in mounts if item["name"] in maps and PurePosixPath(item["mountPath"]) == directory
    ]
    return next(iter((*here, *maps.values())), {})
