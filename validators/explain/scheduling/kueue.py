"""Kueue, which suspends jobs or gates their pods until its own queue has room: what it lacks, in its own words.

A job waits for its Workload, which names a LocalQueue, which names a ClusterQueue with quota by ResourceFlavor. With
quota it still waits for the AdmissionChecks of the ClusterQueue. Only then are pods created, or their gates removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeflow_volcano.catalog.gangs import VOLCANO as GANGS
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, group_of
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.explain.model import VOLCANO, Finding, Situation, finding
from kubeflow_volcano.validators.subjects.crds import DISCOVERY
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING
from kubeflow_volcano.validators.subjects.gang.recognition import named_by

GROUP = "kueue.x-k8s.io"
VERSIONS = (f"{GROUP}/v1beta2", f"{GROUP}/v1beta1")
"""The newest first; the fields that are read here are the same in both."""
WORKLOADS = f"workloads.{GROUP}"
LOCAL_QUEUES = f"localqueues.{GROUP}"
CLUSTER_QUEUES = f"clusterqueues.{GROUP}"
ADMISSION_CHECKS = f"admissionchecks.{GROUP}"
KINDS = {
    WORKLOADS: (VERSIONS[0], "Workload"),
    LOCAL_QUEUES: (VERSIONS[0], "LocalQueue"),
    CLUSTER_QUEUES: (VERSIONS[0], "ClusterQueue"),
    ADMISSION_CHECKS: (VERSIONS[0], "AdmissionCheck"),
}
"""Every kind of Kueue that is read, with its newest apiVersion."""
QUEUE_LABEL = f"{GROUP}/queue-name"
GATES = frozenset(f"{GROUP}/{name}" for name in ("admission", "topology", "elastic-job"))
"""Scheduling gates that Kueue sets and removes."""
_FAST_ADMISSION = f"{GROUP}/pod-group-fast-admission"
POD_GROUP, POD_GROUP_SIZE = f"{GROUP}/pod-group-name", f"{GROUP}/pod-group-total-count"
"""Label and annotation of pods that Kueue admits together."""
_LOGS = "kubectl -n kueue-system logs deployment/kueue-controller-manager --tail 100"
_INACTIVE = {
    "FlavorNotFound": ("ResourceFlavorMissing", "create each ResourceFlavor, or correct resourceGroups."),
    "AdmissionCheckNotFound": ("AdmissionCheckMissing", "create the AdmissionCheck, or take it out of the queue."),
    "AdmissionCheckInactive": ("AdmissionCheckInactive", "bring up the controller of the AdmissionCheck."),
}
"""By the reason of Active of a ClusterQueue, where the remedy is not only what the message says."""
_QUOTA = re.compile(r"insufficient (unused )?quota for (\S+) in flavor ([^\s,;]+)")
_PREEMPTOR = re.compile(r"\(UID: ([0-9a-f-]{8,40})(?:, JobUID: ([0-9a-f-]{8,40}))?")
_EVICTED = {
    "Preempted": "wait, as it is queued again; a WorkloadPriorityClass of a higher value, and preemption in the "
    "ClusterQueue and its cohort, decide who takes the quota of whom.",
    "PodsReadyTimeout": "find what kept its pods from being ready in time, or raise waitForPodsReady.timeout in "
    "Kueue's configuration.",
}
"""By the reason of Evicted: what to do, where the message does not say it."""
_SHORT_OF = "a ClusterQueue whose flavors have room for all pods of the Workload."


def is_marked(situation: Situation) -> bool:
    """Whether the job or one of its pods names a queue of Kueue, or waits behind one of its gates."""
    return bool(_named(situation)) or is_gated(situation)


def is_gated(situation: Situation) -> bool:
    """Whether a pod waits behind a gate of Kueue."""
    gates = (item for pod in situation.unplaced for item in pod["spec"].get("schedulingGates") or ())
    return any(item.get("name") in GATES for item in gates)


def is_served(situation: Situation) -> bool | None:
    """Whether the API server serves Workloads of Kueue; None where that was not read, as nothing points to Kueue."""
    kinds = situation.facts.known(DISCOVERY)
    answers = [served for version, served in kinds.items() if group_of(version) == GROUP]
    return any("Workload" in served for served in answers) if answers else None


def queue_of(situation: Situation) -> str:
    """The LocalQueue of the job: that of its Workload, else that of the label; empty where there is none."""
    return next((str(_spec(item).get("queueName") or "") for item in workloads(situation)), "") or _named(situation)


def workloads(situation: Situation) -> list[Object]:
    """The job's Workloads that have not finished, those that Kueue has not admitted first."""
    metas = [pod["metadata"] for pod in situation.pods]
    above = {item["uid"] for meta in (situation.obj["metadata"], *metas) for item in meta.get("ownerReferences") or ()}
    owners = {situation.job.uid, *above, *(meta["uid"] for meta in metas)}
    groups = {(meta.get("labels") or {}).get(POD_GROUP) for meta in metas} - {None}
    own = [
        item
        for item in situation.facts.objects.get(WORKLOADS, ())
        if item["metadata"].get("namespace") == situation.job.ref.namespace
        and (
            item["metadata"]["name"] in groups
            or any(owner["uid"] in owners for owner in item["metadata"].get("ownerReferences") or ())
        )
        and not _is_true(item, "Finished")
    ]
    return sorted(own, key=lambda item: (_is_true(item, "Admitted"), item["metadata"]["name"]))


