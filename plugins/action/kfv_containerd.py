"""kfv_containerd: containerd of a node pulls images from a mirror. The steps of the role image_mirror_containerd."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, warn
from kubeflow_volcano.catalog.images.mirrors import known_mirrors, load_mirror
from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.hosts.containerd import plan as planning
from kubeflow_volcano.hosts.containerd.check import candidate_files, require_accepted
from kubeflow_volcano.hosts.containerd.look import Look, runtime_problems
from kubeflow_volcano.hosts.containerd.mirrors import authority, mirror_hosts
from kubeflow_volcano.hosts.facts import CannotLookError, HostFacts
from kubeflow_volcano.hosts.node_ready import after_restart, before_restart
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.rollout.images.rename.rules import Rules
from kubeflow_volcano.rollout.settings.hosts import node_name
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import few

_MOST_IMPORTS = 8


class ActionModule(Action):
    """Look at nodes, judge all of them at once, then write files on a node, and restart its containerd.

    The restart is a step of its own, as a handler runs it. `images` is the result of kfv_images, whose registries a
    rule for every registry reaches. `nodes` has the result of the step look by host.
    """

    ARGUMENTS: ClassVar = {
        "step": {"type": "str", "choices": ["look", "judge", "write", "restart"], "required": True},
        "settings": {"type": "dict", "default": {}},
        "images": {"type": "dict", "default": {}},
        "nodes": {"type": "dict", "default": {}},
        "restart": {"type": "bool", "default": True},
    }

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do one step."""
        if arguments["step"] == "judge":
            return _judge(arguments["nodes"])
        settings = self.settings_with_secrets(arguments["settings"])
        registries = arguments["images"].get("registries", [])
        if arguments["step"] == "restart":
            return self._restart(settings, restart=arguments["restart"])
        if arguments["step"] == "write":
            return self._write(settings, registries)
        try:
            plan, _, _ = self._plan(settings, registries)
        except ProblemsError as error:  # all nodes are judged together
            return {"problems": [problem.as_dict() for problem in error.problems]}
        return {"problems": [], "restart": plan.restart}

    def _write(self, settings: Settings, registries: list[str]) -> dict[str, Any]:
        plan, look, notes = self._plan(settings, registries)
        for note in notes:
            warn(f"{self.host}: {note}")
        result = {
            "restart": plan.restart,
            "changed": bool(plan.writes or look.unfinished),
            "diff": [item.diff() for item in plan.writes],
        }
        if plan.writes and not self.check_mode:
            files = [{"path": item.path, "foreign": item.foreign} for item in plan.writes]
            contents = {item.path: _encoded(item.after) for item in plan.writes if item.after is not None}
            result["copies"] = self.need("kfv_containerd", step="write", files=files, contents=contents)["copies"]
        return result

    def _plan(self, settings: Settings, registries: list[str]) -> tuple[planning.Plan, Look, list[str]]:
        """What is to be written, what was seen, and notes for a person; containerd itself has accepted it."""
        self._require_containerd()
        chosen = settings.mirror.containerd
        choice = planning.Choice(chosen.config_path, authority(chosen.ca), extend=chosen.existing == "extend")
        look, directory = self._look(choice)
        ca = f"{directory}/{planning.CA_FILE}" if chosen.ca else ""
        mirrors = mirror_hosts(
            Rules(settings.mirror).rules,
            [*_well_known(), *(chosen.registries or registries)],
            plain_http=chosen.plain_http,
            ca=ca,
            upstream=chosen.upstream,
        )
        plan = planning.plan(look, mirrors, choice)
        if plan.expected is not None:
            files = {name: _encoded(text) for name, text in candidate_files(look, plan).items()}
            answer = self.need("kfv_containerd", step="check", contents=files)
            require_accepted(plan, answer["dump"], answer["dump_error"], look.config)
        # An unfinished change may be the reason why the Node is not ready.
        of_node: tuple[str, ...] = ()
        if plan.restart and not look.unfinished:
            of_node = before_restart(settings.kubeconfig, settings.context, self._node())
        return plan, look, [*plan.notes, *of_node]

    def _require_containerd(self) -> None:
        facts = HostFacts.decode(self.need("kfv_host_facts")["facts"])
        try:
            problems = [*runtime_problems(facts.need("runtime"), facts.need("kubelet"))]
        except CannotLookError as error:
            found = f"the node's container runtime could not be examined: {error}."
            problems = [Problem(found, "containerd as the kubelet's runtime.", "correct that, and run this again.")]
        if problems:
            raise InvalidInput(problems)

    def _look(self, choice: planning.Choice) -> tuple[Look, str]:
        """What there is on the node, imports of imports included, and the directory that is written to."""
        look = Look.decode(self.need("kfv_containerd", step="look"))
        globs: tuple[str, ...] = ()
        for _ in range(_MOST_IMPORTS):
            further = planning.unread_imports(look)
            trees = planning.directories(look, choice)
            if not further and set(trees) <= set(look.trees):
                break
            globs += further
            authority_file = f"{trees[0]}/{planning.CA_FILE}"
            answer = self.need("kfv_containerd", step="look", globs=globs, trees=trees, authority=authority_file)
            look = Look.decode(answer)
        return look, trees[0]

    def _restart(self, settings: Settings, *, restart: bool) -> dict[str, Any]:
        """Put written files into use; a node on which that fails gets back what it had."""
        if not self.check_mode:
            trouble = self._try(settings, restart=restart)
            if trouble:
                raise ProblemsError(self._restore(settings, trouble, restart=restart))
            self.need("kfv_containerd", step="finish")
        return {"changed": True}

    def _try(self, settings: Settings, *, restart: bool) -> str:
        """Why the node does not work with the change, empty where it does."""
        chosen = settings.mirror.containerd
        if restart:
            answer = self.need("kfv_containerd", step="restart", seconds=chosen.ready_seconds)
            if answer["trouble"]:
                return f"containerd did not come up with it: {answer['trouble']}"
            node = self._node()
            since, seconds = answer["since"], chosen.node_seconds
            if trouble := after_restart(settings.kubeconfig, settings.context, node, since, seconds):
                return f"the Node {node} is not ready with it: {trouble}"
        if chosen.test_image:
            return str(self.need("kfv_containerd", step="pull", image=chosen.test_image)["trouble"])
        return ""

    def _restore(self, settings: Settings, trouble: str, *, restart: bool) -> Problem:
        """Put back what was there before, and describe what happened."""
        self.need("kfv_containerd", step="restore")
        left = "The node's former files are restored"
        todo = "find the cause in containerd's log (journalctl -u containerd), correct it"
        if symptom := recognise(trouble, "pull"):
            todo = symptom.todo.removesuffix(".")
            if symptom.reason == "RegistryCertificate":
                todo = "set image_mirror_containerd_ca to the certificate of the authority that signed the mirror's"
        if restart:
            seconds = settings.mirror.containerd.ready_seconds
            again = self.need("kfv_containerd", step="restart", seconds=seconds)["trouble"]
            left += f", but containerd does not come up with them either: {again}" if again else ", and containerd runs"
        self.need("kfv_containerd", step="finish")
        return Problem(
            f"a change of containerd's registries was written, and {trouble.rstrip('.')}. {left}.",
            "a containerd that comes up with the change, and pulls through the mirror; later nodes were not changed.",
            f"{todo}, and run this again.",
        )

    def _node(self) -> str:
        return node_name(self.host, self.variables)


def _judge(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Fail with the problems of all nodes, equal ones once."""
    met: dict[Problem, list[str]] = defaultdict(list)
    for node, look in nodes.items():
        for item in (look if isinstance(look, dict) else {}).get("problems", ()):
            met[Problem(str(item["found"]), str(item["needed"]), str(item["todo"]))].append(node)
    if met:
        raise InvalidInput(
            Problem(f"on {few(names)}: {item.found}", item.needed, item.todo) for item, names in met.items()
        )
    return {}


def _well_known() -> set[str]:
    """Registries of all known mirrors, whatever images are rolled out."""
    return {host for name in known_mirrors() for host in load_mirror(name).hosts}


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")
