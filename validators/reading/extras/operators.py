"""What is asked about the operators of training jobs: rights, logs, and the answers of their webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from validators.core.facts import Facts
from validators.reading.extras.admission import ask
from validators.reading.permissions import allowed
from validators.subjects.gang.operators import OPERATORS, Operator, podgroups_since
from validators.subjects.pods import workload_of

__all__ = ["operator_access", "operator_admission", "operator_log"]

_ANSWERS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Refusals of an object whose webhooks were asked."""
_NO_RIGHT = "cannot create resource"
"""What a refusal says that is for want of a right, and not a webhook's or a quota's (apiserver, responsewriters)."""


def operator_access(cluster: Cluster, facts: Facts) -> Mapping[str, Mapping[str, bool]]:
    """What each operator's service account may do, of all that it needs."""
    answers: dict[str, Mapping[str, bool]] = {}
    for name, operator in _installed(facts).items():
        kinds = (kind.partition(".") for kind in operator.kinds(facts))
        plurals = [plural for plural, _, group in kinds if group == operator.job_group]
        rules = operator.rules(plurals, operator.version(facts), facts.expectations.gang)
        found = allowed(cluster, rules, user=operator.service_account(facts))
        answers[name] = {str(rule): answer for rule, answer in found.items()}
    return answers


def _installed(facts: Facts) -> Mapping[str, Operator]:
    return {
        name: item
        for name, item in OPERATORS.items()
        if item.ref in facts.expectations.workloads and facts.get("deployments.apps", item.ref.namespace, item.ref.name)
    }


def operator_log(cluster: Cluster, facts: Facts) -> Mapping[str, str]:
    """Logs of operators that started before the PodGroup CRD was there."""
    since = podgroups_since(facts)
    logs: dict[str, str] = {}
    for name, operator in _installed(facts).items():
        started = operator.started(facts)
        if started is None or (since is not None and started > since):
            continue
        pods = [Ref.of(pod).name for pod in facts.all("pods") if workload_of(pod) == operator.ref]
        texts = (cluster.logs(operator.ref.namespace, pod, operator.container, tail=2000) for pod in pods)
        logs[name] = "\n".join(texts)
    return logs


def operator_admission(cluster: Cluster, facts: Facts) -> Mapping[str, str]:
    """Answers to dry-run creates of a job: '' where the webhook answered, whatever it said, else the trouble.

    Kinds that are not served are left out.
    """
    meta = {"name": "kfv-dry-run", "namespace": facts.probe_namespace or "default"}
    jobs = [{**job, "metadata": meta} for operator in _installed(facts).values() for job in operator.dry_runs]
    return {job["kind"]: _trouble(cluster, job) for job in jobs if _served(cluster, job)}


def _served(cluster: Cluster, job: Object) -> bool:
    try:
        cluster.resource(job["apiVersion"], job["kind"])
    except NotServed:
        return False
    return True


def _trouble(cluster: Cluster, job: Object) -> str:
    error = ask(cluster, job)
    if error is None or error.status in _ANSWERS:
        return ""
    if error.status == HTTPStatus.FORBIDDEN:
        if _NO_RIGHT in error.message:
            raise error
        return ""
    return str(error)