def holds(situation: Situation) -> bool:
    """Whether a finding about Kueue says why the job waits."""
    return any(item.blocks for item in kueue(situation))


def kueue(situation: Situation) -> Iterator[Finding]:
    """Kueue holds the job back: its queue, its quota or its AdmissionChecks; or it took back what it gave.

    Rules: getQueueBlocker of pkg/controller/core/workload_controller.go, inactiveReason of
    pkg/cache/scheduler/clusterqueue.go, fitsResourceQuota of pkg/scheduler/flavorassigner, preemption messages of
    pkg/scheduler/preemption, and conditions of apis/kueue/v1beta1 and v1beta2 of Kueue, v0.9.5 to v0.19.2.
    """
    if not is_served(situation):
        return
    own = workloads(situation)
    waiting = next((item for item in own if not _is_true(item, "Admitted")), None)
    if waiting:
        yield from _waiting(waiting, situation)
    elif own:
        yield from _admitted(own[0], situation)
    elif is_marked(situation) and _is_held(situation):
        yield from _without_workload(situation)


def _is_held(situation: Situation) -> bool:
    return situation.job.suspended or is_gated(situation)


def queued_twice(situation: Situation) -> Iterator[Finding]:
    """Kueue and Volcano each have a queue of their own for the job; or Kueue has none, although the job names it.

    Rules: pkg/controller/constants of Kueue, v0.9.5 to v0.19.2 (the label); WorkloadShouldBeSuspended of
    pkg/controller/jobframework and Default of pkg/controller/jobs/pod, v0.17.0 (who is held back, and that pods without
    a group are admitted one by one); those of queues.py for Volcano's.
    """
    name = queue_of(situation)
    if not name or not is_served(situation) or WORKLOADS in situation.facts.unread:
        return
    own = workloads(situation)
    if not own and not _is_held(situation):
        yield _not_read(name, situation)
    elif _is_volcanos(situation):
        one_by_one = len(own) > 1
        what = f"{len(own)} Workloads of Kueue admit its pods one by one" if one_by_one else "Kueue counts quota"
        yield finding(
            "QueuedTwice",
            f"two queues hold {situation.job.ref}: LocalQueue {name} of Kueue decides when its pods are created or "
            f"lose their gates, then queue {situation.queue} of Volcano when they are scheduled. The gang is "
            f"Volcano's; {what}.",
            needed="room in both queues.",
            todo=f"let Kueue admit all of them together: label and annotate the pods with {POD_GROUP} and "
            f"{POD_GROUP_SIZE}, or remove the label {QUEUE_LABEL} from them, and recreate the job."
            if one_by_one
            else "leave quotas to one of them: give the queue of Volcano no capability below the quota of the "
            f"ClusterQueue, or remove the label {QUEUE_LABEL}.",
            objects=[_ref(situation, LOCAL_QUEUES, name)],
            blocks=False,
        )


