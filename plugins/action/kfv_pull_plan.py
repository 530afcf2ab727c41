"""kfv_pull_plan: what each node is to pull, and what the registry says of it. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.catalog.images.names import ImageName
    from kubeflow_volcano.hosts.pulling.ledger import Ledger, new_place
    from kubeflow_volcano.hosts.pulling.plan import NodeImages, Todo, Wanted, tagged, todo
    from kubeflow_volcano.hosts.pulling.table import beginning
    from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
    from kubeflow_volcano.rollout.desired import desired
    from kubeflow_volcano.rollout.images.registry.access import mirror_registry, own_registry
    from kubeflow_volcano.rollout.images.registry.probe import Probe, ask, pace_for
    from kubeflow_volcano.rollout.images.rename.rules import Rules
    from kubeflow_volcano.rollout.images.report.image_list import report
    from kubeflow_volcano.rollout.images.report.pulls import crowded, why_not
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
    from kubeflow_volcano.text import few
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "settings": {"type": "dict", "required": True},
    "nodes": {"type": "dict", "required": True},
}


class ActionModule(ActionBase):
    """Compare, ask once for what any node lacks, and begin the ledger that the nodes share."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the work of each node; fail with everything that keeps them from pulling."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            settings = parse(arguments["settings"])
            nodes = [NodeImages.decode(name, told) for name, told in arguments["nodes"].items()]
            _refuse_unusable(nodes)
            wanted, warnings = _wanted(settings, len(nodes))
            work = {node.node: todo(node, wanted, settings.pull.exclude) for node in nodes}
            for warning in warnings:
                Display().warning(str(warning))
            missing = {name: len(item.missing) for name, item in work.items()}
            _tell(beginning(missing, check=self._task.check_mode))
            if self._task.check_mode:
                _list(work.values())
                return result | {"work": {name: asdict(item) for name, item in work.items()}, "ledger": ""}
            ledger = _begin(settings, work, {item.name: item.asked for item in wanted})
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe()}
        return result | {"work": {name: asdict(item) for name, item in work.items()}, "ledger": str(ledger.path)}


def _refuse_unusable(nodes: Sequence[NodeImages]) -> None:
    unusable: dict[str, list[str]] = {}
    for node in nodes:
        if node.unusable:
            unusable.setdefault(node.unusable, []).append(node.node)
    if unusable:
        raise InvalidInput(
            Problem(
                f"on {few(names)}: {why}.",
                "containerd or CRI-O that answers, with crictl or ctr, on each node that is to pull.",
                "mend the runtime of these nodes, leave them out (--limit), or set image_mirror_pull: false.",
            )
            for why, names in unusable.items()
        )


def _wanted(settings: Settings, nodes: int) -> tuple[list[Wanted], Sequence[Problem]]:
    """The images of all components that are chosen, and what is to be warned of."""
    found = report(desired(settings, settings.components, _tell).images, settings)
    wanted = []
    for entry in found.entries:
        name, asked = ImageName.parse(entry.use.final), ImageName.parse(entry.use.mirrored)
        if name and asked:
            known = why_not(entry, settings)
            wanted.append(Wanted(tagged(name), tagged(asked), entry.judgement.architectures, known))
    return wanted, tuple(crowded(found, nodes))


def _begin(settings: Settings, work: Mapping[str, Todo], asked: Mapping[str, str]) -> Ledger:
    """Ask for every image that a node lacks, and note the answers for all nodes."""
    names = {name: asked.get(name) or _asked(name, settings) for item in work.values() for name in item.missing}
    own, most = bool(settings.registry.address), settings.mirror.refusals
    pace = pace_for(names.values(), settings.mirror.probe_per_minute)
    registry = own_registry(settings) if own else mirror_registry(settings, pace)
    once = dict.fromkeys(names.values(), "")
    said = Probe((), 0, "")
    if once:
        said = ask(once, registry, pace, settings.mirror.probe_parallel, _tell, most_refusals=most)
    ledger = Ledger.begin(
        new_place(settings.cache_directory / "pulls"),
        per_minute=0 if own else pace.limit,
        most_refusals=most,
        nodes={name: len(item.missing) for name, item in work.items()},
    )
    ledger.charge(min(said.requests, pace.limit))
    answers = {item.image: item for item in said.answers}
    for name, mirrored in names.items():
        answer = answers[mirrored]
        if answer.verdict in {"missing", "refused"}:
            ledger.refuse(name, f"{mirrored} answers {answer.why}" if name != mirrored else f"answers {answer.why}")
        elif answer.digest:
            ledger.digest(name, answer.digest)
    if said.stopped and said.silent:
        Display().warning(f"from here {said.stopped}; nodes are held against each other instead of the registry")
    elif said.stopped:
        ledger.stop(said.stopped)
    return ledger


def _asked(sandbox: str, settings: Settings) -> str:
    """Where an image is asked for that only a node's configuration names, and no rule renames."""
    image = ImageName.parse(sandbox)
    return str(Rules(settings.mirror).decide(image).elsewhere or sandbox) if image else sandbox


def _list(work: Iterable[Todo]) -> None:
    """What would be pulled: an image a line, however many nodes lack it."""
    lacking: dict[str, int] = {}
    for item in work:
        for name in item.missing:
            lacking[name] = lacking.get(name, 0) + 1
    for name, count in sorted(lacking.items()):
        _tell(f"  {name} on {count}")


def _tell(line: str) -> None:
    Display().display(f"  {line}")
