"""What Volcano's scheduler says of its own configuration: one that it refuses does not count, however sound it looks.

Rule: loadSchedulerConf of pkg/scheduler/scheduler.go, v1.8.0 to v1.15.1: what it cannot use it writes to its log whole,
with the reason, and goes on with the configuration before, which after a start is its built-in one.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.resources import PODS
from kubeflow_volcano.validators.core.rights import VOLCANO_HOME, Rule
from kubeflow_volcano.validators.subjects.ownership import workload_of

_LINES = 3000
_MARK = " is invalid: "
_MOST_CHARACTERS = 300


def _logs(cluster: Cluster, facts: Facts) -> Mapping[Ref, str]:
    scheduler = facts.expectations.scheduler
    pods = [Ref.of(pod) for pod in facts.all(PODS) if workload_of(pod) == scheduler and _runs(pod)]
    return {ref: cluster.logs(ref.namespace, ref.name, tail=_LINES) for ref in pods}


def _runs(pod: Mapping[str, Mapping[str, object]]) -> bool:
    return pod.get("status", {}).get("phase") == "Running"


SCHEDULER_LOGS = Fact[Mapping[Ref, str]](
    "the scheduler's log",
    _logs,
    {},
    reads=(PODS,),
    needs=(Rule("get", "", "pods/log", VOLCANO_HOME),),
    enriches=True,
)
"""By pod of Volcano's scheduler, the end of its log."""


def refused(text: str, log: str) -> str:
    """Why the scheduler refuses this very configuration, in its own words; empty where its log does not say so.

    It writes the configuration into the message, so that a refusal of an earlier one is none of this one.
    """
    _, mark, rest = log.rpartition(f"onfig {text.strip()}{_MARK}")
    return rest.partition("\n")[0].strip()[:_MOST_CHARACTERS] if mark else ""