def _not_read(name: str, situation: Situation) -> Finding:
    ref = situation.job.ref
    return finding(
        "KueueLabelNotRead",
        f"{ref} names LocalQueue {name} of Kueue, which has no Workload for it and holds nothing of it back: no quota "
        "is counted.",
        needed=f"an integration of Kueue for {ref.kind} of {ref.api_version}, or a job without {QUEUE_LABEL}.",
        todo=f"enable it in Kueue's configuration (integrations) and recreate the job; where Kueue has none for "
        f"{ref.kind}, label the pods instead, with {POD_GROUP} and the annotation {POD_GROUP_SIZE}, by which it admits "
        "them together.",
        objects=[ref],
        commands=["kubectl -n kueue-system get configmap kueue-manager-config -o yaml"],
        blocks=False,
    )


def _is_volcanos(situation: Situation) -> bool:
    """Whether the job's pods are a gang of Volcano, or will be: by PodGroup, schedulerName or the operator's flags."""
    if situation.group:
        return situation.group_ref is not None and situation.group_ref.group == GANGS.group
    specs = [*(pod["spec"] for pod in situation.pods), *(role.template["spec"] for role in situation.job.roles)]
    if any(spec.get("schedulerName") for spec in specs):
        return any(spec.get("schedulerName") == VOLCANO for spec in specs)
    facts, of_training = situation.facts, situation.job.family == TRAINING.job_group
    if not of_training or "deployments.apps" in facts.unread:
        return False
    operator = facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)
    return operator is not None and named_by(operator) is GANGS


def _without_workload(situation: Situation) -> Iterator[Finding]:
    faults = tuple(_queue_faults(_named(situation), situation)) if _named(situation) else ()
    faults += tuple(_incomplete_group(situation))
    yield from faults
    if not faults and WORKLOADS not in situation.facts.unread:
        yield finding(
            "WorkloadMissing",
            f"Kueue has made no Workload for {situation.job.ref}, although it is to hold it back.",
            needed=f"a controller of Kueue that runs, with the integration of {situation.job.ref.kind} enabled.",
            todo="bring it up, or enable the integration in Kueue's configuration (integrations.frameworks), and "
            "restart it.",
            objects=[situation.job.ref],
            commands=[_LOGS, "kubectl -n kueue-system get configmap kueue-manager-config -o yaml"],
        )


def _incomplete_group(situation: Situation) -> Iterator[Finding]:
    """Pods whose group has fewer members than they say: Kueue makes its Workload when all are there.

    Rule: validatePodGroupMetadata of pkg/controller/jobs/pod of Kueue, v0.17.0.
    """
    if "pods" in situation.facts.unread:
        return
    metas = [pod["metadata"] for pod in situation.unplaced]
    groups = {
        str(name): (meta.get("annotations") or {}).get(POD_GROUP_SIZE, "")
        for meta in metas
        if (name := (meta.get("labels") or {}).get(POD_GROUP))
        and _FAST_ADMISSION not in (meta.get("annotations") or {})
    }
    for name, size in groups.items():
        members = [
            pod
            for pod in situation.facts.objects.get("pods", ())
            if pod["metadata"].get("namespace") == situation.job.ref.namespace
            and (pod["metadata"].get("labels") or {}).get(POD_GROUP) == name
            and (pod.get("status") or {}).get("phase") != "Failed"
            and ("deletionTimestamp" not in pod["metadata"] or pod["spec"].get("nodeName"))
        ]
        if size.isdigit() and len(members) < int(size):
            yield finding(
                "PodsOfGroupMissing",
                f"the group {name} of Kueue has {len(members)} of the {size} pods that {POD_GROUP_SIZE} says: Kueue "
                "makes its Workload when all are there.",
                needed=f"{size} pods with the label {POD_GROUP}: {name}.",
                todo="create the missing pods, or recreate these with the right number.",
                objects=[Ref.of(pod) for pod in members[:1]],
                commands=[f"kubectl -n {situation.job.ref.namespace} get pods -l {POD_GROUP}={name}"],
            )


