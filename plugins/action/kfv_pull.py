"""kfv_pull: nodes pull images before pods request them. The steps of the role image_mirror_pull."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, display, show, warn
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.hosts.pulling.ledger import Ledger, new_place
from kubeflow_volcano.hosts.pulling.node import pull_images
from kubeflow_volcano.hosts.pulling.plan import NodeImages, Todo, Wanted, tagged, todo
from kubeflow_volcano.hosts.pulling.table import beginning, problems, progress_of, table, warnings
from kubeflow_volcano.parallel import meanwhile
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.images.registry.access import mirror_registry, own_registry
from kubeflow_volcano.rollout.images.registry.probe import Probe, ask
from kubeflow_volcano.rollout.images.registry.rate import rate_limit_for
from kubeflow_volcano.rollout.images.rename.rules import Rules
from kubeflow_volcano.rollout.images.report.image_list import crowded, report, why_unavailable
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import few

_REPORT_SECONDS = 15.0
_BEAT_SECONDS = 1.0


class ActionModule(Action):
    """List the images of each node, plan for all nodes, pull on each, and show what came of it.

    The nodes of a run share a ledger: a file on the machine that runs Ansible. `nodes` has the result of the step list
    by host; `work` is what the step plan says for the task's host.
    """

    ARGUMENTS: ClassVar = {
        "step": {"type": "str", "choices": ["list", "plan", "pull", "show"], "required": True},
        "settings": {"type": "dict", "default": {}},
        "nodes": {"type": "dict", "default": {}},
        "work": {"type": "dict", "default": {}},
        "ledger": {"type": "str", "default": ""},
        "parallel": {"type": "int", "default": 1},
        "disk_percent": {"type": "int", "default": 80},
        "timeout_seconds": {"type": "int", "default": 3600},
    }

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do one step."""
        if arguments["step"] == "list":
            return self.ask("kfv_pull")
        if arguments["step"] == "plan":
            return self._plan(self.settings_with_secrets(arguments["settings"]), arguments["nodes"])
        if arguments["step"] == "pull":
            return self._pull(arguments)
        return _show(Path(arguments["ledger"]))

    def _plan(self, settings: Settings, answers: Mapping[str, Any]) -> dict[str, Any]:
        """The work of each node, and the ledger; every image that any node lacks is requested once from here."""
        nodes = [NodeImages.decode(name, answer) for name, answer in answers.items()]
        _require_usable(nodes)
        wanted, problems = _wanted(settings, len(nodes))
        work = {node.node: todo(node, wanted, settings.pull.exclude) for node in nodes}
        for warning in problems:
            warn(warning)
        show(beginning({name: len(item.missing) for name, item in work.items()}, check=self.check_mode))
        ledger = ""
        if self.check_mode:
            _list(work.values())
        else:
            ledger = str(_begin(settings, work, {item.name: item.asked for item in wanted}).path)
        return {"work": {name: asdict(item) for name, item in work.items()}, "ledger": ledger}

    def _pull(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What became of this node's images; the step show reports failures, once for all nodes."""
        work = Todo(**arguments["work"])
        if self.check_mode or not arguments["ledger"]:
            return {"changed": bool(work.missing), "missing": list(work.missing)}
        ledger = Ledger(Path(arguments["ledger"]))
        options = {name: arguments[name] for name in ("disk_percent", "timeout_seconds")}
        options["logins"] = [asdict(item) for item in self.settings_of_cluster().credentials]
        with meanwhile(partial(_report_progress, ledger), _BEAT_SECONDS):
            pulled = pull_images(
                work,
                ledger,
                self._puller(options),
                parallel=arguments["parallel"],
                disk_percent=arguments["disk_percent"],
            )
        return {"changed": pulled.changed, "pulled": pulled.pulled}

    def _puller(self, options: Mapping[str, Any]) -> Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]:
        def pull(names: Sequence[str]) -> Iterable[Mapping[str, Any]]:
            done = self.ask("kfv_pull", names=list(names), **options)
            why = done.get("unusable") or (done.get("msg", "the module failed") if done.get("failed") else "")
            if why:
                return [{"name": name, "state": "failed", "error": str(why), "seconds": 0.0} for name in names]
            # Ansible hides a password also where a name happens to contain it.
            return [{**item, "name": name} for item, name in zip(done["pulls"], names, strict=True)]

        return pull


