"""The local-path provisioner: its default class, its directory on each node, and the owners of new volumes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.storage import StorageSettings

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"

PROVISIONER = "rancher.io/local-path"
_CONFIG = "local-path-config"
_OTHER_NODES = "DEFAULT_PATH_FOR_NON_LISTED_NODES"


def default_class(objects: Sequence[Object]) -> None:
    """Annotate the provisioner's class as the default one.

    Raises:
        InvalidInput: there is not exactly one.
    """
    classes = [obj for obj in objects if obj["kind"] == "StorageClass" and obj.get("provisioner") == PROVISIONER]
    if len(classes) != 1:
        raise InvalidInput.problem(
            f"{len(classes)} StorageClasses of {PROVISIONER} in the manifests.",
            "one, which becomes the default class.",
            "correct local_path_source.",
        )
    classes[0]["metadata"].setdefault("annotations", {})[DEFAULT_CLASS] = "true"


def base_directories(objects: Sequence[Object], storage: StorageSettings) -> None:
    """Write the directory of each node into config.json; nodes that the inventory does not name get the common one.

    Raises:
        InvalidInput: there is no configuration, or it cannot be read.
    """
    data = _config(objects)
    try:
        config = read_json(data["config.json"])
        entries = {entry["node"]: entry for entry in config["nodePathMap"]}
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput.problem(
            f"config.json of the ConfigMap {_CONFIG} cannot be read: {error}.",
            "JSON with a nodePathMap.",
            "correct local_path_source.",
        ) from error
    paths = {_OTHER_NODES: storage.base_directory, **storage.node_paths}
    wanted = {**entries, **{node: {"node": node, "paths": [path]} for node, path in paths.items()}}
    if wanted != entries:
        data["config.json"] = json.dumps({**config, "nodePathMap": list(wanted.values())}, indent=2)


def owners_of_volumes(objects: Sequence[Object], claims: Iterable[Claim]) -> None:
    """Let the setup script set the owner of a new volume, if its consumer's user is known.

    The script runs as root on the node and gets the directory as second argument, in every version since 0.0.20
    (provisioner.go, createHelperPod); its name ends in _<namespace>_<claim>. Upstream creates it world-writable,
    because fsGroup has no effect on it; volumes of consumers whose user is not known stay so.
    """
    lines = [
        f'*_{claim.namespace}_{claim.name}) chown {claim.owner} "$2" && chmod {claim.mode:04o} "$2" ;;'
        for claim in claims
        if claim.owner
    ]
    data = _config(objects)
    if lines and "setup" in data:
        head = "# Volumes whose consumer is known belong to it alone (added by kubeflow-volcano)."
        data["setup"] = "\n".join([data["setup"].rstrip("\n"), head, 'case "$2" in', *lines, "esac", ""])


def _config(objects: Sequence[Object]) -> dict[str, Any]:
    for obj in objects:
        if obj["kind"] == "ConfigMap" and obj["metadata"]["name"] == _CONFIG:
            data: dict[str, Any] = obj["data"]
            return data
    raise InvalidInput.problem(
        "manifests of the local-path provisioner without its configuration.",
        f"a ConfigMap {_CONFIG}, which has the base directory.",
        "correct local_path_source.",
    )