def _waiting(workload: Object, situation: Situation) -> Iterator[Finding]:
    """Why a Workload is not admitted: the causes first that must go before Kueue judges it again."""
    ref, told = Ref.of(workload), conditions(workload)
    if _spec(workload).get("active") is False:
        yield finding(
            "WorkloadDeactivated",
            f"{ref} is deactivated, so that Kueue never admits it: {_words(told, 'Evicted', 'QuotaReserved')}.",
            needed="spec.active: true.",
            todo="remove the cause that the message names, then activate it.",
            objects=[ref],
            changes=[_patch(ref, WORKLOADS, '{"spec":{"active":true}}')],
        )
        return
    if _is_true(workload, "Evicted"):
        yield _evicted(workload, situation)
    faults = tuple(_queue_faults(queue_of(situation), situation))
    yield from faults
    if _is_true(workload, "QuotaReserved"):
        yield from _checks(workload, situation)
    elif not faults:
        yield _without_quota(workload, situation)


def _admitted(workload: Object, situation: Situation) -> Iterator[Finding]:
    """What is still to say of a Workload that Kueue has admitted."""
    ref, told = Ref.of(workload), conditions(workload)
    elsewhere = _status(workload).get("clusterName")
    if elsewhere:
        yield finding(
            "OnOtherCluster",
            f"Kueue has sent {ref} to cluster {elsewhere}; the job here stays suspended and mirrors its state.",
            needed="the job on that cluster.",
            todo=f"explain it there: connect to {elsewhere}, and run the command again.",
            objects=[ref],
            blocks=False,
        )
    elif situation.job.suspended:
        yield finding(
            "AdmittedStillSuspended",
            f"Kueue has admitted {ref}, but {situation.job.ref} is suspended: {_words(told, 'Admitted')}.",
            needed="suspend: false, which Kueue sets after it has admitted a job.",
            todo="read Kueue's log, and find who else writes suspend.",
            objects=[situation.job.ref, ref],
            commands=[
                _LOGS,
                f"kubectl get {situation.job.ref.for_kubectl()} -o yaml --show-managed-fields",
            ],
        )
    elif told.get("PodsReady", {}).get("status") == "False":
        yield finding(
            "PodsReadyAwaited",
            f"Kueue has admitted {ref} and waits for its pods: {_words(told, 'PodsReady')}.",
            needed="pods that are ready within waitForPodsReady.timeout of Kueue's configuration.",
            todo="look for what keeps them from running: Kueue evicts the job when the time is over.",
            objects=[ref],
            blocks=False,
        )


def _evicted(workload: Object, situation: Situation) -> Finding:
    """Who or what took back the quota of a Workload. What it waits for now is another finding."""
    ref, told = Ref.of(workload), conditions(workload)
    reason = told["Evicted"].get("reason", "")
    details, commands = [], []
    for uid, job in _PREEMPTOR.findall(
        told.get("Preempted", {}).get("message", "") + told["Evicted"].get("message", "")
    ):
        by = [item for item in situation.facts.objects.get(WORKLOADS, ()) if item["metadata"]["uid"] == uid]
        details += [f"preempted by {Ref.of(item)}" for item in by]
        if not by and job:
            commands.append(f"kubectl get {WORKLOADS} -A -l {GROUP}/job-uid={job}")
    requeue = _status(workload).get("requeueState") or {}
    if requeue.get("requeueAt"):
        details.append(f"queued again at {requeue['requeueAt']}, {requeue.get('count', 0)} times so far")
    return finding(
        "Preempted" if reason == "Preempted" else "Evicted",
        f"Kueue took back the quota of {ref}: {_words(told, 'Evicted', 'Preempted', 'Requeued')}.",
        needed="quota that the Workload keeps until it ends.",
        todo=_EVICTED.get(reason, "do what the message says."),
        objects=[ref],
        commands=tuple(dict.fromkeys(commands)),
        details=tuple(dict.fromkeys(details)),
        blocks=False,
    )


