"""The directories on nodes that hold volumes, looked at by a pod on each node; nothing in them is read or written."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.volumes import directory_of, node_of
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.experiment.ended import End, watch_to_end
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, on_node, probe_pod
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import NODES, STORAGE_CLASSES, VOLUMES
from kubeflow_volcano.validators.probes.storage.writing import label_in, listed
from kubeflow_volcano.validators.subjects.storage_classes import LOCAL_PATH, serving_workloads

MOST_BASES = 40
"""More directories than these are not looked at in one run."""

_MOST_VOLUMES = 500
_PLAIN = re.compile(r"[\w./-]+").fullmatch
OTHER_NODES = "DEFAULT_PATH_FOR_NON_LISTED_NODES"
_CONFIG = "local-path-config"
_UPSTREAMS_PATH = "/opt/local-path-provisioner"
"""The only path of rancher/local-path-provisioner, deploy/local-path-storage.yaml."""
_NOT_LISTED = re.compile(r"config doesn't contain node (\S+), and no ")
"""Why the local path provisioner makes no volume on a node (its provisioner.go, getPathOnNode)."""

SCRIPT = """
set -u
say() { printf '%s\\n' "$*" >> /dev/termination-log; }
say "ls $(ls -ldn /kfv 2>&1)"
say "label $(ls -ldZ /kfv 2>/dev/null)"
say "df $(df -k /kfv | tail -n 1)"
say "mount $(grep ' /kfv ' /proc/mounts | tail -n 1)"
all=0 open=0
for d in $KFV_VOLUMES; do
  [ -d "/kfv/$d" ] || continue
  all=$((all + 1))
  case $(ls -ldn "/kfv/$d") in d???????w*) open=$((open + 1)) ;; esac
done
say "volumes $all $open"
"""
"""For busybox sh and any other; reports to the termination log. Volumes of probes come and go, and are not named."""


@dataclass(frozen=True, slots=True, order=True)
class Base:
    """A directory of volumes on a node."""

    node: str
    path: str
    volumes: tuple[str, ...] = ()
    """Directories below it that were volumes before the probes, at most 500."""

    def __str__(self) -> str:
        return f"{self.path} on {self.node}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one base; `missing` where it is not there, `failure` where it could not be looked at.

    `mode` is octal, `free_bytes` what its file system has left, `options` are those of its mount. `volumes` is their
    number, `open` that of the world-writable ones.
    """

    base: Base
    missing: bool = False
    failure: str = ""
    mode: str = ""
    uid: int | None = None
    label: str = ""
    free_bytes: int | None = None
    file_system: str = ""
    options: frozenset[str] = frozenset()
    volumes: int = 0
    open: int = 0


def bases(session: Session, facts: Facts) -> tuple[Base, ...]:
    """Directories on Ready, real nodes: where the local path provisioner makes volumes, and where volumes lie.

    Raises:
        CannotJudgeError: nodes, classes or volumes could not be read.
        ApiError: the provisioner's configuration may not be read.
    """
    ready = {item["metadata"]["name"] for item in facts.all(NODES) if assess(item).state is State.READY}
    real = ready - facts.simulated_nodes
    inside: dict[tuple[str, str], list[str]] = {key: [] for key in _of_provisioner(session, facts, real)}
    for node, base, volume in _of_volumes(facts, real):
        inside.setdefault((node, base), []).append(volume)
    return tuple(Base(*key, tuple(filter(_PLAIN, names))[:_MOST_VOLUMES]) for key, names in sorted(inside.items()))


def _of_provisioner(session: Session, facts: Facts, nodes: set[str]) -> Iterator[tuple[str, str]]:
    classes = facts.all(STORAGE_CLASSES)
    if not any(item["provisioner"] == LOCAL_PATH for item in classes):
        return
    for namespace in {ref.namespace for ref in serving_workloads(facts, LOCAL_PATH)}:
        live = session.cluster.get(Ref("v1", "ConfigMap", namespace, _CONFIG))
        paths = _paths(live) if live else {}
        for node in nodes:
            for path in paths.get(node, paths.get(OTHER_NODES, [])):
                yield node, path


