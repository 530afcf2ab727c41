"""Reading one snapshot of a cluster: only what the chosen checks need, in parallel, and what could not be read."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ODD, ApiError, NotServed, odd_answers
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.garbage import collection_paused
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import Check, closure
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Fact, Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError
from kubeflow_volcano.validators.core.resources import NAMESPACES, NODES, PODS, RESOURCES, Resource
from kubeflow_volcano.validators.core.rights import VOLCANO_HOME, Rule
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.reading.devices import DEVICES
from kubeflow_volcano.validators.reading.permissions import as_yaml, missing_for_reading
from kubeflow_volcano.validators.reading.stability import Watch
from kubeflow_volcano.validators.reading.trimming import trim_of
from kubeflow_volcano.validators.subjects import workloads
from kubeflow_volcano.validators.subjects.ownership import workload_of
from kubeflow_volcano.validators.subjects.pods import WINDOW, Window
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS

_PARALLEL = 6
# Who the cluster is, what of it is simulated and which devices it has stands in every report.
_ALWAYS = (NAMESPACES, NODES, SIMULATED_WEBHOOKS, DEVICES)
_SETTLE_TRIES = 5


@collection_paused()
def collect(
    cluster: Cluster,
    checks: Collection[Check],
    expectations: Expectations,
    *,
    read_only: bool,
    probe_namespace: str,
    rights: Mapping[str, AbstractSet[Rule]],
    seconds: float,
    progress: Progress,
    timing: Timing,
) -> Facts:
    """One snapshot for these checks, with the further facts that they read.

    Pods are watched for `seconds` before it, where a check that waits for no probe reads that, and listed once for it;
    the caller's rights, and what hardly ever changes, are read meanwhile. `rights` are the rules that the run needs,
    by namespace.

    Raises:
        ApiError: nothing at all could be read, for another reason than a lack of rights.
    """
    read = closure((*_ALWAYS, *(read for item in checks for read in item.everything)))
    wanted = sorted(item for item in read if isinstance(item, Resource))
    watched = any(WINDOW in item.facts for item in checks)
    with Watch(cluster, seconds, timing.grace_seconds) if watched else contextlib.nullcontext() as watch:
        if watch:
            progress(f"watching all pods for {seconds:.0f} s")
        missing = missing_for_reading(cluster, checks, rights, probe_namespace, read_only=read_only)
        steady = _lists(cluster, [item for item in wanted if item.steady], expectations) if watch else {}
        window, known = _seen(watch, progress)
        progress(f"reading {counted(len(wanted), 'kind')} of objects")
        facts = _snapshot(cluster, wanted, expectations, timing, {**steady, **known})
        if watch and known and set(workloads.RESOURCE_OF_KIND.values()) <= set(wanted):
            facts = _settled(facts, watch, partial(_snapshot, cluster, wanted, expectations, timing), steady)
    facts = replace(facts, unread={**missing, **facts.unread}, probe_namespace=probe_namespace, rights=rights)
    facts = replace(facts, found={WINDOW: window} if watched else {})
    further = [item for item in read if isinstance(item, Fact) and not (item.dry_run and read_only)]
    return _with(cluster, facts, [item for item in further if item not in facts.found])


def _with(cluster: Cluster, facts: Facts, further: Iterable[Fact[Any]]) -> Facts:
    """The facts with further ones; those that others read are fetched before these, which are independent."""
    further = tuple(further)
    first = [item for item in further if any(item in other.reads for other in further)]
    for group in (first, [item for item in further if item not in first]):
        answers = in_parallel(partial(_fetched, cluster, facts), group, _PARALLEL)
        facts = replace(facts, found={**facts.found, **dict(zip(group, answers, strict=True))})
    return facts


def _fetched(cluster: Cluster, facts: Facts, fact: Fact[Any]) -> Any:
    """A further fact, or why there is none."""
    try:
        with odd_answers(fact.name):
            return fact.fetch(cluster, facts)
    except CannotJudgeError as stop:  # what it starts from could not be read
        return Unread(stop.outcome.reason, stop.outcome.message, stop.outcome.todo)
    except ApiError as error:
        return unread(fact.name, error, fact.needs)


def unread(what: str, error: ApiError, rules: Sequence[Rule] = ()) -> Unread:
    """Why `what`, which needs `rules`, could not be read: the server, the rights or the connection."""
    if error.status == HTTPStatus.UNAUTHORIZED:
        todo = "sign in again, or renew the token or the client certificate; then run again."
        return Unread("Unauthorized", f"the API server does not accept these credentials: {error.message}", todo)
    if error.status == HTTPStatus.FORBIDDEN:
        rules = RESOURCES[what].needs if what in RESOURCES else rules
        rule = f" Rule: {as_yaml(rules)}" if rules else ""
        return Unread("Forbidden", f"{what} may not be read: {error.message}", f"grant the right to read it.{rule}")
    if error.reason == ODD:
        todo = "correct or delete the object that the message names; if all are well, report this: it is a defect."
        return Unread(ODD, f"{what} could not be read: {error.message}", todo)
    return Unread("Unreachable", f"{what} could not be read: {error}", "see the API server's health, then run again.")


_Answers = Mapping[str, tuple[Object, ...] | ApiError]


def _seen(watch: Watch | None, progress: Progress) -> tuple[Window | Unread | None, _Answers]:
    """What a watch over the pods saw, or what went wrong instead, and the pods as they are by now."""
    if watch is None:
        return None, {}
    try:
        window, pods = watch.seen(progress)
    except ApiError as error:
        return unread(PODS, error), {}
    return window, {PODS: pods}


def _settled(facts: Facts, watch: Watch, now: Callable[[_Answers], Facts], steady: _Answers) -> Facts:
    """These, or a later snapshot in which no workload is a moment behind its pods, if that comes within some seconds.

    The watch has the pods by then: listing them takes minutes on a large cluster.
    """
    for _ in range(_SETTLE_TRIES):
        if not _behind(facts):
            break
        try:
            pods = watch.after(facts.timing.settle_seconds)
        except ApiError:
            break
        facts = now({**steady, PODS: pods})
    return facts


def _behind(facts: Facts) -> bool:
    of_kind = workloads.RESOURCE_OF_KIND
    kinds = (facts.objects.get(name, ()) for name in of_kind.values())
    try:
        with odd_answers("workloads"):
            waiting = {Ref.of(item) for items in kinds for item in items if assess(item).state is State.WAIT}
            if not waiting:
                return False
            own = tuple(pod for pod in facts.all(PODS) if workload_of(pod) in waiting)
            issues = workloads.issues(replace(facts, objects={**facts.objects, PODS: own}))
            return any(issue.ref in waiting and not issue.because for issue in issues)
    except (ApiError, CannotJudgeError):
        return False  # the checks say why


def _snapshot(
    cluster: Cluster, wanted: Collection[Resource], expectations: Expectations, timing: Timing, read: _Answers
) -> Facts:
    """What is wanted as it is now; what was `read` a moment before is not read again."""
    now = _lists(cluster, [name for name in wanted if name not in read], expectations)
    errors = {name: answer for name, answer in now.items() if isinstance(answer, ApiError)}
    if errors and len(errors) == len(now) and all(item.status != HTTPStatus.FORBIDDEN for item in errors.values()):
        raise next(iter(errors.values()))
    answers = {name: answer for name, answer in {**read, **now}.items() if name in wanted}
    objects = {name: answer for name, answer in answers.items() if not isinstance(answer, ApiError)}
    system = next((item for item in objects.get(NAMESPACES, ()) if item["metadata"]["name"] == "kube-system"), None)
    return Facts(
        expectations,
        time.time(),
        server_version=cluster.version.get("gitVersion", ""),
        cluster_uid=system["metadata"]["uid"] if system else "",
        objects=objects,
        unread={name: unread(name, error) for name, error in answers.items() if isinstance(error, ApiError)},
        timing=timing,
    )


def _lists(cluster: Cluster, kinds: Sequence[Resource], expectations: Expectations) -> _Answers:
    return dict(zip(kinds, in_parallel(partial(_list, cluster, expectations), kinds, _PARALLEL), strict=True))


def _list(cluster: Cluster, expectations: Expectations, kind: Resource) -> tuple[Object, ...] | ApiError:
    where = expectations.scheduler.namespace if kind.namespace == VOLCANO_HOME else kind.namespace
    try:
        return cluster.list(kind.api_version, kind.kind, namespace=where, trim=trim_of(kind)).items
    except NotServed:
        return ()
    except ApiError as error:
        return error