def _queue_faults(name: str, situation: Situation) -> Iterator[Finding]:
    """What is wrong with the LocalQueue and its ClusterQueue, as far as they may be read."""
    facts, space = situation.facts, situation.job.ref.namespace
    if LOCAL_QUEUES in facts.unread:
        return
    ref = _ref(situation, LOCAL_QUEUES, name)
    queue = facts.get(LOCAL_QUEUES, space, name)
    if queue is None:
        others = [item["metadata"]["name"] for item in facts.objects.get(LOCAL_QUEUES, ())]
        volcanos = name in {item["metadata"]["name"] for item in facts.objects.get("queues.scheduling.volcano.sh", ())}
        yield finding(
            "LocalQueueMissing",
            f"{ref} does not exist in the namespace of the job."
            if name
            else f"{situation.job.ref} names no LocalQueue.",
            needed=f"a LocalQueue in namespace {space}, and its name in the label {QUEUE_LABEL}.",
            todo=f"take one that exists: {few(others)}." if others else "create it, for a ClusterQueue that has quota.",
            objects=[ref] if name else [situation.job.ref],
            commands=[f"kubectl -n {space} get {LOCAL_QUEUES}"],
            details=[f"queue {name} of Volcano exists, but Kueue does not read it"] if volcanos else (),
        )
        return
    if _is_stopped(queue):
        yield _stopped(queue, ref, LOCAL_QUEUES)
    if CLUSTER_QUEUES not in facts.unread:
        yield from _cluster_queue_faults(ref, str(_spec(queue).get("clusterQueue") or ""), situation)
    elif not _is_stopped(queue) and conditions(queue).get("Active", {}).get("status") == "False":
        yield finding(
            "LocalQueueInactive",
            f"{ref} is inactive: {_words(conditions(queue), 'Active')}.",
            needed="a ClusterQueue that exists and is active.",
            todo="look at its ClusterQueue with an account that may read it.",
            objects=[ref],
        )


def _cluster_queue_faults(local: Ref, name: str, situation: Situation) -> Iterator[Finding]:
    ref = _ref(situation, CLUSTER_QUEUES, name)
    queue = situation.facts.get(CLUSTER_QUEUES, "", name)
    if queue is None:
        yield finding(
            "ClusterQueueMissing",
            f"{local} names {ref}, which does not exist.",
            needed="a ClusterQueue with quota.",
            todo="create it, or recreate the LocalQueue with another name in spec.clusterQueue, which is immutable.",
            objects=[ref],
            commands=[f"kubectl get {CLUSTER_QUEUES}"],
        )
        return
    active = conditions(queue).get("Active", {})
    if _is_stopped(queue):
        yield _stopped(queue, ref, CLUSTER_QUEUES)
    elif active.get("status") == "False":
        reason, todo = _INACTIVE.get(active.get("reason", ""), ("ClusterQueueInactive", "do what the message says."))
        yield finding(
            reason,
            f"{ref} is inactive and admits nothing: {_words(conditions(queue), 'Active')}.",
            needed="a ClusterQueue whose condition Active is True.",
            todo=todo,
            objects=[ref],
            commands=[f"kubectl get {CLUSTER_QUEUES} {name} -o yaml"],
        )


