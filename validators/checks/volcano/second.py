"""Programs of Volcano that run a second time on a cluster, for F1: which of them get in each other's way.

Rules, of Volcano v1.8.0 to v1.15.1. A scheduler takes the pods with one of its --scheduler-name (cmd/scheduler/app/
options), and shares them with others only by the hashes of pkg/scheduler/cache/util.go, which MULTI_SCHEDULER_ENABLE
turns on. Controllers take every job of batch.volcano.sh (pkg/controllers/job). Either leaves the work to the holder of
one Lease if both elect a leader with it; upstream's manifests turn that off. The webhook manager does what webhook
configurations send to its Service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.images.names import program_of
from kubeflow_volcano.cluster.admission.webhooks import backends, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.ownership import mark_of
from kubeflow_volcano.cluster.readiness import assess
from kubeflow_volcano.cluster.volcano import SCHEDULER_PROGRAM, scheduler_container, scheduler_names
from kubeflow_volcano.validators.core.facts import Fact, Facts, Read
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS, SERVICES, STATEFUL_SETS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.permissions import allowed
from kubeflow_volcano.validators.subjects.gang.leases import lease_of
from kubeflow_volcano.validators.subjects.interception import LISTS
from kubeflow_volcano.validators.subjects.issues import Issue, judged

_CONTROLLERS, _ADMISSION = "vc-controller-manager", "vc-webhook-manager"
_TITLES = {SCHEDULER_PROGRAM: "scheduler", _CONTROLLERS: "controller manager", _ADMISSION: "admission"}
_ACTS_BY = {SCHEDULER_PROGRAM: Rule("create", "", "pods/binding"), _CONTROLLERS: Rule("create", "", "pods")}
"""A right without which a program does nothing, by program."""
_SHARES = "MULTI_SCHEDULER_ENABLE"


@dataclass(frozen=True, slots=True)
class _Pair:
    """A program of the release and a workload that is no part of it and runs the same one."""

    program: str
    own: Object
    other: Object


def _pairs(facts: Facts) -> Iterator[_Pair]:
    ours = {ref for ref, component in facts.expectations.workloads.items() if component == VOLCANO.name}
    running: dict[str, list[Object]] = {}
    for item in (item for kind in (DEPLOYMENTS, STATEFUL_SETS) for item in judged(facts, kind)):
        if item["spec"].get("replicas", 1) and (program := _program_of(item)):
            running.setdefault(program, []).append(item)
    for program, found in running.items():
        own = next((item for item in found if Ref.of(item) in ours), None)
        others = [item for item in found if Ref.of(item) not in ours] if own else ()
        yield from (_Pair(program, own, item) for item in others if own and not _are_meant_to(program, own, item))


def _program_of(workload: Object) -> str:
    images = map(program_of, workload["spec"]["template"]["spec"]["containers"])
    return next((image.name for image in images if image and image.name in _TITLES), "")


def _are_meant_to(program: str, own: Object, other: Object) -> bool:
    """Whether both may run: schedulers for pods of different names, or that share them by hashes."""
    if program != SCHEDULER_PROGRAM:
        return False
    return not {*scheduler_names(own)} & {*scheduler_names(other)} or (_shares(own) and _shares(other))


def _shares(scheduler: Object) -> bool:
    environment = scheduler_container(scheduler["spec"]["template"]["spec"]).get("env") or ()
    return any((item["name"], item.get("value")) == (_SHARES, "true") for item in environment)


def own_programs(facts: Facts) -> Iterator[tuple[Object, Rule]]:
    """Scheduler and controllers of the release, each with the right without which it does nothing."""
    for item in judged(facts, DEPLOYMENTS):
        rule = _ACTS_BY.get(_program_of(item))
        if rule and facts.expectations.workloads.get(Ref.of(item)) == VOLCANO.name:
            yield item, rule


def _rights(cluster: Cluster, facts: Facts) -> Mapping[Ref, bool]:
    others = ((pair.other, _ACTS_BY[pair.program]) for pair in _pairs(facts) if pair.program in _ACTS_BY)
    return {
        Ref.of(item): allowed(cluster, [rule], user=_account(item))[rule]
        for item, rule in (*own_programs(facts), *others)
    }


def _account(workload: Object) -> str:
    pods = workload["spec"]["template"]["spec"]
    return f"system:serviceaccount:{workload['metadata']['namespace']}:{pods.get('serviceAccountName') or 'default'}"


RIGHTS = Fact[Mapping[Ref, bool]](
    "rights of Volcano's programs",
    _rights,
    {},
    reads=(DEPLOYMENTS, STATEFUL_SETS),
    needs=(Rule("create", "authorization.k8s.io", "subjectaccessreviews"),),
    enriches=True,
)
"""Whether the account of a scheduler or of controllers may do their work; absent if it is unknown."""

READS: tuple[Read, ...] = (DEPLOYMENTS, STATEFUL_SETS, SERVICES, *LISTS, RIGHTS)
"""What `second_volcano` reads."""


def second_volcano(facts: Facts) -> Iterator[Issue]:
    """Programs of Volcano that run beside those that are expected.

    Two schedulers at work are a failure: each gives away the room that the other one has given to a gang. Everything
    else is a warning: controllers that do the same twice, what waits for the other to end, what has no rights, and an
    admission that nothing calls.
    """
    for pair in _pairs(facts):
        yield _of_admission(facts, pair) if pair.program == _ADMISSION else _at_work(facts, pair)


def _at_work(facts: Facts, pair: _Pair) -> Issue:
    ref, own, title = Ref.of(pair.other), Ref.of(pair.own), _TITLES[pair.program]
    issue = partial(Issue, "F1", Status.WARN, ref, todo=_todo(pair), changes=_off(ref))
    second = f"{ref} runs a second {title} of Volcano beside {own}"
    may = facts.known(RIGHTS).get(ref)
    if may is False:
        verb = str(_ACTS_BY[pair.program])
        return issue(
            reason="WithoutRights", message=f"{second}; it does nothing, as its account has no right to {verb}."
        )
    if (lease := lease_of(pair.other)) and lease == lease_of(pair.own):
        return issue(
            reason="OneOfTwo", message=f"{second}; only the one that holds {lease} works, with its own settings."
        )
    unknown = "" if may else "; whether its account still has the rights for it is not known"
    if pair.program != SCHEDULER_PROGRAM:
        return issue(reason="SecondControllers", message=f"{second}, and both act on the same jobs{unknown}.")
    names = ", ".join(sorted({*scheduler_names(pair.own)} & {*scheduler_names(pair.other)}))
    found = issue(
        reason="SecondScheduler",
        message=f"{second}, and both place the pods with schedulerName {names}: with room for one gang, each may start "
        f"part of another{unknown}.",
    )
    return replace(found, status=Status.FAIL) if may and assess(pair.other).ready else found


def _of_admission(facts: Facts, pair: _Pair) -> Issue:
    ref, own = Ref.of(pair.other), Ref.of(pair.own)
    second = f"{ref} runs a second admission of Volcano beside {own}"
    issue = partial(Issue, "F1", Status.WARN, ref)
    objects = (*facts.all(SERVICES), pair.other)
    hooks = webhooks(item for kind in LISTS for item in facts.all(kind))
    callers = sorted({hook.owner for hook in hooks if backends(hook, objects)})
    if not callers:
        return issue("UnusedAdmission", f"{second}; no webhook configuration calls it.", _todo(pair), changes=_off(ref))
    named = ", ".join(map(str, callers))
    if own_hooks := [item for item in callers if item in facts.expectations.webhooks]:
        todo = "install component volcano again, so that these call its own admission."
        return issue("SecondAdmission", f"{second}, and {', '.join(map(str, own_hooks))} call it.", todo)
    # Without an answer they would refuse jobs.
    deletions = tuple(f"kubectl delete {item.kind.lower()} {item.name}" for item in callers)
    message = f"{second}, and both judge the same jobs: {named} call it."
    return issue("SecondAdmission", message, _todo(pair), changes=(*deletions, *_off(ref)))


def _todo(pair: _Pair) -> str:
    mark = mark_of(pair.other)
    text = "scale it to 0, and delete it when nothing misses it; one Volcano serves all namespaces."
    return f"{text} Tell {mark}, too, which may start it again." if mark else text


def _off(ref: Ref) -> tuple[str, ...]:
    return (f"kubectl -n {ref.namespace} scale {ref.kind.lower()} {ref.name} --replicas=0",)
