"""Reading one snapshot of a cluster: only what the chosen checks need, in parallel, and what could not be read."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http import HTTPStatus

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.progress import Progress
from validators import stability, workloads
from validators.expectations import Expectations
from validators.extras import EXTRAS
from validators.extras.model import Extra
from validators.facts import RESOURCES, Facts, Unread, Window
from validators.model import CannotJudgeError, Check, Rule
from validators.permissions import as_yaml, missing_for_reading

__all__ = ["collect", "unread"]

_PARALLEL = 6
# Who the cluster is and what of it is simulated stands in every report.
_ALWAYS = frozenset({"namespaces", "nodes"})
# Only Volcano's own configuration is read; other ConfigMaps are nobody's business.
_ONLY_IN = {"configmaps": "volcano-system"}
_SETTLE_TRIES, _SETTLE_SECONDS = 5, 2.0
_WATCH_PODS = Rule("watch", "", "pods")


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
    """
    window, trouble = _window(cluster, checks, seconds, progress)
    named = {rule.plural_group for item in checks for rule in item.needs if rule.verb == "list"}
    wanted = sorted(_ALWAYS | (named & RESOURCES.keys()))
    progress(f"reading {len(wanted)} kinds of objects")
    facts = _settled(cluster, wanted, expectations, window)
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
    if error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}:
        plural, _, group = what.partition(".")
        rule = f" Rule: {as_yaml((Rule('list', group, plural),))}" if what in RESOURCES else ""
        return Unread("Forbidden", f"{what} may not be read: {error.message}", f"grant the right to read it.{rule}")
    return Unread("Unreachable", f"{what} could not be read: {error}", "see the API server's health, then run again.")


def _window(
    cluster: Cluster, checks: Collection[Check], seconds: float, progress: Progress
) -> tuple[Window | None, dict[str, Unread]]:
    if not any(_WATCH_PODS in item.needs for item in checks):
        return None, {}
    progress(f"watching all pods for {seconds:.0f} s")
    try:
        return stability.watch(cluster, seconds, progress), {}
    except ApiError as error:
        return None, {"window": unread("pods", error)}


def _settled(cluster: Cluster, wanted: Sequence[str], expectations: Expectations, window: Window | None) -> Facts:
    """A snapshot in which no workload is a moment behind its pods, if that comes within some seconds."""
    facts = _snapshot(cluster, wanted, expectations)
    looks_at_workloads = {rule.plural_group for rule in workloads.READS} <= set(wanted)
    for _ in range(_SETTLE_TRIES if window and looks_at_workloads else 0):
        if not _behind(facts):
            break
        time.sleep(_SETTLE_SECONDS)
        facts = _snapshot(cluster, wanted, expectations)
    return facts


def _behind(facts: Facts) -> bool:
    try:
        found = workloads.troubled(facts)
    except CannotJudgeError:
        return False
    live = (facts.get(workloads.RESOURCE_OF_KIND[item.ref.kind], item.ref.namespace, item.ref.name) for item in found)
    return any(
        item and not trouble.because and assess(item).state is State.WAIT
        for trouble, item in zip(found, live, strict=True)
    )


def _snapshot(cluster: Cluster, wanted: Sequence[str], expectations: Expectations) -> Facts:
    with ThreadPoolExecutor(_PARALLEL, "list") as pool:
        answers = dict(zip(wanted, pool.map(lambda name: _list(cluster, name), wanted), strict=True))
    objects = {name: answer for name, answer in answers.items() if not isinstance(answer, Unread)}
    system = next((item for item in objects.get("namespaces", ()) if item["metadata"]["name"] == "kube-system"), None)
    return Facts(
        expectations,
        time.time(),
        server_version=cluster.version.get("gitVersion", ""),
        cluster_uid=system["metadata"]["uid"] if system else "",
        objects=objects,
        unread={name: answer for name, answer in answers.items() if isinstance(answer, Unread)},
    )


def _list(cluster: Cluster, name: str) -> tuple[Object, ...] | Unread:
    api_version, kind = RESOURCES[name]
    try:
        items = cluster.list(api_version, kind, namespace=_ONLY_IN.get(name, "")).items
    except NotServed:
        return ()
    except ApiError as error:
        return unread(name, error)
    for item in items:
        item["metadata"].pop("managedFields", None)  # half the memory of a large cluster's snapshot
    return items
