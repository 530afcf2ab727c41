"""Reads one job and the objects that its start depends on, with the least permissions; denied reads are reported."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from http import HTTPStatus

from kubeflow_volcano.catalog.gangs import (
    KUBERNETES,
    SCHEDULER_PLUGINS,
    VOLCANO,
    GangScheduler,
    membership,
    scheduler_of,
)
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State as Readiness
from kubeflow_volcano.cluster.readiness import assess_pod
from kubeflow_volcano.cluster.volcano import scheduler_ref
from kubeflow_volcano.experiment.stage import PODGROUP
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.core.expectations import SCHEDULER, Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.resources import CLUSTER_RUNTIMES, DEPLOYMENTS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.creation.controllers import controllers_of
from kubeflow_volcano.validators.explain.kinds import JOBSETS, KINDS, RUNTIMES, Kind, foreign
from kubeflow_volcano.validators.explain.model import Event, Situation, State, is_for_single_pods
from kubeflow_volcano.validators.explain.reading import creation, devices, topology
from kubeflow_volcano.validators.explain.reading.kueue import rules as rules_of_kueue
from kubeflow_volcano.validators.explain.reading.kueue import with_kueue
from kubeflow_volcano.validators.explain.reading.ownership import between, kinds_named
from kubeflow_volcano.validators.explain.reading.queries import KINDS_READ, Query, list_objects
from kubeflow_volcano.validators.explain.scheduling.attachments import CSI_NODES
from kubeflow_volcano.validators.explain.scheduling.volcano import PODGROUPS
from kubeflow_volcano.validators.subjects.crds import DISCOVERY
from kubeflow_volcano.validators.subjects.gang.leases import LEASES, leases_of
from kubeflow_volcano.validators.subjects.pods import POD_NOTES, notes

_PARALLEL = 8
_IN_STRUCTURE = re.compile(r'Message:"((?:[^"\\]|\\.)*)"')
_MOST_NOTES = 5
"""Pods whose events and logs are read."""
_SEVERAL = 2
_EVERYWHERE = (
    CSI_NODES,
    "nodes",
    "persistentvolumes",
    PODGROUPS,
    "pods",
    "priorityclasses.scheduling.k8s.io",
    "queues.scheduling.volcano.sh",
    "storageclasses.storage.k8s.io",
)
_IN_NAMESPACE = (
    *("events", "limitranges", "persistentvolumeclaims", "resourcequotas", "serviceaccounts"),
    SCHEDULER_PLUGINS.podgroups,
    KUBERNETES.podgroups,
)
_OF_TRAINJOBS = (JOBSETS, RUNTIMES, "jobs.batch")


def rules(namespace: str) -> tuple[Rule, ...]:
    """Permissions to explain any job of the namespace."""
    jobs = (Rule("get", kind.resource.partition(".")[2], kind.plural, namespace) for kind in KINDS.values())
    lists = {query.rule for kind in KINDS.values() for query in _queries(kind, namespace)}
    logs = Rule("get", "", "pods/log", namespace)
    leases = {
        Rule("get", "coordination.k8s.io", "leases", item.namespace)
        for item in lists
        if item.plural_group == DEPLOYMENTS
    }
    more = (*creation.rules(namespace), *devices.rules(namespace), *topology.rules(), *rules_of_kueue(namespace))
    return (*jobs, logs, *sorted(lists | leases, key=str), *more)


def read_situation(cluster: Cluster, namespace: str, name: str, kind: str = "") -> Situation:
    """The job of that name and the objects around it; `kind` is needed where several jobs have the name.

    Raises:
        InvalidInput: no job, or more than one, has the name.
        ApiError: the job itself could not be read.
    """
    chosen, obj = _find(cluster, namespace, name, kind)
    scheduler = scheduler_ref(cluster) or SCHEDULER
    queries = _queries(chosen, namespace, scheduler)
    answers = in_parallel(lambda query: list_objects(cluster, query), queries, _PARALLEL)
    objects: dict[str, tuple[Object, ...]] = dict.fromkeys(KINDS_READ, ())
    unread: dict[str, Unread] = {}
    for query, answer in zip(queries, answers, strict=True):
        if isinstance(answer, Unread):
            unread[query.resource] = answer
        else:
            objects[query.resource] += answer
    if "pods" in unread:  # the pods of the job's namespace may be readable where others are not
        own = list_objects(cluster, Query("pods", namespace))
        objects["pods"] = () if isinstance(own, Unread) else own
    served = frozenset(cluster.kinds(PODGROUP[0]))
    facts = Facts(
        Expectations(scheduler=scheduler),
        time.time(),
        objects=objects,
        unread=unread,
        found={
            DISCOVERY: {PODGROUP[0]: served},
            LEASES: leases_of(cluster, objects["deployments.apps"]),
        },
    )
    owners: set[str] = set()
    if chosen.read is foreign:
        beside = [pod for pod in objects["pods"] if pod["metadata"]["namespace"] == namespace]
        owners, untold = between(cluster, obj["metadata"]["uid"], beside)
        unread |= untold
    complete = devices.with_devices(cluster, with_kueue(cluster, assemble(chosen, obj, facts, owners)))
    complete = topology.with_topology(cluster, complete)
    if complete.state is State.WAITING or (
        complete.state is State.STARTED and len(complete.pods) < complete.job.wanted
    ):
        complete = creation.with_admission(cluster, complete)
    unready = [pod for pod in complete.placed if assess_pod(pod).state not in {Readiness.READY, Readiness.SKIP}]
    noted = {pod["metadata"]["uid"]: notes(cluster, pod) for pod in unready[:_MOST_NOTES]}
    return replace(complete, facts=replace(complete.facts, found={**complete.facts.found, POD_NOTES: noted}))


def _find(cluster: Cluster, namespace: str, name: str, word: str) -> tuple[Kind, Object]:
    """The kind that has an object of that name, and the object."""
    kinds = {key.lower(): item for key, item in KINDS.items()} | {"vcjob": KINDS["Job"]}
    known = kinds.get(word.lower())
    asked = ((known,) if known else kinds_named(cluster, word)) if word else tuple(KINDS.values())
    if not asked:
        needed = f"one of {', '.join([*KINDS, 'vcjob'])}, or another kind that the API server serves."
        raise InvalidInput.problem(f"--kind {word}.", needed, "correct or omit it.")
    matches, denied = _having(cluster, asked, namespace, name)
    if known and not matches:  # another group or version may have a kind of this name: MPIJob v2beta1
        matches, more = _having(cluster, kinds_named(cluster, word), namespace, name)
        denied += more
    jobs = [pair for pair in matches if pair[0].kind != PODGROUP[1]] or matches
    if len(jobs) == 1:
        return jobs[0]
    if jobs:
        keys = {item: key for key, item in KINDS.items()}
        several = ", ".join(keys.get(item, item.resource) for item, _ in jobs)
        raise InvalidInput.problem(
            f"several jobs are named {namespace}/{name}: {several}.", "one of them.", "add --kind KIND."
        )
    if denied:
        raise denied[0]
    raise InvalidInput.problem(
        f"there is no {word or 'job'} {namespace}/{name}.",
        f"an existing job of kind {', '.join(dict.fromkeys(item.kind for item in asked))}.",
        "correct namespace and name. If the API server refused to create the job, its answer to that request has "
        "the cause.",
    )


def _having(
    cluster: Cluster, kinds: Iterable[Kind], namespace: str, name: str
) -> tuple[list[tuple[Kind, Object]], list[ApiError]]:
    """The kinds that have an object of that name, each with it, and the refusals of those that may not be read."""
    found: list[tuple[Kind, Object]] = []
    denied: list[ApiError] = []
    for item in kinds:
        try:
            obj = cluster.get(Ref(item.api_version, item.kind, namespace, name))
        except ApiError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            denied.append(error)
            continue
        if obj:
            found.append((item, obj))
    return found, denied


def _queries(kind: Kind, namespace: str, scheduler: Ref = SCHEDULER) -> tuple[Query, ...]:
    group = "" if kind.read is foreign else kind.api_version.rpartition("/")[0]
    of_kind = [Query(item, namespace) for item in _OF_TRAINJOBS] + [Query(CLUSTER_RUNTIMES)]
    spaces = {scheduler.namespace, *(item.ref.namespace for item in controllers_of(group, scheduler))}
    return (
        *(Query(item) for item in _EVERYWHERE),
        *(Query(item, namespace) for item in _IN_NAMESPACE),
        *(Query("deployments.apps", item) for item in sorted(spaces)),
        Query("configmaps", scheduler.namespace),
        *(of_kind if kind.kind == "TrainJob" else ()),
    )


def assemble(kind: Kind, obj: Object, facts: Facts, between: Collection[str] = ()) -> Situation:
    """The job with its PodGroup, its pods and the events about them.

    `between` are UIDs of what stands between a job of another kind and its pods.
    """
    job = kind.read(obj, facts)
    owners = {job.uid, *between} | {item["metadata"]["uid"] for item in _jobs_of(obj, facts)}
    space = job.ref.namespace
    beside = [pod for pod in facts.objects["pods"] if pod["metadata"]["namespace"] == space]
    own = [pod for pod in beside if _is_owned(pod, owners) or pod["metadata"]["uid"] == job.uid]
    waiting = _waiting_gang(own) if kind.read is foreign else []
    if waiting:  # its gangs start each for itself
        job, own = replace(job, roles=()), waiting
    group = _group_of(job.groups, set() if waiting else owners, own, space, facts)
    if kind.kind == PODGROUP[1] and group:
        name = group["metadata"]["name"]
        own = [pod for pod in beside if scheduler_of(group).named_by(pod) == name]
    pods = _current([pod for pod in own if "deletionTimestamp" not in pod["metadata"]], job.wanted)
    claims = [item for item in facts.objects["persistentvolumeclaims"] if item["metadata"]["namespace"] == space]
    about = owners | {item["metadata"]["uid"] for item in (*pods, *claims, *([group] if group else ()))}
    events = tuple(_events(facts.objects["events"], about))
    return Situation(job, obj, facts, group, tuple(pods), events)


def _waiting_gang(pods: Collection[Object]) -> list[Object]:
    """Of pods that are in several gangs those of the first one that has pods without a node; empty for other pods.

    A pod that names its PodGroup is of that gang, also where Volcano gave it another one since it names that scheduler.
    """
    members: dict[tuple[str, GangScheduler], list[Object]] = {}
    for pod in pods:
        gang, name = membership(pod)
        if gang:
            members.setdefault((name, gang), []).append(pod)
    waiting = [key for key, found in members.items() if not all(it["spec"].get("nodeName") for it in found)]
    if len(members) < _SEVERAL or not waiting:
        return []
    name, gang = min(waiting, key=lambda key: key[0])
    return [pod for pod in pods if gang.named_by(pod) == name]


def _current(pods: list[Object], wanted: int) -> list[Object]:
    """Without failed pods that were replaced: a Job keeps them beside the new ones."""
    others = [pod for pod in pods if pod.get("status", {}).get("phase") != "Failed"]
    return others if wanted and len(others) >= wanted else pods


def _jobs_of(obj: Object, facts: Facts) -> Iterator[Object]:
    """The JobSet of a TrainJob, and the Jobs of that."""
    sets = [item for item in facts.objects.get(JOBSETS, ()) if _is_owned(item, {obj["metadata"]["uid"]})]
    yield from sets
    uids = {item["metadata"]["uid"] for item in sets}
    yield from (item for item in facts.objects.get("jobs.batch", ()) if _is_owned(item, uids))


def _is_owned(obj: Object, owners: set[str]) -> bool:
    return any(item["uid"] in owners for item in obj["metadata"].get("ownerReferences") or ())


def _group_of(
    names: Iterable[str], owners: set[str], pods: Iterable[Object], space: str, facts: Facts
) -> Object | None:
    """The PodGroup that the job owns, else one that its pods name or that has one of these names, of any owner.

    Controllers use one that exists and look at no owner: SyncPodGroup of the training operator's
    pkg/controller.v1/common, v1.5.0 to v1.9.2; Build of Trainer's pkg/runtime/framework/plugins/volcano, v2.1.0;
    createOrUpdatePodGroup of Volcano's pkg/controllers/job, v1.8.0 to v1.15.1.

    Of several, one that was created for the job comes before those that Volcano creates for single pods; and before
    all of another scheduler's comes that of the scheduler that places the pods.
    """
    kinds = (PODGROUPS, SCHEDULER_PLUGINS.podgroups, KUBERNETES.podgroups)
    every = [item for resource in kinds for item in facts.objects.get(resource, ())]
    groups = [item for item in every if item["metadata"]["namespace"] == space]
    by_name = {(scheduler_of(item).name, item["metadata"]["name"]): item for item in groups}
    named = [(gang.name, name) for gang, name in map(membership, pods) if gang]
    placing = {gang for gang, _ in named}
    owned = [item for item in groups if _is_owned(item, owners) or item["metadata"]["uid"] in owners]
    if owned and not (placing and placing.isdisjoint(scheduler_of(item).name for item in owned)):
        return min(owned, key=lambda item: (is_for_single_pods(item), item["metadata"]["name"]))
    named += [(gang.name, name) for name in names for gang in (SCHEDULER_PLUGINS, VOLCANO)]  # that operators make
    return next((by_name[key] for key in named if key in by_name), None)


def _plain(message: str) -> str:
    """The message without the Go structures in which Volcano's controller wraps the API server's answer."""
    inner = dict.fromkeys(item.replace('\\"', '"') for item in _IN_STRUCTURE.findall(message))
    return "; ".join(inner) or message


def _events(every: Iterable[Object], about: set[str]) -> list[Event]:
    """Warnings about the objects with these UIDs, oldest first."""
    events = [
        Event(
            ref=Ref(
                item["involvedObject"].get("apiVersion", "v1"),
                item["involvedObject"]["kind"],
                item["involvedObject"].get("namespace", ""),
                item["involvedObject"]["name"],
            ),
            reason=str(item.get("reason", "")),
            message=_plain(str(item.get("message", ""))),
            count=int(item.get("count") or 1),
            last=str(item.get("lastTimestamp") or item.get("eventTime") or item["metadata"]["creationTimestamp"]),
            source=str((item.get("source") or {}).get("component") or item.get("reportingComponent") or ""),
        )
        for item in every
        if item.get("type") == "Warning" and item.get("involvedObject", {}).get("uid") in about
    ]
    return sorted(events, key=lambda event: event.last)
