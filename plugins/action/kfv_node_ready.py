"""kfv_node_ready: localhost asks the cluster whether a Node is ready. Documented in plugins/modules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

try:
    from kubeflow_volcano.cluster.client import Cluster
    from kubeflow_volcano.cluster.errors import ApiError
    from kubeflow_volcano.hosts.node_ready import has_cluster, unready, wait_until_ready
    from kubeflow_volcano.problems import Problem, ProblemsError
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "node": {"type": "str", "required": True},
    "kubeconfig": {"type": "path", "default": ""},
    "context": {"type": "str", "default": ""},
    "since": {"type": "float", "default": 0.0},
    "seconds": {"type": "int", "default": 120},
}


class ActionModule(ActionBase):
    """Wait for a Node."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail where the Node does not get ready in time; skip, with the reason, where there is none to ask about."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        kubeconfig = Path(arguments["kubeconfig"]).expanduser() if arguments["kubeconfig"] else None
        node = arguments["node"]
        if not has_cluster(kubeconfig):
            return result | {"skipped": True, "msg": "no kubeconfig says where the cluster is"}
        try:
            cluster = Cluster.connect(kubeconfig, arguments["context"] or None)
            if unready(cluster, node) is None:
                return result | {"skipped": True, "msg": f"the cluster has no Node {node}"}
            trouble = wait_until_ready(cluster, node, arguments["since"], arguments["seconds"])
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.told()}
        except ApiError as error:
            trouble = f"the API server answers: {error}"
        if trouble:
            problem = Problem(
                f"the Node {node} is not ready: {trouble}.",
                f"a Node that is ready within {arguments['seconds']} s.",
                "see to the Node (kubectl describe node), its kubelet and its runtime.",
            )
            return result | {"failed": True, "msg": str(problem)}
        return result | {"msg": f"the Node {node} is ready"}
