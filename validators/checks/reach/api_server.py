"""Family A, API server: readiness, version, and the rights of the caller."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Ref, conditions
from kubeflow_volcano.cluster.watch.leaders import CONTROLLERS, LEADERS, SCHEDULER, Leader
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, failed, passed
from kubeflow_volcano.validators.core.resources import NAMESPACES, PODS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.permissions import allowed, as_yaml
from kubeflow_volcano.validators.subjects.issues import created

API_SERVER = Ref("v1", "Service", "default", "kubernetes")

_READYZ_TRIES, _READYZ_SECONDS, _PAUSE_SECONDS = 3, 5.0, 0.2
_AT_WORK_SECONDS = 30.0
"""A leader that loses its Lease may still do something for so long."""
_DEFAULT_SCHEDULER = "default-scheduler"


def _ready_answers(cluster: Cluster, _facts: Facts) -> tuple[str, ...]:
    return tuple(_readyz(cluster) for _ in range(_READYZ_TRIES))


def _readyz(cluster: Cluster) -> str:
    """One answer; a busy server or a broken connection is retried for some seconds."""
    deadline = Deadline(_READYZ_SECONDS)
    while True:
        try:
            return cluster.text("/readyz", {}, deadline, most=1000).strip()
        except ApiError as error:
            if error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}:
                raise
            if not error.transient or deadline.passed:
                return str(error)
        time.sleep(_PAUSE_SECONDS)


READY_ANSWERS = Fact[tuple[str, ...]]("/readyz", _ready_answers, ())
"""Three consecutive answers of /readyz: 'ok', or what is not ready."""


def _expired(cluster: Cluster, _facts: Facts) -> Mapping[str, str]:
    return {leader.program: renewed for leader in LEADERS if (renewed := leader.expired(cluster))}


EXPIRED_LEASES = Fact[Mapping[str, str]](
    "Leases of the control plane",
    _expired,
    {},
    reads=(PODS,),
    needs=(Rule("get", "coordination.k8s.io", "leases", "kube-system", tuple(item.program for item in LEADERS)),),
    enriches=True,
)
"""Programs whose Lease has expired, and when it was renewed last."""
_MADE_BY_CONTROLLERS = frozenset({"DaemonSet", "Job", "ReplicaSet", "StatefulSet"})
_SHOWN_BY: Mapping[str, tuple[str, ...]] = {
    CONTROLLERS.program: ("A5", "D5", "E1", "H1"),
    SCHEDULER.program: ("D5", "E1"),
}
"""Checks by experiments whose own namespaces kube-controller-manager prepares, or whose pods kube-scheduler places."""


def _without_leader(facts: Facts) -> Iterator[Outcome]:
    """That a program of the control plane does not act: its Lease has expired, and no pod shows its work since."""
    expired = facts.known(EXPIRED_LEASES)
    for leader in LEADERS:
        renewed = expired.get(leader.program)
        if not renewed or _at_work(leader, facts, datetime.fromisoformat(renewed).timestamp() + _AT_WORK_SECONDS):
            continue
        prepared = leader is CONTROLLERS and facts.probe_namespace
        yield failed(
            "NoControllers" if leader is CONTROLLERS else "NoScheduler",
            f"{leader.lease} was renewed last at {renewed}: no {leader.program} acts. Without it {leader.without}.",
            expected="a Lease that its holder renews",
            objects=(leader.lease,),
            todo=leader.todo,
            commands=(f"kubectl -n {leader.lease.namespace} get lease {leader.program} -o yaml",),
            refuted_by=() if prepared else _SHOWN_BY[leader.program],
        )


def _at_work(leader: Leader, facts: Facts, since: float) -> bool:
    """Whether pods show that it has acted after that time."""
    pods = facts.objects.get(PODS, ())
    if leader is CONTROLLERS:
        makers = ((pod, {owner["kind"] for owner in pod["metadata"].get("ownerReferences") or ()}) for pod in pods)
        return any(kinds & _MADE_BY_CONTROLLERS and created(pod) > since for pod, kinds in makers)
    own = (pod for pod in pods if pod["spec"].get("schedulerName") == _DEFAULT_SCHEDULER)
    placed = (conditions(pod).get("PodScheduled", {}) for pod in own)
    return any(
        item.get("status") == "True" and datetime.fromisoformat(item["lastTransitionTime"]).timestamp() > since
        for item in placed
    )


def _own_access(cluster: Cluster, facts: Facts) -> Mapping[Rule, bool]:
    """Only namespaces that exist are reviewed: nothing can be granted in the others."""
    there = {"", facts.probe_namespace, *(item["metadata"]["name"] for item in facts.all(NAMESPACES))}
    rules = [
        replace(rule, namespace=where) for where, found in facts.rights.items() if where in there for rule in found
    ]
    return allowed(cluster, sorted(rules, key=str))


OWN_ACCESS = Fact[Mapping[Rule, bool]]("your own rights", _own_access, {}, reads=(NAMESPACES,))
"""Whether the caller has each rule that the run needs; a rule for one namespace carries its name."""


@check("A1", "api-server", severity=Severity.BLOCKER, reads=(READY_ANSWERS, EXPIRED_LEASES))
def api_server(facts: Facts) -> Outcome:
    """The API server is ready, and the release was tested with its version.

    /readyz must answer ok three times in a row, and the minor version must be in the range that the chosen Kubeflow
    release was tested with. Choose a release that supports this version, or upgrade the API server. Where
    kube-controller-manager and kube-scheduler elect a leader, their Leases must be renewed: without them nothing that
    is created comes to life. A pod that they have made or placed since, or an experiment, shows that they act.
    """
    answers = facts.read(READY_ANSWERS)
    bounds = facts.expectations.kubernetes
    release = facts.expectations.release
    expected = f"/readyz answers ok 3 times; Kubernetes {bounds} for Kubeflow {release}"
    observed = {"server_version": facts.server_version, "readyz": list(answers)}
    sick = [answer for answer in answers if answer != "ok"]
    if sick:
        return failed(
            "NotReady",
            f"{len(sick)} of {len(answers)} answers of /readyz were not ok: {sick[0]}",
            expected=expected,
            observed=observed,
            objects=(API_SERVER,),
            todo="see which part of the API server is not ready.",
            commands=("kubectl get --raw '/readyz?verbose'",),
        )
    if not bounds.covers(facts.server_version):
        return failed(
            "VersionOutsideRange",
            f"Kubeflow {release} was tested with Kubernetes {bounds}; the API server is {facts.server_version}.",
            expected=expected,
            observed=observed,
            objects=(API_SERVER,),
            todo="choose a release for this Kubernetes version (--release), or another Kubernetes version.",
        )
    if stopped := next(_without_leader(facts), None):
        return stopped
    message = f"/readyz answered ok {counted(len(answers), 'time')}; {facts.server_version} is within {bounds}."
    return passed(message, objects=(API_SERVER,), observed=observed)


@check("A2", "own-permissions", severity=Severity.MAJOR, reads=(OWN_ACCESS,))
def own_permissions(facts: Facts) -> Outcome:
    """Your account has every right that the chosen checks need.

    The API server answers a SelfSubjectAccessReview for each rule; a list of rights would prove nothing. A check that
    needs a missing right ends in an error and never passes. Grant the rules that are printed; `kubeflow-volcano
    rbac` prints all rules of a run, as roles and bindings.
    """
    access = facts.read(OWN_ACCESS)
    denied = [rule for rule, granted in access.items() if not granted]
    if not access:
        return errored("NothingAsked", "no rule was reviewed.", todo="choose a check that needs a right (--select).")
    if denied:
        by_place = {where: [rule for rule in denied if rule.namespace == where] for where in _places(denied)}
        return errored(
            "Forbidden",
            f"{len(denied)} of {counted(len(access), 'rule')} not granted: {', '.join(map(str, denied))}.",
            expected="every rule that the chosen checks need",
            observed={str(rule): "denied" for rule in denied},
            objects=(API_SERVER,),
            commands=("kubeflow-volcano rbac",),
            todo="grant these rules, or run with an account that has them:\n"
            + "\n".join(f"# {_place(where)}\n{as_yaml(rules)}" for where, rules in by_place.items()),
        )
    places = ", ".join(_place(where) for where in _places(access))
    message = f"all {counted(len(access), 'rule')} granted, {places}."
    return passed(message, objects=(API_SERVER,))


def _places(rules: Iterable[Rule]) -> list[str]:
    return sorted({rule.namespace for rule in rules})


def _place(namespace: str) -> str:
    return f"in namespace {namespace}" if namespace else "cluster-wide"
