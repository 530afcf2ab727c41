"""kfv_volume_owners: whose the volumes of all nodes are, as the cluster says. Documented in plugins/modules."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.cluster.api.client import Cluster
    from kubeflow_volcano.cluster.api.errors import ApiError
    from kubeflow_volcano.hosts.volumes.owners import VolumeOwner, read, volume_owners
    from kubeflow_volcano.problems import Problem, ProblemsError
    from kubeflow_volcano.rollout.settings.hosts import node_name
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
    from kubeflow_volcano.rollout.settings.variables import PREFIXES
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "required": {"type": "bool", "default": False},
    "tighten": {"type": "list", "elements": "str", "default": []},
}


class ActionModule(ActionBase):
    """Ask the cluster, from the Python that runs Ansible, and sort its volumes by host of the inventory."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the directories of each host; without a cluster there are none, and it is said why."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False, "owners": [], "volumes": {}}
        variables = task_vars or {}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        hosts = {node_name(host, variables["hostvars"][host]): host for host in variables["groups"]["all"]}
        try:
            settings = _settings(variables)
            owners = _owners(settings)
            _require_known(arguments["tighten"], owners)
        except ProblemsError as error:
            if arguments["required"]:
                return result | {"failed": True, "msg": error.describe()}
            Display().display(f"Owners of volumes are not looked at.\n{error.describe()}")
            return result | {"hosts": hosts}
        volumes: dict[str, list[dict[str, Any]]] = {}
        for owner in owners:
            if owner.node in hosts:
                volumes.setdefault(hosts[owner.node], []).append(_asked(owner, arguments["tighten"]))
        return result | {"owners": [dataclasses.asdict(owner) for owner in owners], "hosts": hosts, "volumes": volumes}


def _settings(variables: Mapping[str, Any]) -> Settings:
    own = variables["hostvars"]["localhost"]
    return parse({name: own[name] for name in own if name.startswith(PREFIXES)})


def _owners(settings: Settings) -> tuple[VolumeOwner, ...]:
    cluster = Cluster.connect(settings.kubeconfig, settings.context)
    claims = [claim for part in settings.release.components.values() for claim in part.claims]
    try:
        return volume_owners(read(cluster), claims)
    except ApiError as error:
        raise ProblemsError(
            Problem(
                f"the cluster does not say whose its volumes are: {error}.",
                "the right to list nodes, volumes, claims, pods and their workloads.",
                "grant it, or see the API server's health; then run again.",
            )
        ) from error


def _require_known(claims: list[str], owners: tuple[VolumeOwner, ...]) -> None:
    known = {owner.claim for owner in owners}
    unknown = [name for name in claims if name not in known]
    if unknown:
        raise ProblemsError(
            Problem(
                f"local_path_tighten_claims names {', '.join(unknown)}, which no volume on a node's disk is bound to.",
                f"claims that are bound to one: {', '.join(sorted(known)) or 'there are none'}.",
                "correct local_path_tighten_claims.",
            )
        )


def _asked(owner: VolumeOwner, tighten: list[str]) -> dict[str, Any]:
    """What kfv_volumes wants to know of a directory."""
    return {
        "name": owner.volume,
        "path": owner.path,
        "sub_path": owner.sub_path,
        "uid": owner.uid,
        "gids": list(owner.gids),
        "tighten": owner.claim in tighten,
    }
