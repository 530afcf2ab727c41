"""Removal of what kube-batch, kfctl and ksonnet left, by name; PodGroups and queues become Volcano's first."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.removing.order import UNINSTALLING
from kubeflow_volcano.apply.removing.removal import Removal, Rules
from kubeflow_volcano.apply.removing.wording import kubectl
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.schedule import lock_lost
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.legacy import KUBE_BATCH, KUBE_BATCH_GROUPS
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.settings.uninstall import UninstallSettings
from kubeflow_volcano.rollout.stale.finalizers import explain_terminating
from kubeflow_volcano.rollout.state.lock import Lock
from kubeflow_volcano.rollout.state.store import NAMESPACE
from kubeflow_volcano.rollout.uninstall.account import Uninstalled, describe_going
from kubeflow_volcano.rollout.uninstall.legacy.find import find_leftovers
from kubeflow_volcano.rollout.uninstall.legacy.translate import foreign_schedulers, translated
from kubeflow_volcano.rollout.uninstall.notes import unread
from kubeflow_volcano.rollout.uninstall.plan import DATA, DATA_KINDS, Kept, by_name
from kubeflow_volcano.rollout.uninstall.project import Project
from kubeflow_volcano.text import counted, few

_SECONDS = 120.0
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


def remove_legacy(cluster: Cluster, settings: UninstallSettings, *, check: bool, progress: Progress) -> Uninstalled:
    """Remove the leftovers of the tools that `uninstall_legacy` names; check mode shows the plan.

    What roll-outs brought stays, and so does data and every namespace. A PodGroup or queue of kube-batch goes when
    Volcano has it under the same name. It may be interrupted and repeated at any time.

    Raises:
        Busy: a roll-out holds the lock.
        ProblemsError: the API server refused a request.
    """
    started = Deadline(0)
    run = _Run(cluster, settings, progress, check=check)
    try:
        run.look()
        if check or not run.going:
            run.show()
            run.change()
            return run.result(started)
        was_there = cluster.get(Ref("v1", "Namespace", "", NAMESPACE)) is not None
        with Lock(cluster, progress, run.deadline.expire) as lock:
            run.look()
            run.change()
            if lock.lost.is_set():
                run.problems.append(lock_lost())
        if not was_there:
            Project(cluster, whole=True, needed="", data=()).remove(progress)
        return run.result(started)
    except ApiError as error:
        raise ProblemsError([*run.problems, refusal(cluster, error)]) from error


class _Run:
    """One removal; its steps fill `outcomes`, `kept` and `problems`."""

    def __init__(self, cluster: Cluster, settings: UninstallSettings, progress: Progress, *, check: bool) -> None:
        self.cluster = cluster
        self.settings = settings
        self.progress = progress
        self.check = check
        self.deadline = Deadline(math.inf)
        self.outcomes: list[ObjectOutcome] = []
        self.problems: list[Problem] = []

    def look(self) -> None:
        """Read the cluster, and decide about every leftover."""
        named = self.settings.legacy
        self.found = find_leftovers(self.cluster, named, Deadline(_SECONDS))
        self.problems = [unread(plural, why) for plural, why in self.found.unread.items()]
        self.pods = self.cluster.list("v1", "Pod", fields=_UNFINISHED).items if KUBE_BATCH in named else ()
        self.new = dict(self._translations())
        self.kept = list(self._kept())
        stays = {item.ref for item in self.kept}
        self.going = {ref: live for ref, (_, live) in self.found.objects.items() if ref not in stays}

    def show(self) -> None:
        """Print the plan."""
        for old, new in self.new.items():
            self.progress(f"create {Ref.of(new)} in place of {old}")
        groups = {ref.name.partition(".")[2] for ref in self.found.objects if ref.kind == "CustomResourceDefinition"}
        going = {ref: self.found.objects[ref][0] for ref in self.going}
        for line in describe_going(going, sorted(groups)):
            self.progress(line)

    def change(self) -> None:
        """Translate, stop the programs, and remove the rest in the order of an uninstallation."""
        for new in self.new.values():
            if not self.check:
                self.cluster.create(new)
            self.outcomes.append(ObjectOutcome(Ref.of(new), Action.CREATED, None, new, component=KUBE_BATCH))
        # The operator of kfctl would delete a whole Kubeflow as soon as its KfDef is deleted.
        programs = {ref: live for ref, live in self.going.items() if ref in self.found.programs}
        if not self._remove(programs):
            self._remove({ref: live for ref, live in self.going.items() if ref not in programs})

    def result(self, started: Deadline) -> Uninstalled:
        """Sum up."""
        return Uninstalled(
            tuple(self.outcomes),
            tuple(self.kept),
            tuple(self.problems),
            tuple(self._notes()),
            started.elapsed,
            self.check,
        )

    def _remove(self, objects: dict[Ref, Object]) -> set[Ref]:
        """Remove these; returns what could not be removed."""
        rules = Rules(
            order=UNINSTALLING,
            patience_seconds=self.settings.wait_seconds,
            explain=lambda live: explain_terminating(self.cluster, live, (), variable="uninstall_finalize"),
            finalize=self.settings.finalize,
        )
        removal = Removal(self.cluster, self.deadline, self.progress, rules, check=self.check)
        removal.run(objects)
        done = [outcome.for_component(self.found.objects[outcome.ref][0]) for outcome in removal.outcomes]
        self.outcomes += done
        self.problems += removal.problems
        self.kept += [Kept(ref, "in use", problem.found, problem.todo) for ref, problem in removal.kept.items()]
        self.kept += [Kept(ref, "held", "it is needed by an object that is held") for ref in sorted(removal.waiting)]
        return {*objects} - {outcome.ref for outcome in done} - {*removal.kept}

    def _translations(self) -> Iterator[tuple[Ref, Object]]:
        """The objects of kube-batch that Volcano does not have yet, each with what it is there."""
        if VOLCANO.podgroup[1] not in self.cluster.kinds(VOLCANO.api_version):
            return
        for ref in self.found.objects:
            if ref.group in KUBE_BATCH_GROUPS and (old := self.cluster.get(ref)) and (new := translated(old)):
                there = self.cluster.get(Ref.of(new))
                if there is None and not foreign_schedulers(old, self.pods, (KUBE_BATCH, VOLCANO.scheduler)):
                    yield ref, new

    def _kept(self) -> Iterator[Kept]:
        served = VOLCANO.podgroup[1] in self.cluster.kinds(VOLCANO.api_version)
        for ref, (_, live) in sorted(self.found.objects.items()):
            if ref.kind in DATA_KINDS and str(ref) not in self.settings.data:
                yield Kept(ref, DATA, "it may hold people's work", by_name([ref]))
            elif ref.kind == "Namespace":
                why, todo = "what is in it may be needed", f"kubectl delete {kubectl(ref)}, when it is not"
                yield Kept(ref, "namespace", why, todo)
            elif ref.group in KUBE_BATCH_GROUPS:
                others = foreign_schedulers(live, self.pods, (KUBE_BATCH, VOLCANO.scheduler))
                if others:
                    yield Kept(ref, "in use", f"pods of scheduler {few(sorted(others), 3)} name it")
                elif not served:
                    todo = "playbooks/install.yml with Volcano, and run again"
                    yield Kept(ref, "not translated", f"the cluster does not serve {VOLCANO.api_version}", todo)

    def _notes(self) -> Iterator[str]:
        waiting = [pod for pod in self.pods if pod["spec"].get("schedulerName") == KUBE_BATCH]
        if waiting:
            names = sorted(_owner(pod) for pod in waiting)
            yield (
                f"note: {counted(len(waiting), 'unfinished pod')} of scheduler {KUBE_BATCH}: those that run go on, "
                f"pending ones stay so. A schedulerName cannot be changed: create again, with schedulerName "
                f"{VOLCANO.scheduler}, {few(list(dict.fromkeys(names)), 5)}"
            )


def _owner(pod: Object) -> str:
    owners: Collection[Object] = pod["metadata"].get("ownerReferences") or ()
    owner = next((item for item in owners if item.get("controller")), None)
    return f"{owner['kind']} {pod['metadata']['namespace']}/{owner['name']}" if owner else str(Ref.of(pod))
