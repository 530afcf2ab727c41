"""kfv_volumes: directories of volumes on hosts, and the owners of what is in them. The steps of the role local_path."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, display
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.hosts.volumes.directory import Directory
from kubeflow_volcano.hosts.volumes.owners import VolumeOwner, read, volume_owners
from kubeflow_volcano.hosts.volumes.table import rendered, rows
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rollout.images.registry.identities import with_identities
from kubeflow_volcano.rollout.settings.hosts import hosts_of_cluster, node_name
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.storage.static_volumes import static_volumes

_GB = 1000**3


class ActionModule(Action):
    """Judge, make and label each host's directory; find the owners of volumes, correct them, and show all of them.

    A directory that is unfit does not fail the step judge: it is in `refusal`, so that all hosts are judged. `register`
    names the variable in which the role registers each host's result of the step repair.
    """

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do one step."""
        step, path = arguments["step"], arguments["path"]
        if step in {"judge", "make"}:
            return self._directory(arguments)
        if step == "label":
            return self.ask("kfv_volume_directory", step="label", path=path)
        if step == "owners":
            return self._owners(arguments["tighten"], required=arguments["required"])
        if step == "repair":
            volumes, repair = arguments["volumes"], arguments["repair"]
            return self.ask("kfv_volume_owners", below=path, volumes=volumes, repair=repair)
        return self._show(arguments)

    def _directory(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Measure on the host and judge here; make what is fit."""
        path, settings = arguments["path"], self.settings_of_cluster()
        given = {"path": path, "directories": self._static_directories(path, settings)}
        measured = self.ask("kfv_volume_directory", step="measure", **given)
        if measured.get("failed") or "directory" not in measured:
            return measured
        directory = Directory.decode(measured["directory"])
        minimum = arguments["minimum_free_gb"] or _claimed_gb(settings)
        problems = ProblemsError(directory.problems(minimum))
        result = {
            "notes": list(directory.notes(minimum)),
            "refusal": problems.describe(),
            "directory": measured["directory"],
            "unmade": measured["unmade"],
        }
        if arguments["step"] == "judge":
            return result
        if problems.problems:
            raise problems
        return result | self.ask("kfv_volume_directory", step="make", **given)

    def _static_directories(self, path: str, settings: Settings) -> list[dict[str, Any]]:
        """Directories of this host's static volumes, each with owner and mode."""
        node = node_name(self.host, self.variables)
        directories = []
        volumes = static_volumes(settings.storage, settings.components)
        if any(volume.node == node for volume in volumes):
            known = with_identities(settings, self.progress)
            volumes = static_volumes(known.storage, known.components)
        for volume in volumes:
            if volume.node == node:
                uid, gid, mode = volume.owner
                place = posixpath.join(path, volume.folder)
                directories.append({"path": place, "uid": uid, "gid": gid, "mode": f"{mode:04o}"})
        return directories

    def _hosts(self) -> tuple[str, ...]:
        """Hosts of the cluster, and of the play where it chose others."""
        return tuple(dict.fromkeys((*hosts_of_cluster(self.groups), *self.variables["ansible_play_hosts_all"])))

    def _owners(self, tighten: list[str], *, required: bool) -> dict[str, Any]:
        """Volumes of each host, as the cluster reports them; without a cluster there are none, unless `required`."""
        hosts = {node_name(host, self.variables_of(host)): host for host in self._hosts()}
        try:
            owners = _owners(with_identities(self.settings_of_cluster(), self.progress))
            _require_known(tighten, owners)
        except ProblemsError as error:
            if required:
                raise
            display(f"Owners of volumes are not checked.\n{error.describe()}")
            owners = ()
        volumes: dict[str, list[dict[str, Any]]] = {}
        for owner in owners:
            if owner.node in hosts:
                volumes.setdefault(hosts[owner.node], []).append(_requested(owner, tighten))
        return {"owners": [asdict(owner) for owner in owners], "hosts": hosts, "volumes": volumes}

    def _show(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Print one table for all hosts."""
        owners = [VolumeOwner(**{**item, "gids": tuple(item["gids"])}) for item in arguments["owners"]]
        answers = {}
        for host in self._hosts():
            answer = self.variables_of(host).get(arguments["register"]) or {}
            if "volumes" in answer:
                answers[host] = answer["volumes"]
        table = rows(owners, arguments["hosts"], answers)
        display(rendered(table))
        return {"rows": [asdict(row) for row in table]}


def _claimed_gb(settings: Settings) -> int:
    """What the chosen components claim together, in GB, rounded up; all of it may come to lie on one node."""
    sizes = [parse_quantity(claim.size) for part in settings.components for claim in part.claims]
    whole: int = math.ceil(sum(sizes) / _GB)
    return whole


def _owners(settings: Settings) -> tuple[VolumeOwner, ...]:
    cluster = Cluster.connect(settings.kubeconfig, settings.context)
    claims = [claim for part in settings.release.components.values() for claim in part.claims]
    try:
        return volume_owners(read(cluster), claims)
    except ApiError as error:
        raise ProblemsError.problem(
            f"the owners of volumes cannot be read from the cluster: {error}.",
            "the right to list nodes, volumes, claims, pods and workloads.",
            "grant it, or see the API server's health; then run this again.",
        ) from error


def _require_known(claims: Sequence[str], owners: Sequence[VolumeOwner]) -> None:
    known = {owner.claim for owner in owners}
    if unknown := [name for name in claims if name not in known]:
        raise ProblemsError.problem(
            f"local_path_tighten_claims has {', '.join(unknown)}, which no volume on a node's disk is bound to.",
            f"claims that are bound to one: {', '.join(sorted(known)) or 'there are none'}.",
            "correct local_path_tighten_claims.",
        )


def _requested(owner: VolumeOwner, tighten: Sequence[str]) -> dict[str, Any]:
    """A volume as kfv_volume_owners takes it."""
    return {
        "name": owner.volume,
        "path": owner.path,
        "sub_path": owner.sub_path,
        "uid": owner.uid,
        "gids": list(owner.gids),
        "tighten": owner.claim in tighten,
    }