def _stopped(queue: Object, ref: Ref, resource: str) -> Finding:
    return finding(
        f"{ref.kind}Stopped",
        f"{ref} is stopped (stopPolicy {_spec(queue)['stopPolicy']}): {_words(conditions(queue), 'Active')}.",
        needed="stopPolicy: None.",
        todo="start it, unless it is stopped on purpose.",
        objects=[ref],
        changes=[_patch(ref, resource, '{"spec":{"stopPolicy":"None"}}')],
    )


def _without_quota(workload: Object, situation: Situation) -> Finding:
    """Why a Workload of an active queue has no quota: never room, no room now, no flavor for it, or not judged yet."""
    ref, told = Ref.of(workload), conditions(workload)
    found = f"{ref} has no quota: {_words(told, 'QuotaReserved')}."
    reserved = told.get("QuotaReserved", {})
    reason, todo = _of_quota(reserved.get("reason", ""), reserved.get("message", ""))
    queue = _cluster_queue(situation)
    return finding(
        reason,
        found,
        needed=_SHORT_OF,
        todo=todo,
        objects=[ref, *([Ref.of(queue)] if queue else ())],
        commands=[f"kubectl -n {ref.namespace} get {WORKLOADS} {ref.name} -o yaml"],
        details=tuple(_usage(queue)) if queue else (),
    )


def _of_quota(reason: str, message: str) -> tuple[str, str]:
    """The reason and the remedy for what Kueue says in QuotaReserved. Until 0.15 only the message tells them apart."""
    text = message.lower()
    if reason == "ExceedsMaxQuota" or (reason != "WaitingForQuota" and _never_fits(message)):
        return "KueueQuotaTooSmall", (
            "request less, or raise nominalQuota or borrowingLimit in the ClusterQueue: no end of other jobs helps."
        )
    if reason == "WaitingForQuota" or "insufficient unused quota" in text:
        return "KueueQuotaFull", (
            "wait until Workloads of the ClusterQueue or its cohort end, request less, or raise nominalQuota or "
            "borrowingLimit."
        )
    if "unavailable in clusterqueue" in text:
        return "ResourceNotCovered", "add the resource to coveredResources of the ClusterQueue, or do not request it."
    if reason == "NoMatchingFlavor" or any(
        word in text for word in ("untolerated taint", "match node affinity", "not found")
    ):
        return "FlavorMismatch", (
            "correct node selector, affinity or tolerations of the job, or nodeLabels and nodeTaints of the flavor."
        )
    if "doesn't match clusterqueue selector" in text:
        return "NamespaceNotSelected", "label the namespace as namespaceSelector of the ClusterQueue asks."
    return "WaitsForKueue", "do what the message says; without one, read Kueue's log."


def _never_fits(message: str) -> bool:
    """Whether for a set of pods and a resource each flavor that Kueue names has less than the request at most."""
    for pods in message.split("pod set "):
        flavors: dict[str, bool] = {}
        for unused, resource, _ in _QUOTA.findall(pods):
            flavors[resource] = flavors.get(resource, True) and not unused
        if "maximum capacity" in pods and any(flavors.values()):
            return True
    return False


def _usage(queue: Object) -> Iterator[str]:
    """What the flavors of a ClusterQueue have and what of it is reserved, a line for each resource."""
    reserved = {
        (flavor.get("name"), item.get("name")): item
        for flavor in _status(queue).get("flavorsReservation") or ()
        for item in flavor.get("resources") or ()
    }
    for group in _spec(queue).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for item in flavor.get("resources") or ():
                used = reserved.get((flavor.get("name"), item.get("name")), {})
                yield (
                    f"{item.get('name')} in flavor {flavor.get('name')}: nominalQuota {item.get('nominalQuota')}, "
                    f"reserved {used.get('total', 0)}, of it borrowed {used.get('borrowed', 0)}"
                )


