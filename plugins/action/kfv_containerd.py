"""kfv_containerd: a node's containerd is told where images come from. Documented in plugins/modules."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.catalog.images.mirrors import known_mirrors, load_mirror
    from kubeflow_volcano.cluster.api.client import Cluster
    from kubeflow_volcano.cluster.api.errors import ApiError
    from kubeflow_volcano.hosts.containerd import plan as planning
    from kubeflow_volcano.hosts.containerd.authority import authority
    from kubeflow_volcano.hosts.containerd.check import accepted, check_files
    from kubeflow_volcano.hosts.containerd.look import Look, not_containerd
    from kubeflow_volcano.hosts.containerd.mirrors import wanted
    from kubeflow_volcano.hosts.containerd.shown import shown
    from kubeflow_volcano.hosts.facts import CannotLookError, HostFacts
    from kubeflow_volcano.hosts.node_ready import has_cluster, moving, unready
    from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
    from kubeflow_volcano.rollout.images.rename.rules import Rules
    from kubeflow_volcano.rollout.settings.hosts import node_name
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "settings": {"type": "dict", "required": True},
    "images": {"type": "dict", "default": {}},
    "write": {"type": "bool", "default": True},
}
_MOST_IMPORTS = 8


class ActionModule(ActionBase):
    """Look at the node, work out what has to change, ask its containerd about it, then write it."""

    TRANSFERS_FILES = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Change what has to be changed, or only say what keeps it from being done."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False, "problems": []}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        self._task_vars = task_vars or {}
        try:
            return result | self._changed(parse(arguments["settings"]), arguments)
        except ProblemsError as error:
            told = {"problems": [asdict(problem) for problem in error.problems]}
            return result | told | ({"failed": True, "msg": error.describe()} if arguments["write"] else {})
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)  # noqa: SLF001  as Ansible's own actions do

    def _changed(self, settings: Settings, arguments: Mapping[str, Any]) -> dict[str, Any]:
        plan, look = self._planned(settings, arguments["images"].get("registries", []))
        # A change that was not seen through may be what keeps the Node from being ready.
        notes = [*plan.notes, *(_of_node(settings, self._node()) if plan.restart and not look.unfinished else ())]
        if not arguments["write"]:
            return {"restart": plan.restart}
        for note in notes:
            Display().warning(f"{self._task_vars['inventory_hostname']}: {note}")
        result = {
            "restart": plan.restart,
            "changed": bool(plan.writes or look.unfinished),
            "diff": [shown(item) for item in plan.writes],
        }
        if plan.writes and not self._task.check_mode:
            result["copies"] = self._asked("kfv_containerd_change", _sent(plan))["copies"]
        return result

    def _node(self) -> str:
        name = self._templar.template(self._task_vars.get("kubeflow_node_name", ""))
        return node_name(self._task_vars["inventory_hostname"], {"kubeflow_node_name": name})

    def _planned(self, settings: Settings, registries: list[str]) -> tuple[planning.Plan, Look]:
        facts = HostFacts.decode(self._asked("kfv_host_facts", {})["facts"])
        try:
            problems = [*not_containerd(facts.need("runtime"), facts.need("kubelet"))]
        except CannotLookError as error:
            problems = [Problem(f"the node's runtime could not be seen: {error}.", "containerd.", "see to the node.")]
        if problems:
            raise InvalidInput(problems)
        chosen = settings.mirror.containerd
        choice = planning.Choice(chosen.config_path, authority(chosen.ca), extend=chosen.existing == "extend")
        look = Look.decode(self._asked("kfv_containerd_look", {}))
        globs: tuple[str, ...] = ()
        for _ in range(_MOST_IMPORTS):
            further = planning.patterns(look)
            trees = planning.directories(look, choice)
            if not further and set(trees) <= set(look.trees):
                break
            globs += further
            seen = {"globs": globs, "trees": trees, "authority": f"{trees[0]}/{planning.CA_FILE}"}
            look = Look.decode(self._asked("kfv_containerd_look", seen))
        rules = Rules(settings.mirror).rules
        mirrors = wanted(
            rules,
            [*_well_known(), *(chosen.registries or registries)],
            plain_http=chosen.plain_http,
            ca=f"{trees[0]}/{planning.CA_FILE}" if chosen.ca else "",
            upstream=chosen.upstream,
        )
        plan = planning.plan(look, mirrors, choice)
        if plan.expected is not None:
            files = {name: _encoded(text) for name, text in check_files(look, plan).items()}
            answer = self._asked("kfv_containerd_look", {"check": files})
            accepted(plan, answer["dump"], answer["dump_error"], look.config)
        return plan, look

    def _asked(self, module: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(module, module_args=dict(arguments), task_vars=self._task_vars)
        if answer.get("failed") or answer.get("unreachable"):
            raise AnsibleError(str(answer.get("msg") or f"{module} gave no answer"))
        return answer


def _well_known() -> set[str]:
    """Registries that every mirror is used for, whatever images are rolled out."""
    return {host for name in known_mirrors() for host in load_mirror(name).hosts}


def _of_node(settings: Settings, node: str) -> list[str]:
    """See that the Node is ready before its containerd restarts; what there is to tell where that cannot be seen."""
    if not has_cluster(settings.kubeconfig):
        return ["no kubeconfig says where the cluster is, so its Node is not looked at."]
    pods: tuple[str, ...] = ()
    try:
        cluster = Cluster.connect(settings.kubeconfig, settings.context)
        if (trouble := unready(cluster, node)) == "":
            pods = moving(cluster, node)
    except ApiError as error:
        trouble = f"the API server answers: {error}"
    if trouble is None:
        return [f"the cluster has no Node {node}, so none is looked at (kubeflow_node_name says another name)."]
    if trouble:
        raise InvalidInput(
            Problem(
                f"the Node {node} is not ready: {trouble}.",
                "a Node that is ready before its containerd restarts, so that what follows can be told apart.",
                "see to the Node, and run this again.",
            )
        )
    return [f"its restart meets pods that are being made or removed: {', '.join(pods)}."] if pods else []


def _sent(plan: planning.Plan) -> dict[str, Any]:
    return {
        "step": "write",
        "files": [{"path": item.path, "foreign": item.foreign} for item in plan.writes],
        "contents": {item.path: _encoded(item.after) for item in plan.writes if item.after is not None},
    }


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")
