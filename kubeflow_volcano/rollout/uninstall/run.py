"""An uninstallation: refusals and plan first, then the removal under the lock of roll-outs, the project itself last."""

from __future__ import annotations

import math
from collections.abc import Collection

from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.removing.contents import contents_of
from kubeflow_volcano.apply.removing.order import UNINSTALLING
from kubeflow_volcano.apply.removing.removal import Removal, Rules
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.schedule import lock_lost
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.applied_objects import Place
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.existing.owners import places_of_existing
from kubeflow_volcano.rollout.queues.drain import CREATED_QUEUES
from kubeflow_volcano.rollout.running import ACTING, running_jobs
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.stale.derived import is_derived
from kubeflow_volcano.rollout.stale.finalizers import explain_terminating
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.rollout.state.inventory import merged, write_inventory
from kubeflow_volcano.rollout.state.lock import Lock, holder_of
from kubeflow_volcano.rollout.state.store import write_keys
from kubeflow_volcano.rollout.uninstall import notes, requirements
from kubeflow_volcano.rollout.uninstall.account import Uninstalled, describe_going
from kubeflow_volcano.rollout.uninstall.holding import waiting_for
from kubeflow_volcano.rollout.uninstall.plan import DATA, Kept, by_name, make_plan, namespaces_in_use
from kubeflow_volcano.rollout.uninstall.project import Project
from kubeflow_volcano.rollout.uninstall.survey import read_survey
from kubeflow_volcano.rollout.uninstall.volumes import volumes_left
from kubeflow_volcano.text import counted, few

_STORAGE = "local-path"
"""The component that provisions volumes: it has to clean up those of removed claims."""
_SECONDS = 120.0
_MOST_SHOWN = 10


def uninstall(cluster: Cluster, settings: Settings, *, check: bool, progress: Progress) -> Uninstalled:
    """Remove what roll-outs brought: the whole, or the components that the settings name. Check mode shows the plan.

    It may be interrupted and repeated at any time. Objects go by UID, only those that this project applied.

    Raises:
        InvalidInput: others need what is to go, names are wrong, or no namespace would go; nothing was changed.
        Busy: a roll-out holds the lock.
        ProblemsError: the API server refused a request.
    """
    started = Deadline(0)
    run = _Run(cluster, settings, progress, check=check)
    try:
        run.look()
        if run.plan.is_empty and not (run.needs_record and not check):
            project = run.project()
            if check or not project.going or holder_of(cluster) is None:
                return run.finish(project, started)
        elif check:
            run.remove()
            run.show()
            return run.finish(run.project(), started)
        with Lock(cluster, progress, run.deadline.expire) as lock:
            run.look()  # what another run has changed until the lock was free
            run.remove()
            if lock.lost.is_set():
                run.problems.append(lock_lost())
            else:
                run.record()
        return run.finish(run.project(), started)
    except ApiError as error:
        raise ProblemsError([*run.problems, refusal(cluster, error)]) from error


