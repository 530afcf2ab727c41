"""Volumes: who provisions them, and in which directory of which node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.decode import Key
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import did_you_mean


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """The provisioner (`mode` is local_path, existing or static), and the directories of volumes.

    `static_nodes` maps claims, as namespace/name, whose volume is not on `static_node`.
    """

    mode: Annotated[str, Key("local_path_storage_mode")]
    base_directory: Annotated[str, Key("local_path_base_directory")]
    directories: Annotated[Mapping[str, str], Key("local_path_node_paths")]
    static_node: Annotated[str, Key("local_path_static_node")]
    static_nodes: Annotated[Mapping[str, str], Key("local_path_static_nodes")]

    @property
    def node_paths(self) -> Mapping[str, str]:
        """By node: the directory where it is not `base_directory`."""
        return {node: path for node, path in self.directories.items() if path != self.base_directory}

    def directory_on(self, node: str) -> str:
        """The directory of volumes on that node."""
        return self.directories.get(node, self.base_directory)


def validate_static_volumes(storage: StorageSettings, parts: Iterable[Component]) -> Iterator[Problem]:
    """Problems of statically provisioned volumes for the claims of those components."""
    if storage.mode != "static":
        return
    claims = [f"{claim.namespace}/{claim.name}" for part in parts for claim in part.claims]
    if not claims:
        yield Problem(
            "local_path_storage_mode is static, and no chosen component has a PersistentVolumeClaim.",
            "components with claims, such as those of the profile full.",
            "set local_path_storage_mode: local_path, or choose more components.",
        )
    for name in storage.static_nodes:
        if name not in claims:
            yield Problem(
                f"local_path_static_nodes.{name}, which is not a claim of a chosen component."
                f"{did_you_mean(name, claims)}",
                f"one of: {', '.join(claims)}.",
                "correct the name, or remove the entry.",
            )
    if without := [name for name in claims if not storage.static_nodes.get(name, storage.static_node)]:
        yield Problem(
            f"no node for the volumes of {', '.join(without)}.",
            "a node for each volume, as local_path_storage_mode is static.",
            "set local_path_static_node to the name of a Node, or local_path_static_nodes for single claims.",
        )