def _checks(workload: Object, situation: Situation) -> Iterator[Finding]:
    """The AdmissionChecks that a Workload with quota still waits for."""
    ref = Ref.of(workload)
    states = [item for item in _status(workload).get("admissionChecks") or () if item.get("state") != "Ready"]
    for item in states:
        name, rejected = str(item.get("name")), item.get("state") == "Rejected"
        check = _ref(situation, ADMISSION_CHECKS, name)
        yield finding(
            "AdmissionCheckRejected" if rejected else "AdmissionCheckPending",
            f"{ref} has quota and waits for {check}: {item.get('state')}, {_quoted(item.get('message'))}.",
            needed=f"the state Ready of {name}, which the controller of the check sets.",
            todo="do what the message says; a rejected Workload is deactivated."
            if rejected
            else "wait, and look at the objects of the controller if it takes long.",
            objects=[check],
            commands=[f"kubectl get {ADMISSION_CHECKS} {name} -o yaml"],
            details=tuple(_check_itself(name, situation)),
        )
    if not states:
        yield finding(
            "WaitsForKueue",
            f"{ref} has quota and is not admitted: {_words(conditions(workload), 'Admitted')}.",
            needed="the condition Admitted.",
            todo="do what the message says; without one, read Kueue's log.",
            objects=[ref],
            commands=[_LOGS],
        )


def _check_itself(name: str, situation: Situation) -> Iterator[str]:
    if ADMISSION_CHECKS in situation.facts.unread:
        return
    check = situation.facts.get(ADMISSION_CHECKS, "", name)
    if check is None:
        yield f"AdmissionCheck {name} does not exist"
        return
    yield f"its controller: {_spec(check).get('controllerName')}"
    if conditions(check).get("Active", {}).get("status") == "False":
        yield f"it is inactive: {_words(conditions(check), 'Active')}"


def _cluster_queue(situation: Situation) -> Object | None:
    facts = situation.facts
    if {LOCAL_QUEUES, CLUSTER_QUEUES} & facts.unread.keys():
        return None
    local = facts.get(LOCAL_QUEUES, situation.job.ref.namespace, queue_of(situation))
    return facts.get(CLUSTER_QUEUES, "", str(_spec(local).get("clusterQueue") or "")) if local else None


def _named(situation: Situation) -> str:
    """The queue that the job names, or else one of its pods; as a label, or as an annotation of old."""
    for obj in (situation.obj, *situation.pods):
        meta = obj["metadata"]
        name = (meta.get("labels") or {}).get(QUEUE_LABEL) or (meta.get("annotations") or {}).get(QUEUE_LABEL)
        if name:
            return str(name)
    return ""


def _words(told: dict[str, Object], *kinds: str) -> str:
    """Conditions of these types in Kueue's own words."""
    known = [
        f"{kind} {told[kind].get('status')}, {told[kind].get('reason')}, {_quoted(told[kind].get('message'))}"
        for kind in kinds
        if kind in told
    ]
    return "; ".join(known) or f"no condition {kinds[0]} yet"


def _quoted(message: object) -> str:
    return f'"{str(message).strip().rstrip(".")}"' if message else "no message"


def _patch(ref: Ref, resource: str, change: str) -> str:
    return f"kubectl patch {ref.for_kubectl(resource)} --type merge -p '{change}'"


def _ref(situation: Situation, resource: str, name: str) -> Ref:
    """The address of an object of Kueue in the version that is served."""
    newest, kind = KINDS[resource]
    served = (item for item, kinds in situation.facts.known(DISCOVERY).items() if group_of(item) == GROUP and kinds)
    namespace = situation.job.ref.namespace if resource == LOCAL_QUEUES else ""
    return Ref(next(served, newest), kind, namespace, name)


def _is_true(obj: Object, kind: str) -> bool:
    return conditions(obj).get(kind, {}).get("status") == "True"


def _is_stopped(queue: Object) -> bool:
    return (_spec(queue).get("stopPolicy") or "None") != "None"


def _spec(obj: Object) -> Object:
    return obj.get("spec") or {}


def _status(obj: Object) -> Object:
    return obj.get("status") or {}