def _paths(config: Object) -> dict[str, list[str]]:
    try:
        entries = read_json(config["data"]["config.json"])["nodePathMap"]
        return {entry["node"]: entry["paths"] for entry in entries}
    except (KeyError, TypeError, ValueError):
        return {}  # a file system that nodes share, or something that D5 fails at


def _of_volumes(facts: Facts, nodes: set[str]) -> Iterator[tuple[str, str, str]]:
    for volume in facts.all(VOLUMES):
        path, node = PurePosixPath(directory_of(volume) or "/"), node_of(volume)
        parent = path.parent.parent if path.parent.name == "static" else path.parent
        if node in nodes and len(parent.parts) > 1:
            yield node, str(parent), str(path.relative_to(parent))


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A node for which the provisioner has no path: its ConfigMap, and config.json with the node; empty if unread."""

    node: str
    config: Ref
    wanted: str


def unlisted(session: Session, facts: Facts, text: str) -> Unlisted | None:
    """The node that the local path provisioner's configuration lacks, by what it says about a claim."""
    match = _NOT_LISTED.search(text)
    places = sorted({ref.namespace for ref in serving_workloads(facts, LOCAL_PATH)})
    if not match or len(places) != 1:
        return None
    ref, wanted = Ref("v1", "ConfigMap", places[0], _CONFIG), ""
    with contextlib.suppress(ApiError, KeyError, TypeError, ValueError, AttributeError):
        whole = read_json((session.cluster.get(ref) or {})["data"]["config.json"])
        entries = whole.get("nodePathMap") or []
        paths = next((entry["paths"] for entry in entries if entry["paths"]), [_UPSTREAMS_PATH])
        wanted = json.dumps(whole | {"nodePathMap": [*entries, {"node": match[1], "paths": paths}]})
    return Unlisted(match[1], ref, wanted)


def look(session: Session, base: Base, number: int, seconds: float) -> Seen:
    """Look at one for at most `seconds`; `number` makes names unique within the run.

    Raises:
        ProbeRefused: the pod is not admitted.
        ApiError: the server does not answer.
    """
    name = f"kfv-{session.run}-base-{number}"
    container = {
        "image": session.options.busybox_image,
        "resources": SCRIPT_RESOURCES,
        "command": ["sh", "-c", SCRIPT],
        "env": [{"name": "KFV_VOLUMES", "value": " ".join(base.volumes)}],
        "volumeMounts": [{"name": "base", "mountPath": "/kfv"}],
    }
    volume = {"name": "base", "hostPath": {"path": base.path, "type": "Directory"}}
    security = {"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"volumes": [volume], **on_node(base.node)}
    pod = session.create(probe_pod(name, session.namespace(Level.PRIVILEGED), container, spec=spec, security=security))
    end = watch_to_end(session, pod, seconds)
    session.delete(pod)
    return account(base, end)


def account(base: Base, end: End) -> Seen:
    """What the script's report says."""
    if end.reason == "FailedMount":
        return Seen(base, missing=True)
    said = {word: rest for line in end.said.splitlines() for word, _, rest in [line.partition(" ")]}
    if end.failure or "volumes" not in said:
        return Seen(base, failure=end.failure or "the probe ended before it had seen everything")
    mode, uid, _ = listed(said.get("ls", ""))
    mount, room = said.get("mount", "").split(), said.get("df", "").split()
    every, _, opened = said["volumes"].partition(" ")
    return Seen(
        base,
        mode=mode,
        uid=uid,
        label=label_in(said.get("label", "")),
        free_bytes=int(room[-3]) * 1024 if len(room) > 4 and room[-3].isdigit() else None,  # noqa: PLR2004  df's columns
        file_system=mount[2] if len(mount) > 3 else "",  # noqa: PLR2004  source, directory, type, options
        options=frozenset(mount[3].split(",")) if len(mount) > 3 else frozenset(),  # noqa: PLR2004  as above
        volumes=int(every),
        open=int(opened),
    )
