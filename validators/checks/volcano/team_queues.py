"""Family F, jobs of teams: are they in the queue of their team, and would the next one be?

Rules, of Volcano v1.7.0 to v1.15.1. F10: pkg/webhooks/admission/podgroups/mutate, which upstream's manifests call up to
v1.11, gives a PodGroup without a queue that of its namespace; the CRDs of v1.12.2 to v1.15.1 give it the queue default.
Trainer's PodGroups, those of pods without a job, and those of the training operator up to 1.7 name none where the job
does not; since 1.8 that operator writes default itself (pkg/controller.v1/common/job.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.catalog.operator import writes_default_queue
from kubeflow_volcano.cluster.admission.policies import policy_api
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS, NAMESPACES, PODGROUPS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.dry_runs import admitted, answer_of
from kubeflow_volcano.validators.reading.permissions import allowed
from kubeflow_volcano.validators.subjects import crds
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING
from kubeflow_volcano.validators.subjects.issues import judged

_DEFAULT = "default"
_MOST_TEAMS = 20
"""In more namespaces than these no job is tried in one run."""
_PARALLEL = 4
_NAME = "kfv-dry-run"
_POD: Mapping[str, Any] = {"spec": {"containers": [{"name": "main", "image": PAUSE}], "restartPolicy": "Never"}}
_TASK: Mapping[str, Any] = {"name": "main", "replicas": 1, "template": _POD}
_OWN = "Job of Volcano"
_GROUP, _JOB = Rule("create", VOLCANO.group, "podgroups"), Rule("create", "batch.volcano.sh", "jobs")
TRIED: Mapping[str, tuple[Rule, Object]] = {
    "PodGroup": (_GROUP, new_object(*VOLCANO.podgroup, _NAME, spec={"minMember": 1})),
    "PodGroup of the training operator": (
        _GROUP,
        new_object(*VOLCANO.podgroup, _NAME, spec={"minMember": 1, "queue": _DEFAULT}),
    ),
    _OWN: (_JOB, new_object("batch.volcano.sh/v1alpha1", "Job", _NAME, spec={"minAvailable": 1, "tasks": [_TASK]})),
}
"""What comes of jobs that name no queue, and the rule without which it is not tried."""


@dataclass(frozen=True, slots=True)
class Landing:
    """What a dry run of an object of `TRIED` came to in a namespace of a team.

    It got `queue`, or was `refused` with this text, or was not tried for this reason (`untried`).
    """

    what: str
    namespace: str
    queue: str = ""
    refused: str = ""
    untried: str = ""

    @property
    def place(self) -> str:
        """The object and the namespace in words."""
        return f"{self.what} in {self.namespace}"


@dataclass(frozen=True, slots=True)
class NewJobs:
    """Where new jobs of teams go that name no queue, and whether the API server serves policies that give them one."""

    landings: tuple[Landing, ...] = ()
    policies: bool = False


def _teams(facts: Facts) -> Mapping[str, str]:
    """The queue that each namespace names, but default; without ignored namespaces and those that are being deleted."""
    return {
        name: queue
        for item in facts.all(NAMESPACES)
        if (name := item["metadata"]["name"]) not in facts.ignored_namespaces
        and "deletionTimestamp" not in item["metadata"]
        and (queue := (item["metadata"].get("annotations") or {}).get(QUEUE_NAME, "")) not in {"", _DEFAULT}
    }


def _new_jobs(cluster: Cluster, facts: Facts) -> NewJobs:
    """Dry runs of what is tried in the namespaces of teams, where the caller may create it; nothing without Volcano."""
    teams = sorted(_teams(facts)) if VOLCANO.name in facts.expectations.crds.values() else []
    if not teams:
        return NewJobs()
    there = TRAINING.ref in facts.expectations.workloads and writes_default_queue(TRAINING.version(facts))
    tried = {what: each for what, each in TRIED.items() if there or TRAINING.title not in what}
    try_in = partial(_landings, cluster, tried, facts.timing.dry_run_seconds)
    found = in_parallel(try_in, teams[:_MOST_TEAMS], _PARALLEL)
    return NewJobs(tuple(item for items in found for item in items), bool(policy_api(cluster)))


def _landings(
    cluster: Cluster, tried: Mapping[str, tuple[Rule, Object]], seconds: float, team: str
) -> Sequence[Landing]:
    granted = allowed(cluster, {rule for rule, _ in tried.values()}, namespace=team)
    landings: list[Landing] = []
    for what, (rule, obj) in tried.items():
        if not granted[rule]:
            landings.append(Landing(what, team, untried=f"you may not {rule}"))
            continue
        found = admitted(cluster, {**obj, "metadata": {"name": _NAME, "namespace": team}}, seconds)
        if not isinstance(found, ApiError):
            landings.append(Landing(what, team, (found.get("spec") or {}).get("queue") or _DEFAULT))
        elif _is_refusal(found):
            landings.append(Landing(what, team, refused=found.message))
        elif not isinstance(found, NotServed):
            landings.append(Landing(what, team, untried=found.message))
    return landings


def _is_refusal(error: ApiError) -> bool:
    """Whether admission or a schema refused the object; not where it could not be asked, which B4 reports."""
    lasting = {HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY}
    return error.status in lasting or answer_of(error).kind == "denied"


NEW_JOBS = Fact[NewJobs]("queues of new jobs", _new_jobs, NewJobs(), reads=(NAMESPACES, DEPLOYMENTS), dry_run=True)
"""In which queue a job of a team that names none would be; nothing in a read-only run."""


@check("F10", "team-queues", severity=Severity.MINOR, reads=(*crds.READS, NAMESPACES, PODGROUPS, NEW_JOBS))
def team_queues(facts: Facts) -> Outcome:
    """PodGroups in a namespace that names a queue are not in the queue default, nor would new ones be.

    The annotation scheduling.volcano.sh/queue-name of a namespace names the queue of its jobs. Volcano 1.7 to 1.11
    gives it to PodGroups that name none, if its admission may read the namespace; later versions do not, and the API
    server does only where a MutatingAdmissionPolicy says so. Jobs in the queue default count for no team. Another queue
    than default was chosen. In each such namespace, 20 at most, what comes of jobs that name no queue is created as a
    dry run, where you may create it and the run is not read-only: a PodGroup, one as the training operator writes it
    from 1.8 on (with the queue default), and a Job of Volcano. The answer shows the queue, or what refuses it. Where
    no policies are served, Volcano's own Job must name the queue, which is only reported. Name the queue in the
    job, or run the roll-out again with the team in kubeflow_profiles; jobs that exist stay where they are.
    """
    crds.demand_volcano(facts, "has no queues")
    crds.demand_gang_kinds(facts, VOLCANO)
    teams = _teams(facts)
    groups = [item for item in judged(facts, PODGROUPS) if item["metadata"]["namespace"] in teams]
    stray = [Ref.of(item) for item in groups if ((item.get("spec") or {}).get("queue") or _DEFAULT) == _DEFAULT]
    if stray:
        places = [f"{ref.namespace} (queue {teams[ref.namespace]})" for ref in stray]
        return warned(
            "InDefault",
            f"{counted(len(stray), 'PodGroup')} in queue {_DEFAULT}, of {few(list(dict.fromkeys(places)))}.",
            expected="the queue of the team",
            objects=stray,
            todo="name the queue in the job, and create it again; or let the roll-out see to it (docs/users.md).",
        )
    new = facts.read(NEW_JOBS)
    return _of_new_ones(new, teams, {item["metadata"]["namespace"] for item in groups}) or _sound(new, teams, groups)


def _of_new_ones(new: NewJobs, teams: Mapping[str, str], proved: set[str]) -> Outcome | None:
    """The warning that dry runs give cause for; a refusal gives none in namespaces that have PodGroups."""
    elsewhere = [item for item in new.landings if item.queue and item.queue != teams[item.namespace]]
    warning = [item for item in elsewhere if new.policies or item.what != _OWN]
    if warning:
        places = [f"{item.place} gets queue {item.queue}, not {teams[item.namespace]}" for item in warning]
        served = (
            "serves policies that change objects, and none gives" if new.policies else "serves none that could give"
        )
        return warned(
            "NewElsewhere",
            f"Dry runs without a queue: {few(places, separator='; ')}. The API server {served} the team's.",
            expected="the queue of the team",
            observed={item.place: item.queue for item in warning},
            objects=_namespaces(warning),
            todo="run the roll-out again with the team in kubeflow_profiles, which adds the policy (docs/users.md)."
            if new.policies
            else "name the queue in jobs; or let the API server serve MutatingAdmissionPolicy, and run the roll-out "
            "again (docs/users.md).",
        )
    refused = [item for item in new.landings if item.refused and item.namespace not in proved]
    if refused:
        return warned(
            "NewRefused",
            f"Dry runs without a queue: {few([f'{item.place}: {item.refused}' for item in refused], 3, '; ')}.",
            expected="the queue of the team",
            observed={item.place: item.refused for item in refused},
            objects=_namespaces(refused),
            todo="see to what refuses it: it may refuse jobs of the team as well.",
        )
    return None


def _sound(new: NewJobs, teams: Mapping[str, str], groups: list[Object]) -> Outcome:
    landed = [item for item in new.landings if item.queue]
    own = [item.place for item in landed if item.queue != teams[item.namespace]]
    note = f" {few(own)} must name the queue, else it is in {_DEFAULT}." if own else ""
    if untried := [f"{item.place}: {item.untried or item.refused}" for item in new.landings if not item.queue]:
        note += f" Not tried: {few(untried, 3, '; ')}."
    if left := len(teams) - len({item.namespace for item in new.landings}) if new.landings else 0:
        note += f" {counted(left, 'further namespace')} not tried."
    if not (groups or landed):
        return skipped("NoTeamJobs", f"no PodGroup is in a namespace that names a queue.{note}")
    existing = f"{counted(len(groups), 'PodGroup')} of teams, none in queue {_DEFAULT}." if groups else ""
    well = _namespaces([item for item in landed if item.queue == teams[item.namespace]])
    if well:
        existing += f" New ones that name none are in that of the team in {counted(len(well), 'namespace')}."
    return passed(f"{existing}{note}".strip(), objects=[*map(Ref.of, groups), *well] or _namespaces(landed))


def _namespaces(landings: list[Landing]) -> list[Ref]:
    return [Ref("v1", "Namespace", "", name) for name in dict.fromkeys(item.namespace for item in landings)]
