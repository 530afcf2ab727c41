"""kfv_directories: the directory of volumes on a host, judged where Ansible runs. Documented in plugins/modules."""

from __future__ import annotations

import math
import posixpath
import sys
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from kubernetes.utils.quantity import parse_quantity

try:
    from kubeflow_volcano.hosts.volumes.directory import Directory
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.rollout.settings.hosts import node_name
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
    from kubeflow_volcano.rollout.settings.variables import PREFIXES
    from kubeflow_volcano.rollout.storage.static_volumes import static_volumes
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "path": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["judged", "present"], "default": "present"},
    "minimum_free_gb": {"type": "int", "default": 0},
}


_GB = 1000**3


class ActionModule(ActionBase):
    """Measure on the host, judge here, and make on the host what is fit."""

    TRANSFERS_FILES = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Tell everything that is wrong with the directory; what is of no use is not touched."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        path = arguments["path"]
        try:
            settings = _settings(variables)
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe()}
        minimum = arguments["minimum_free_gb"] or _claimed_gb(settings)
        given = {"path": path, "directories": _in_advance(path, settings, variables)}
        judged = self._asked(given | {"state": "judged"}, variables)
        if judged.get("failed") or "directory" not in judged:
            return result | judged
        found = Directory.decode(judged["directory"])
        told = ProblemsError(found.problems(minimum)).describe()
        result |= {"changed": False, "notes": list(found.notes(minimum)), "refusal": told}
        result |= {"directory": judged["directory"], "unmade": judged["unmade"]}
        if arguments["state"] == "judged":
            return result
        if told:
            return result | {"failed": True, "msg": told}
        return result | self._asked(given | {"state": "present"}, variables)

    def _asked(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module("kfv_directories", module_args=arguments, task_vars=variables)
        return answer


def _settings(variables: Mapping[str, Any]) -> Settings:
    """Settings of the cluster, which is not the host's own.

    Raises:
        InvalidInput: they cannot work.
    """
    own = variables["hostvars"]["localhost"]
    return parse({name: own[name] for name in own if name.startswith(PREFIXES)})


def _claimed_gb(settings: Settings) -> int:
    """What the chosen components claim together, rounded up; all of it may come to lie on one node."""
    sizes = [parse_quantity(claim.size) for part in settings.components for claim in part.claims]
    whole: int = math.ceil(sum(sizes) / _GB)
    return whole


def _in_advance(path: str, settings: Settings, variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Directories of the volumes that are made in advance on this host, each with owner and mode."""
    node = node_name(variables["inventory_hostname"], variables)
    found = []
    for volume in static_volumes(settings):
        if volume.node == node:
            uid, gid, mode = volume.owner
            found.append({"path": posixpath.join(path, volume.folder), "uid": uid, "gid": gid, "mode": f"{mode:04o}"})
    return found
