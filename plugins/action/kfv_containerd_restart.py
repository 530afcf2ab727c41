"""kfv_containerd_restart: a changed containerd is put into use, or the change is taken back. See plugins/modules."""

from __future__ import annotations

import sys
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

try:
    from kubeflow_volcano.cluster.api.client import Cluster
    from kubeflow_volcano.cluster.api.errors import ApiError
    from kubeflow_volcano.hosts.node_ready import has_cluster, unready, wait_until_ready
    from kubeflow_volcano.problems import Problem, ProblemsError
    from kubeflow_volcano.rollout.settings.hosts import node_name
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "settings": {"type": "dict", "required": True},
    "restart": {"type": "bool", "default": True},
}


class ActionModule(ActionBase):
    """Restart, wait for containerd and for the Node, pull a test image; else back to what was."""

    TRANSFERS_FILES = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with what went wrong and how the node was left."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": True}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        self._task_vars = task_vars or {}
        if self._task.check_mode:
            return result
        try:
            settings = parse(arguments["settings"])
            trouble = self._tried(settings, arguments)
            if trouble:
                return result | {
                    "failed": True,
                    "msg": ProblemsError(self._back(settings, arguments, trouble)).describe(),
                }
            self._asked({"step": "finish"})
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe()}
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)  # noqa: SLF001  as Ansible's own actions do
        return result

    def _node(self) -> str:
        name = self._templar.template(self._task_vars.get("kubeflow_node_name", ""))
        return node_name(self._task_vars["inventory_hostname"], {"kubeflow_node_name": name})

    def _tried(self, settings: Settings, arguments: dict[str, Any]) -> str:
        chosen = settings.mirror.containerd
        if arguments["restart"]:
            answer = self._asked({"step": "restart", "seconds": chosen.ready_seconds})
            if answer["trouble"]:
                return f"containerd did not come up with it: {answer['trouble']}"
            node = self._node()
            if trouble := _of_node(settings, node, answer["since"]):
                return f"the Node {node} is not ready with it: {trouble}"
        if chosen.test_image:
            return str(self._asked({"step": "pull", "pull": chosen.test_image})["trouble"])
        return ""

    def _back(self, settings: Settings, arguments: dict[str, Any], trouble: str) -> Problem:
        self._asked({"step": "restore"})
        left = "What stood on the node before is back"
        todo = "see what containerd says (journalctl -u containerd), correct it"
        if "x509" in trouble:
            todo = "name the authority that signed the mirror's certificate in image_mirror_containerd_ca"
        if arguments["restart"]:
            again = self._asked({"step": "restart", "seconds": settings.mirror.containerd.ready_seconds})["trouble"]
            left += f", but containerd does not come up with that either: {again}" if again else ", and containerd runs"
        self._asked({"step": "finish"})
        return Problem(
            f"a change of containerd's registries was written, and {trouble.rstrip('.')}. {left}.",
            "a containerd that comes up with the change, and pulls by it; the nodes after this one were left alone.",
            f"{todo}, and run this again.",
        )

    def _asked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(
            "kfv_containerd_change", module_args=arguments, task_vars=self._task_vars
        )
        if answer.get("failed") or answer.get("unreachable"):
            raise AnsibleError(str(answer.get("msg") or "kfv_containerd_change gave no answer"))
        return answer


def _of_node(settings: Settings, node: str, since: float) -> str:
    """Why the Node is not ready, with a Lease renewed after that time of its own clock; "" also where none is known."""
    if not has_cluster(settings.kubeconfig):
        return ""
    try:
        cluster = Cluster.connect(settings.kubeconfig, settings.context)
        if unready(cluster, node) is None:
            return ""
        return wait_until_ready(cluster, node, since, settings.mirror.containerd.node_seconds)
    except (ApiError, ProblemsError) as error:
        return str(error)
