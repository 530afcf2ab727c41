"""Reading one snapshot of a cluster: only what the chosen checks need, in parallel, and what could not be read."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.garbage import collection_paused
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from validators.core.check import Check
from validators.core.expectations import Expectations
from validators.core.facts import RESOURCES, Facts, Unread, Window
from validators.core.outcome import CannotJudgeError
from validators.core.rights import Rule
from validators.reading.extras import EXTRAS
from validators.reading.extras.model import Extra
from validators.reading.permissions import as_yaml, missing_for_reading
from validators.reading.stability import Watch
from validators.reading.trimming import trim_of
from validators.subjects import workloads

__all__ = ["collect", "unread"]

_PARALLEL = 6
# Who the cluster is and what of it is simulated stands in every report.
_ALWAYS = frozenset({"namespaces", "nodes"})
# Only Volcano's own configuration is read; other ConfigMaps are nobody's business.
_ONLY_IN = {"configmaps": "volcano-system"}
# What only people and installers change may as well be read while pods are watched.
_STEADY = frozenset(
    {
        "apiservices.apiregistration.k8s.io",
        "clusterissuers.cert-manager.io",
        "clustertrainingruntimes.trainer.kubeflow.org",
        "configmaps",
        "csidrivers.storage.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "issuers.cert-manager.io",
        "kfdefs.kfdef.apps.kubeflow.org",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "storageclasses.storage.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    }
)
_SETTLE_TRIES, _SETTLE_SECONDS = 5, 2.0
_WATCH_PODS = Rule("watch", "", "pods")


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
) -> Facts:
    """One snapshot for these checks. Pods are watched for `seconds` before it, where a check asks for that.

    The caller's rights, and what hardly ever changes, are asked for while pods are watched.

    `rights` are the rules that the run needs, by namespace; the caller is held against them.

    Raises:
        ApiError: nothing at all could be read, for a reason that is nobody's lack of rights.
    """
    named = {rule.plural_group for item in checks for rule in item.needs if rule.verb == "list"}
    wanted = sorted(_ALWAYS | (named & RESOURCES.keys()))
    watched = any(_WATCH_PODS in item.needs for item in checks if not item.probe)  # those watch their own
    with Watch(cluster, seconds) if watched else contextlib.nullcontext() as watch:
        if watch:
            progress(f"watching all pods for {seconds:.0f} s")
        missing = missing_for_reading(cluster, checks, probe_namespace, read_only=read_only)
        steady = _lists(cluster, [name for name in wanted if name in _STEADY]) if watch else {}
        window, known, trouble = _seen(watch, progress)
    progress(f"reading {len(wanted)} kinds of objects")
    facts = _settled(cluster, wanted, expectations, steady, known)
    unread_by_now = {**missing, **facts.unread, **trouble}
    facts = replace(facts, window=window, unread=unread_by_now, probe_namespace=probe_namespace, rights=rights)
    chosen = {item.id for item in checks}
    extras = [
        extra
        for extra in EXTRAS
        if (not extra.checks or chosen & extra.checks) and (extra.changes_nothing or not read_only)
    ]
    for group in ([item for item in extras if not item.checks], [item for item in extras if item.checks]):
        fetch = partial(_fetched, cluster, facts)
        for extra, found in zip(group, in_parallel(fetch, group, _PARALLEL), strict=True):
            if not isinstance(found, Unread):
                facts = replace(facts, **{extra.field: found})
            elif extra.key:
                facts = replace(facts, unread={**facts.unread, extra.key: found})
    return facts


def _fetched(cluster: Cluster, facts: Facts, extra: Extra) -> Any:
    """A further fact, or why there is none."""
    try:
        return extra.fetch(cluster, facts)
    except CannotJudgeError as stop:  # what it starts from could not be read
        return Unread(stop.outcome.reason, stop.outcome.message, stop.outcome.todo)
    except ApiError as error:
        return unread(extra.key, error)


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


_Answers = Mapping[str, tuple[Object, ...] | ApiError]


def _seen(watch: Watch | None, progress: Progress) -> tuple[Window | None, _Answers, Mapping[str, Unread]]:
    """What a watch over the pods saw, the pods as they are by now, and what went wrong instead."""
    if watch is None:
        return None, {}, {}
    try:
        window, pods = watch.seen(progress)
    except ApiError as error:
        return None, {}, {"window": unread("pods", error)}
    return window, {"pods": pods}, {}


def _settled(
    cluster: Cluster, wanted: Collection[str], expectations: Expectations, steady: _Answers, known: _Answers
) -> Facts:
    """A snapshot in which no workload is a moment behind its pods, if that comes within some seconds."""
    facts = _snapshot(cluster, wanted, expectations, {**steady, **known})
    looks_at_workloads = {rule.plural_group for rule in workloads.READS} <= set(wanted)
    for _ in range(_SETTLE_TRIES if known and looks_at_workloads else 0):
        if not _behind(facts):
            break
        time.sleep(_SETTLE_SECONDS)
        facts = _snapshot(cluster, wanted, expectations, steady)
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


def _snapshot(cluster: Cluster, wanted: Collection[str], expectations: Expectations, read: _Answers) -> Facts:
    """What is wanted as it is now; what was `read` a moment before is not read again."""
    now = _lists(cluster, [name for name in wanted if name not in read])
    errors = {name: answer for name, answer in now.items() if isinstance(answer, ApiError)}
    if errors and len(errors) == len(now) and all(item.status != HTTPStatus.FORBIDDEN for item in errors.values()):
        raise next(iter(errors.values()))
    answers = {name: answer for name, answer in {**read, **now}.items() if name in wanted}
    objects = {name: answer for name, answer in answers.items() if not isinstance(answer, ApiError)}
    system = next((item for item in objects.get("namespaces", ()) if item["metadata"]["name"] == "kube-system"), None)
    return Facts(
        expectations,
        time.time(),
        server_version=cluster.version.get("gitVersion", ""),
        cluster_uid=system["metadata"]["uid"] if system else "",
        objects=objects,
        unread={name: unread(name, error) for name, error in answers.items() if isinstance(error, ApiError)},
    )


def _lists(cluster: Cluster, names: Sequence[str]) -> _Answers:
    return dict(zip(names, in_parallel(lambda name: _list(cluster, name), names, _PARALLEL), strict=True))


def _list(cluster: Cluster, name: str) -> tuple[Object, ...] | ApiError:
    api_version, kind = RESOURCES[name]
    try:
        return cluster.list(api_version, kind, namespace=_ONLY_IN.get(name, ""), trim=trim_of(name)).items
    except NotServed:
        return ()
    except ApiError as error:
        return error
