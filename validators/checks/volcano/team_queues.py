"""Family F, jobs of teams: are they in the queue of their team?

Rules, of Volcano v1.7.0 to v1.15.1. F10: pkg/webhooks/admission/podgroups/mutate, which upstream's manifests call up to
v1.11, gives a PodGroup without a queue that of its namespace; the CRDs of v1.12.2 to v1.15.1 give it the queue default.
"""

from __future__ import annotations

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import NAMESPACES, PODGROUPS
from kubeflow_volcano.validators.subjects import crds
from kubeflow_volcano.validators.subjects.issues import judged

_DEFAULT = "default"


@check("F10", "team-queues", severity=Severity.MINOR, reads=(*crds.READS, NAMESPACES, PODGROUPS))
def team_queues(facts: Facts) -> Outcome:
    """PodGroups in a namespace that names a queue are not in the queue default.

    The annotation scheduling.volcano.sh/queue-name of a namespace names the queue of its jobs. Volcano 1.7 to 1.11
    gives it to PodGroups that name none, if its admission may read the namespace; later versions do not, and the API
    server does only where a MutatingAdmissionPolicy says so. Jobs in the queue default count for no team. Another queue
    than default was chosen. Name the queue in the job, or run the roll-out again with the team in
    kubeflow_profiles; jobs that exist stay where they are.
    """
    crds.demand_volcano(facts, "has no queues")
    crds.demand_gang_kinds(facts, VOLCANO)
    teams = {
        item["metadata"]["name"]: queue
        for item in facts.all(NAMESPACES)
        if (queue := (item["metadata"].get("annotations") or {}).get(QUEUE_NAME, "")) not in {"", _DEFAULT}
    }
    groups = [item for item in judged(facts, PODGROUPS) if item["metadata"]["namespace"] in teams]
    if not groups:
        return skipped("NoTeamJobs", "no PodGroup is in a namespace that names a queue.")
    stray = [Ref.of(item) for item in groups if ((item.get("spec") or {}).get("queue") or _DEFAULT) == _DEFAULT]
    if not stray:
        refs = [Ref.of(item) for item in groups]
        return passed(f"{counted(len(groups), 'PodGroup')} of teams, none in queue {_DEFAULT}.", objects=refs)
    places = [f"{ref.namespace} (queue {teams[ref.namespace]})" for ref in stray]
    return warned(
        "InDefault",
        f"{counted(len(stray), 'PodGroup')} in queue {_DEFAULT}, of {few(list(dict.fromkeys(places)))}.",
        expected="the queue of the team",
        objects=stray,
        todo="name the queue in the job, and create it again; or let the roll-out see to it (docs/users.md).",
    )


CHECKS = (team_queues,)