def _require_usable(nodes: Sequence[NodeImages]) -> None:
    unusable: dict[str, list[str]] = {}
    for node in nodes:
        if node.unusable:
            unusable.setdefault(node.unusable, []).append(node.node)
    if unusable:
        raise InvalidInput(
            Problem(
                f"on {few(names)}: {why}.",
                "containerd or CRI-O that answers, with crictl or ctr, on each node that pulls.",
                "repair the runtime of these nodes, leave them out (--limit), or set image_mirror_pull: false.",
            )
            for why, names in unusable.items()
        )


def _wanted(settings: Settings, nodes: int) -> tuple[list[Wanted], Sequence[Problem]]:
    """The images of all chosen components, and warnings."""
    images = report(desired(settings, settings.components, show).images, settings)
    wanted = []
    for entry in images.entries:
        name, mirrored = ImageName.parse(entry.use.final), ImageName.parse(entry.use.mirrored)
        if name and mirrored:
            known = why_unavailable(entry, settings)
            wanted.append(Wanted(tagged(name), tagged(mirrored), entry.judgement.architectures, known))
    return wanted, tuple(crowded(images, nodes))


def _begin(settings: Settings, work: Mapping[str, Todo], mirrored: Mapping[str, str]) -> Ledger:
    """Request every image that a node lacks from here, and note the answers for all nodes."""
    names = {name: mirrored.get(name) or _renamed(name, settings) for item in work.values() for name in item.missing}
    own, most = bool(settings.registry.address), settings.mirror.refusals
    rate = rate_limit_for(names.values(), settings.mirror.probe_per_minute)
    registry = own_registry(settings) if own else mirror_registry(settings, rate)
    once = dict.fromkeys(names.values(), "")
    probe = Probe((), 0, "")
    if once:
        probe = ask(once, registry, rate, settings.mirror.probe_parallel, show, most_refusals=most)
    answers = {item.image: item for item in probe.answers}
    refused = {name: answers[on] for name, on in names.items() if answers[on].verdict in {"missing", "refused"}}
    ledger = Ledger.begin(
        new_place(settings.cache_directory / "pulls"),
        per_minute=0 if own else rate.per_minute,
        most_refusals=most,
        nodes={name: len(item.missing) for name, item in work.items()},
        refusals=probe.refusals,
        refused={
            name: f"{item.image} answers {item.why}" if name != item.image else f"answers {item.why}"
            for name, item in refused.items()
        },
        digests={name: answers[on].digest for name, on in names.items() if answers[on].digest},
        stopped="" if probe.unreachable else probe.stopped,
    )
    ledger.charge(min(probe.requests, rate.per_minute))
    if probe.stopped and probe.unreachable:
        warn(
            f"the machine that runs Ansible cannot ask the registry: {probe.stopped}; "
            "images are compared between nodes instead"
        )
    return ledger


def _renamed(sandbox: str, settings: Settings) -> str:
    """Name on the mirror of an image that only a node's own configuration has."""
    image = ImageName.parse(sandbox)
    return str(Rules(settings.mirror).decide(image).elsewhere or sandbox) if image else sandbox


def _list(work: Iterable[Todo]) -> None:
    """Print what would be pulled: a line for each image, however many nodes lack it."""
    lacking: dict[str, int] = {}
    for item in work:
        for name in item.missing:
            lacking[name] = lacking.get(name, 0) + 1
    for name, count in sorted(lacking.items()):
        show(f"  {name} on {count}")


def _report_progress(ledger: Ledger) -> None:
    """Print the progress of all nodes, unless the process of another node has just done so."""
    if state := ledger.to_report(_REPORT_SECONDS):
        show(progress_of(state))


def _show(path: Path) -> dict[str, Any]:
    """Print a line per node and remove the ledger; fail with everything that kept a node from pulling its images."""
    ledger = Ledger(path)
    state = ledger.read()
    ledger.remove()
    nodes = {name: node["result"] for name, node in state["nodes"].items()}
    display(f"\n{table(nodes)}\n")
    for warning in warnings(nodes):
        warn(warning)
    if trouble := tuple(problems(nodes, state["refused"], state["stopped"])):
        raise ProblemsError(trouble)
    return {"nodes": nodes}