class _Run:
    """One uninstallation; its steps fill `outcomes`, `kept` and `problems`."""

    def __init__(self, cluster: Cluster, settings: Settings, progress: Progress, *, check: bool) -> None:
        self.cluster = cluster
        self.settings = settings
        self.progress = progress
        self.check = check
        self.deadline = Deadline(math.inf)  # only the loss of the lock ends it; every wait has its own limit
        self.outcomes: list[ObjectOutcome] = []
        self.kept: list[Kept] = []
        self.problems: list[Problem] = []
        self.waiting: set[Ref] = set()

    def look(self) -> None:
        """Read the cluster, refuse what cannot be, and make the plan."""
        names = self.settings.uninstall.components
        self.survey = read_survey(
            self.cluster, names, existing=self.settings.existing, of_existing=places_of_existing(self.settings)
        )
        self.brought = requirements.brought_components(self.settings, self.survey.inventory)
        refused = [
            *requirements.unknown_components(self.settings, self.survey.inventory),
            *requirements.dependents(self.settings, self.brought),
            *requirements.unrecorded(self.cluster, self.settings, self.survey.inventory),
            *requirements.foreign_data(self.cluster, self.survey.ours, self.settings.uninstall.data),
        ]
        if refused:
            raise InvalidInput(refused)
        self.plan = make_plan(self.survey, self.settings.uninstall)
        if lasting := [*requirements.lasting_namespaces(self.cluster, self.plan.going)]:
            raise InvalidInput(lasting)
        parts = {item.component for item in self.plan.going}
        if self.settings.uninstall.running_jobs == "refuse" and parts & ACTING:
            jobs = running_jobs(self.cluster)
            if running := requirements.running(jobs, self.survey.pods):
                raise InvalidInput(running)
        self.problems = [notes.unread(plural, why) for plural, why in self.survey.unread.items()]

    @property
    def whole(self) -> bool:
        """Whether everything goes."""
        return not self.settings.uninstall.components

    @property
    def needs_record(self) -> bool:
        """Whether the inventory names objects that are gone: an earlier run was interrupted before it recorded them."""
        return bool(self.survey.gone)

    def show(self) -> None:
        """Print the plan."""
        crds = self.cluster.list("apiextensions.k8s.io/v1", CRD_KIND, brief=True).items
        groups = {item["metadata"]["name"].partition(".")[2] for item in crds}
        stay = {item.ref for item in self.kept}  # CRDs with objects that stay, which only the removal finds
        leaving = {item.ref for item in self.plan.going if "deletionTimestamp" in item.live["metadata"]}
        going = {item.ref: item.component for item in self.plan.going if item.ref not in stay | leaving}
        for line in describe_going(going, sorted(groups)):
            self.progress(line)
        if leaving:
            self.progress(f"being deleted already: {few(sorted(map(str, leaving)), _MOST_SHOWN)}")
        for item in self.plan.released:
            self.progress(f"give back {item.ref}, which others made before a roll-out applied it: the fields go")

    def remove(self) -> None:
        """Remove what the plan says: storage after all that uses it, namespaces when they are empty."""
        going = self.plan.going
        spaces = [item for item in going if item.ref.kind == "Namespace"]
        claims = {item.live["metadata"]["uid"] for item in going if item.ref.kind == "PersistentVolumeClaim"}
        stored = [item for item in going if item.component == _STORAGE and item not in spaces]
        self._remove([item for item in going if item not in spaces and item not in stored])
        if not self.check and claims and not self.deadline.passed:
            (provisioner,) = self.settings.local_path.workloads
            self.kept += volumes_left(self.cluster, claims, provisioner, self._patience, self.progress)
        self._remove(stored)
        for item in self.plan.released:
            self._release(item)
        self.kept = [*self.plan.kept, *self.kept]
        if not self.check and spaces and not self.deadline.passed:
            contents = contents_of(self.cluster, [item.ref.name for item in spaces], Deadline(_SECONDS))
            used = namespaces_in_use(spaces, spaces, contents)
            self.kept += used
            stay = {item.ref for item in used}
            spaces = [item for item in spaces if item.ref not in stay]
        self._remove(spaces)

    def record(self) -> None:
        """Drop what is gone from the inventory."""
        removed = {Place.of(item.ref) for item in self.outcomes}
        queues = {item.ref.name: None for item in self.outcomes if item.ref.kind == "Queue"}
        if queues and self.cluster.get(CREATED_QUEUES):
            write_keys(self.cluster, CREATED_QUEUES, queues)
        write_inventory(self.cluster, merged(self.survey.inventory, {}, (), {*removed, *self.survey.gone}))

    def project(self) -> Project:
        """The project's own namespace, by what then is left."""
        stay = len(self.kept or self.plan.kept) + len(self.waiting)
        needed = "not everything could be removed" if self.problems else ""
        needed = f"{counted(stay, 'object')} of ours stay" if stay else needed
        gone = [item.ref for item in self.outcomes if item.action is Action.REMOVED]
        return Project(self.cluster, whole=self.whole, needed=needed, data=self.settings.uninstall.data, gone=gone)

    def finish(self, project: Project, started: Deadline) -> Uninstalled:
        """Remove the project itself, and sum up."""
        gone = project.going if self.check else project.remove(self.progress)
        self.outcomes += [ObjectOutcome(ref, Action.REMOVED, None, None) for ref in gone]
        kept = [*(self.kept or self.plan.kept), *project.kept]
        kept += [Kept(ref, "held", "it is needed by an object that is held") for ref in sorted(self.waiting)]
        return Uninstalled(
            tuple(self.outcomes),
            tuple(kept),
            tuple(self.problems),
            tuple(notes.notes_of(self.survey, self.plan, self.settings)),
            started.elapsed,
            self.check,
        )

    @property
    def _patience(self) -> Deadline:
        return self.deadline.at_most(self.settings.uninstall.wait_seconds)

    def _remove(self, items: Collection[Stale]) -> None:
        if not items or self.deadline.passed:
            return
        uninstall = self.settings.uninstall
        component = {item.ref: item.component for item in items}
        rules = Rules(
            order=UNINSTALLING,
            patience_seconds=uninstall.wait_seconds,
            explain=lambda live: explain_terminating(
                self.cluster, live, self.brought.values(), variable="uninstall_finalize"
            ),
            holds_back=lambda wave, held, later: waiting_for(wave, held, later, component, self.brought),
            ignored=is_derived,
            finalize=uninstall.finalize,
        )
        removal = Removal(self.cluster, self.deadline, self.progress, rules, check=self.check)
        removal.run({item.ref: item.live for item in items})
        self.outcomes += [outcome.for_component(component[outcome.ref]) for outcome in removal.outcomes]
        self.problems += removal.problems
        self.waiting |= removal.waiting
        for ref, problem in removal.kept.items():
            why = problem.found.partition(" stays, with ")[2] or problem.found
            why = why.rstrip(".") + notes.lost_conversion(self.cluster, ref, items)
            self.kept.append(Kept(ref, "in use", why, self._by_name(ref) or problem.todo.rstrip(".")))

    def _by_name(self, crd: Ref) -> str:
        """What names the data of that kind which the plan keeps; empty if it keeps none."""
        data = [item.ref for item in self.plan.kept if item.cause == DATA]
        return by_name([ref for ref in data if crd.name == f"{ref.kind.lower()}s.{ref.group}"])

    def _release(self, item: Stale) -> None:
        """Give up our fields of an object that others made: applying none removes those that only we own."""
        ref, uid = item.ref, item.live["metadata"]["uid"]
        if not self.check:
            body = {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": {"name": ref.name, "uid": uid}}
            self.cluster.apply(body, manager=FIELD_MANAGER)
        self.outcomes.append(ObjectOutcome(ref, Action.CHANGED, item.live, item.live, component=item.component))
