"""Reading one snapshot of a cluster: only what the chosen checks need, in parallel, and what could not be read."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from http import HTTPStatus

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.errors import ApiError, NotServed
from kubeflow_volcano.cluster.garbage import uncollected
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.parallel import in_parallel
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.progress import Progress
from validators import stability, workloads
from validators.expectations import Expectations
from validators.extras import EXTRAS
from validators.extras.model import Extra
from validators.facts import RESOURCES, Facts, Unread, Window
from validators.model import CannotJudgeError, Check, Rule
from validators.permissions import as_yaml, missing_for_reading
from validators.trimming import trim_of

__all__ = ["collect", "unread"]

_PARALLEL = 6
# Who the cluster is and what of it is simulated stands in every report.
_ALWAYS = frozenset({"namespaces", "nodes"})
# Only Volcano's own configuration is read; other ConfigMaps are nobody's business.
_ONLY_IN = {"configmaps": "volcano-system"}
_SETTLE_TRIES, _SETTLE_SECONDS = 5, 2.0
_WATCH_PODS = Rule("watch", "", "pods")


@uncollected()
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
) -> Facts:
    """One snapshot for these checks. Pods are watched for `seconds` before it, where a check asks for that.

    `rights` are the rules that the run needs, by namespace; the caller is held against them.

    Raises:
        ApiError: nothing at all could be read, for a reason that is nobody's lack of rights.
    """
    window, known, trouble = _window(cluster, checks, seconds, progress)
    named = {rule.plural_group for item in checks for rule in item.needs if rule.verb == "list"}
    wanted = sorted(_ALWAYS | (named & RESOURCES.keys()))
    progress(f"reading {len(wanted)} kinds of objects")
    facts = _settled(cluster, wanted, expectations, known)
    missing = missing_for_reading(cluster, checks, probe_namespace, read_only=read_only)
    unread_by_now = {**missing, **facts.unread, **trouble}
    facts = replace(facts, window=window, unread=unread_by_now, probe_namespace=probe_namespace, rights=rights)
    chosen = {item.id for item in checks}
    for extra in EXTRAS:
        if (not extra.checks or chosen & extra.checks) and (extra.changes_nothing or not read_only):
            try:
                facts = replace(facts, **{extra.field: extra.fetch(cluster, facts)})
            except CannotJudgeError as stop:  # what it starts from could not be read
                why = stop.outcome
                facts = _without(facts, extra, Unread(why.reason, why.message, why.todo))
            except ApiError as error:
                facts = _without(facts, extra, unread(extra.key, error))
    return facts


def _without(facts: Facts, extra: Extra, why: Unread) -> Facts:
    return replace(facts, unread={**facts.unread, extra.key: why}) if extra.key else facts


def unread(what: str, error: ApiError) -> Unread:
    """Why `what` could not be read, told apart by whose fault it is."""
    if error.status == HTTPStatus.UNAUTHORIZED:
        todo = "sign in again or renew the token, then run again."
        return Unread("Unauthorized", f"the API server does not accept these credentials: {error.message}", todo)
    if error.status == HTTPStatus.FORBIDDEN:
        plural, _, group = what.partition(".")
        rule = f" Rule: {as_yaml((Rule('list', group, plural),))}" if what in RESOURCES else ""
        return Unread("Forbidden", f"{what} may not be read: {error.message}", f"grant the right to read it.{rule}")
    return Unread("Unreachable", f"{what} could not be read: {error}", "see the API server's health, then run again.")


_Known = Mapping[str, tuple[Object, ...]]


def _window(
    cluster: Cluster, checks: Collection[Check], seconds: float, progress: Progress
) -> tuple[Window | None, _Known, Mapping[str, Unread]]:
    """What a watch over the pods saw, the pods as they are by now, and what went wrong instead."""
    if not any(_WATCH_PODS in item.needs for item in checks):
        return None, {}, {}
    progress(f"watching all pods for {seconds:.0f} s")
    try:
        window, pods = stability.watch(cluster, seconds, progress)
    except ApiError as error:
        return None, {}, {"window": unread("pods", error)}
    return window, {"pods": pods}, {}


def _settled(cluster: Cluster, wanted: Sequence[str], expectations: Expectations, known: _Known) -> Facts:
    """A snapshot in which no workload is a moment behind its pods, if that comes within some seconds."""
    facts = _snapshot(cluster, wanted, expectations, known)
    looks_at_workloads = {rule.plural_group for rule in workloads.READS} <= set(wanted)
    for _ in range(_SETTLE_TRIES if known and looks_at_workloads else 0):
        if not _behind(facts):
            break
        time.sleep(_SETTLE_SECONDS)
        facts = _snapshot(cluster, wanted, expectations, {})
    return facts


def _behind(facts: Facts) -> bool:
    kinds = (facts.objects.get(name, ()) for name in workloads.RESOURCE_OF_KIND.values())
    if not any(assess(item).state is State.WAIT for items in kinds for item in items):
        return False
    try:
        found = workloads.troubled(facts)
    except CannotJudgeError:
        return False
    live = (facts.get(workloads.RESOURCE_OF_KIND[item.ref.kind], item.ref.namespace, item.ref.name) for item in found)
    return any(
        item and not trouble.because and assess(item).state is State.WAIT
        for trouble, item in zip(found, live, strict=True)
    )


def _snapshot(cluster: Cluster, wanted: Sequence[str], expectations: Expectations, known: _Known) -> Facts:
    """What is wanted as it is now; what is `known` was read a moment before."""
    rest = [name for name in wanted if name not in known]
    answers = dict(zip(rest, in_parallel(lambda name: _list(cluster, name), rest, _PARALLEL), strict=True))
    errors = {name: answer for name, answer in answers.items() if isinstance(answer, ApiError)}
    if (
        errors
        and len(errors) == len(rest)
        and not any(error.status == HTTPStatus.FORBIDDEN for error in errors.values())
    ):
        raise next(iter(errors.values()))
    objects = {name: answer for name, answer in answers.items() if not isinstance(answer, ApiError)} | {
        name: items for name, items in known.items() if name in wanted
    }
    system = next((item for item in objects.get("namespaces", ()) if item["metadata"]["name"] == "kube-system"), None)
    return Facts(
        expectations,
        time.time(),
        server_version=cluster.version.get("gitVersion", ""),
        cluster_uid=system["metadata"]["uid"] if system else "",
        objects=objects,
        unread={name: unread(name, error) for name, error in errors.items()},
    )


def _list(cluster: Cluster, name: str) -> tuple[Object, ...] | ApiError:
    api_version, kind = RESOURCES[name]
    try:
        return cluster.list(api_version, kind, namespace=_ONLY_IN.get(name, ""), trim=trim_of(name)).items
    except NotServed:
        return ()
    except ApiError as error:
        return error
