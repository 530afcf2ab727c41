"""Rules about gangs: PodGroups of kube-batch, minimums that no gang reaches, pods that Volcano does not hold back."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.gangs import (
    KUBERNETES,
    OTHERS,
    SCHEDULER_PLUGINS,
    GangScheduler,
    membership,
    scheduler_of,
)
from kubeflow_volcano.catalog.gangs import VOLCANO as GANGS
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.quantities import pod_requests
from kubeflow_volcano.text import counted, few, most_similar
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.creation.quotas import LIMIT_RANGES, default_resources, with_defaults
from kubeflow_volcano.validators.explain.manifest.edits import Edit
from kubeflow_volcano.validators.explain.manifest.model import FILES, REQUESTS, Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.templates import Template, shown, templates_of
from kubeflow_volcano.validators.explain.model import VOLCANO
from kubeflow_volcano.validators.explain.scheduling.best_effort import WHOLE_POD_SINCE

KUBE_BATCH = "kube-batch"
KUBE_BATCH_GROUPS = frozenset({"scheduling.incubator.k8s.io", "scheduling.sigs.dev"})
_GANG_SCHEDULERS = (VOLCANO, SCHEDULER_PLUGINS.scheduler)
_SCHEDULERS = (*_GANG_SCHEDULERS, "default-scheduler", *OTHERS)
_OLD_LABELS = frozenset({f"pod-group.scheduling.sigs.k8s.io/{name}" for name in ("min-available", "name")})
_MAKERS = frozenset({"kubeflow.org", "trainer.kubeflow.org", "batch.volcano.sh"})
"""API groups of jobs whose controllers create the PodGroup, and name it on the pods."""


def is_gang(manifest: Manifest) -> bool:
    """Whether it says that its pods start together: by its kind, a scheduling policy, a PodGroup, or the scheduler.

    That is for gangs of schedulers which operators know, and not for those of Kubernetes itself.
    """
    policy = ((manifest.obj.get("spec") or {}).get("runPolicy") or {}).get("schedulingPolicy")
    marked = any(
        membership(_as_pod(item))[0] not in {None, KUBERNETES} or item.spec.get("schedulerName") == VOLCANO
        for item in manifest.templates
    )
    return manifest.ref.group == "batch.volcano.sh" or bool(policy) or marked


def kube_batch_group(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """PodGroups and Queues of kube-batch, whose API no version of Volcano serves or reads.

    Rule: addEventHandler of pkg/scheduler/cache of Volcano, v1.8.0 to v1.15.1, reads scheduling.volcano.sh alone.
    """
    ref = manifest.ref
    if ref.group in KUBE_BATCH_GROUPS and ref.kind in {"PodGroup", "Queue"}:
        yield flaw(
            "KubeBatchPodGroup" if ref.kind == "PodGroup" else "KubeBatchQueue",
            f"apiVersion {ref.api_version} is kube-batch's, which Volcano has replaced and does not read.",
            needed="apiVersion scheduling.volcano.sh/v1beta1; its spec has the same fields.",
            todo="change the apiVersion.",
            edits=[Edit(("apiVersion",), GANGS.api_version)],
        )


def kube_batch_scheduler(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Pod templates for the scheduler kube-batch.

    Rule: defaultSchedulerName of cmd/scheduler/app/options of Volcano, v1.8.0 to v1.15.1, is volcano.
    """
    named = [item for item in manifest.templates if item.spec.get("schedulerName") == KUBE_BATCH]
    if named:
        places = few([shown((*item.path, "spec", "schedulerName")) for item in named])
        yield flaw(
            "KubeBatchScheduler",
            f"{places}: {KUBE_BATCH}, which Volcano has replaced: no scheduler places these pods.",
            needed=f"schedulerName {VOLCANO}.",
            todo="change the name.",
            edits=[Edit((*item.path, "spec", "schedulerName"), VOLCANO) for item in named],
        )


def scheduler_misspelt(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Pod templates for a scheduler whose name is nearly that of a known one.

    Rule: responsibleForPod of pkg/scheduler/cache of Volcano, v1.8.0 to v1.15.1: the name is compared as it is.
    """
    for template in manifest.templates:
        name = str(template.spec.get("schedulerName") or "")
        meant = most_similar(name.lower(), _SCHEDULERS) if name and name not in {*_SCHEDULERS, KUBE_BATCH} else ""
        meant = meant or (VOLCANO if name.lower().startswith(VOLCANO) and name != VOLCANO else "")
        if meant:
            yield flaw(
                "SchedulerUnknown",
                f"{shown((*template.path, 'spec', 'schedulerName'))}: {name}. The name in the manifests of upstream is "
                f"{meant}; unless a scheduler was started as {name}, nothing places these pods.",
                needed="the name of a scheduler that runs.",
                todo=f"write {meant}.",
                blocks=False,
            )


def old_labels(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Labels with which the coscheduling of scheduler-plugins had gangs before it had PodGroups.

    Rule: kep/42-podgroup-coscheduling of scheduler-plugins; from v0.19 on pkg/coscheduling reads PodGroups alone.
    """
    marked = [item for item in manifest.templates if _OLD_LABELS & item.marked("labels").keys()]
    if marked:
        places = few([shown((*item.path, "metadata", "labels")) for item in marked])
        group, key = SCHEDULER_PLUGINS.group, SCHEDULER_PLUGINS.mark[-1]
        yield flaw(
            "OldGangLabels",
            f"{places}: {', '.join(sorted(_OLD_LABELS))} have no effect since scheduler-plugins 0.19: these pods "
            "are no gang.",
            needed=f"a PodGroup of {group} with minMember, and its name in the label {key} of the pods.",
            todo=f"create the PodGroup, and write {key} in place of these labels.",
        )


def named_group(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Pods that name a PodGroup which does not exist, or which is not the one that their controller creates.

    Rules: createNormalPodPGIfNotExist of pkg/controllers/podgroup of Volcano, v1.8.0 to v1.15.1, leaves pods alone that
    name one; Permit of pkg/coscheduling of scheduler-plugins, v0.28.9 to v0.34.7, rejects pods whose one is not found,
    as does PreEnqueue of pkg/scheduler/framework/plugins/gangscheduling of Kubernetes, v1.37.2;
    createJobPod of pkg/controllers/job of Volcano and DecoratePodTemplateSpec of pkg/controller.v1/control of the
    training operator, v1.5.0 to v1.9.4, write the name of their own.
    """
    names: dict[tuple[GangScheduler, str], bool] = {}
    for item in manifest.templates:
        gang, name = membership(_as_pod(item))
        if gang:
            scheduler = item.spec.get("schedulerName")
            heeds = scheduler not in {VOLCANO, *OTHERS} if gang is KUBERNETES else scheduler in _GANG_SCHEDULERS
            names[gang, name] = names.get((gang, name), False) or heeds
    for (gang, name), waits in names.items():
        if manifest.ref.group in _MAKERS and gang.has_makers:
            if name != manifest.ref.name:
                yield flaw(
                    "PodGroupByHand",
                    f"its pods name the PodGroup {name}, but an operator that creates gangs gives a {manifest.kind} a "
                    f"PodGroup of its own and puts that name on the pods: {name} stays without pods.",
                    needed="one PodGroup for the job.",
                    todo=f"remove {gang.mark[-1]} from the pod templates and delete PodGroup {name}, unless the "
                    "operator runs without gang scheduling.",
                    blocks=False,
                )
        elif not _exists(manifest, gang, name, facts):
            kind = "PodGroup" if gang.has_makers else f"PodGroup of {gang.api_version}"
            yield flaw(
                "PodGroupMissing",
                f"its pods name the PodGroup {manifest.space}/{name}, which does not exist: "
                f"{'they stay Pending' if waits else 'of a gang scheduler they stay Pending, of another they run'}.",
                needed="the PodGroup beside its pods.",
                todo=f"create a {kind} {name} with {gang.minimum[-1]}, or correct the name in {gang.mark[-1]}.",
                blocks=waits,
            )


def two_schedulers(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Pods that name a PodGroup of Kubernetes, and a scheduler that does not read it.

    Rules: frameworkForPod of pkg/scheduler of Kubernetes, v1.37.2, takes pods of its own profiles only; Volcano,
    v1.8.0 to v1.15.1, reads annotations of pods.
    """
    for template in manifest.templates:
        name, scheduler = KUBERNETES.named_by(_as_pod(template)), template.spec.get("schedulerName")
        if name and scheduler in {VOLCANO, *OTHERS}:
            yield flaw(
                "OtherScheduler",
                f"{shown((*template.path, *KUBERNETES.mark))}: {name} is a PodGroup of Kubernetes itself, which the "
                f"scheduler {scheduler} does not read: it places these pods without that gang.",
                needed="the PodGroup of the scheduler that places the pods.",
                todo=f"remove schedulerName, or remove {KUBERNETES.mark[-2]} and use the PodGroup of {scheduler}.",
                blocks=False,
            )


def _exists(manifest: Manifest, gang: GangScheduler, group: str, facts: Facts) -> bool:
    """Whether the files or the cluster have a PodGroup of that name and scheduler in the manifest's namespace."""
    files = (item for item in facts.known(FILES) if _is_group(item, manifest, group) and scheduler_of(item) is gang)
    return any(True for _ in files) or facts.get(gang.podgroups, manifest.space, group) is not None


def minimum(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A minimum that the replicas do not reach.

    Rules: validateJobCreate of pkg/webhooks/admission/jobs/validate of Volcano (minimums of jobs and tasks), and
    ValidTaskNum of pkg/scheduler/api/job_info.go in plugin gang (minMember), v1.8.0 to v1.15.1; ReconcileJobs of
    pkg/controller.v1/common of the training operator, v1.5.0 to v1.9.4 (minAvailable becomes minMember).
    """
    job = manifest.job(facts)
    if manifest.kind == "PodGroup":
        yield from _bare_minimum(manifest, facts)
    if job is None or not job.roles:
        return
    field = "spec.minAvailable" if job.family == "batch.volcano.sh" else "minAvailable of schedulingPolicy"
    if (job.min_available or 0) > job.wanted:
        yield flaw(
            "MinMemberTooHigh",
            f"{field} is {job.min_available}, but all replicas together are {job.wanted}: the gang never starts.",
            needed="a minimum of at most the job's replicas.",
            todo="lower the minimum, or raise the replicas.",
            words=["minAvailable", "total replicas"],
        )
    for task in (manifest.obj["spec"].get("tasks") or ()) if job.family == "batch.volcano.sh" else ():
        if (task.get("minAvailable") or 0) > (task.get("replicas") or 0):
            yield flaw(
                "MinMemberTooHigh",
                f"minAvailable of task {task.get('name')} is {task['minAvailable']}, but it has "
                f"{counted(task.get('replicas', 0), 'replica')}: Volcano's webhook refuses the job.",
                needed="a minimum of at most the task's replicas.",
                todo="lower the minimum, or raise the replicas.",
                words=["minAvailable", str(task.get("name"))],
            )


def roles(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A job that runs nothing, or that its operator refuses for a role that is missing.

    Rule: ValidateV1MpiJobSpec of pkg/apis/kubeflow.org/v1 of the training operator, v1.5.0 to v1.9.4 (Launcher).
    """
    job = manifest.job(facts)
    if job is None or not job.roles:
        return
    if job.wanted == 0:
        yield flaw(
            "NoReplicas",
            f"replicas of {', '.join(role.name for role in job.roles)} are 0: the job runs nothing.",
            needed="at least one replica.",
            todo="set replicas.",
        )
    if manifest.kind == "MPIJob" and all(role.name != "Launcher" for role in job.roles):
        yield flaw(
            "LauncherMissing",
            "the MPIJob has no Launcher: its operator refuses it in an event, and creates nothing.",
            needed="the roles Launcher and Worker.",
            todo="add mpiReplicaSpecs.Launcher.",
        )


def _bare_minimum(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    gang = scheduler_of(manifest.obj)
    least = gang.minimum_of(manifest.obj) or 1
    if gang.has_makers and (jobs := [obj for obj in facts.known(FILES) if _makes_group(obj, manifest)]):
        kind = str(jobs[0]["kind"])
        yield flaw(
            "PodGroupByHand",
            f"the {kind} {manifest.ref.name} of these files has a PodGroup of this name, which its operator makes: it "
            "writes its own minimum into this one, which then stays when the job is deleted.",
            needed="one PodGroup for the job, made and removed with it.",
            todo="delete the PodGroup from the file, unless the operator runs without gang scheduling"
            f"{'' if kind == 'TrainJob' else '; spec.runPolicy.schedulingPolicy of the job has minimum and queue'}.",
            blocks=False,
        )
        return
    members = [
        item
        for obj in facts.known(FILES)
        if _space_of(obj, manifest) == manifest.space
        and not (gang.has_makers and str(obj["apiVersion"]).rpartition("/")[0] in _MAKERS)
        for item in templates_of(obj)
        if membership(_as_pod(item)) == (gang, manifest.ref.name)
    ]
    count = sum(item.replicas for item in members)
    if count < least:
        yield flaw(
            "NotEnoughPods",
            f"{gang.minimum[-1]} is {least}, and {counted(count, 'pod')} in these files "
            f"{'names' if count == 1 else 'name'} the PodGroup: without others it never starts.",
            needed=f"at least {gang.minimum[-1]} pods with its name.",
            todo=f"create the others, too, or lower {gang.minimum[-1]}.",
            blocks=False,
        )


def requests(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Pods of a gang without any request: Volcano places each of them alone.

    Rules: IsReady of pkg/scheduler/api/job_info.go, and pod_info.go there for what counts as a request, of Volcano
    v1.8.0 to v1.15.1.
    """
    empty = [item for item in manifest.templates if item.spec.get("containers") and not _has_requests(item.spec)]
    if not empty or not (is_gang(manifest) or manifest.job(facts)):
        return
    if LIMIT_RANGES not in facts.unread:
        here = [item for item in facts.all(LIMIT_RANGES) if _space_of(item, manifest) == manifest.space]
        empty = [item for item in empty if not _has_requests(with_defaults(item.spec, default_resources(here)))]
    # Requests of the whole pod.
    whole = [item for item in empty if any((item.spec.get("resources") or {}).values())]
    if empty:
        places = few([shown((*item.path, "spec", "containers")) for item in empty])
        note = f", and before {WHOLE_POD_SINCE} it does not read spec.resources" if whole else ""
        yield flaw(
            "RequestsMissing",
            f"{places} {'has' if len(empty) == 1 else 'have'} no resource requests: Volcano does not hold such pods "
            f"back for their gang, so that it may start in part (volcano-sh/volcano#645){note}.",
            needed="requests for at least one container of each pod, unless a LimitRange of the namespace sets them.",
            todo="set resources.requests to what the containers need; --fix --requests cpu=100m,memory=128Mi does.",
            blocks=is_gang(manifest) and len(whole) < len(empty),
            edits=[
                Edit((*item.path, "spec", "containers", index, "resources", "requests", name), amount)
                for item in empty
                for index in range(len(item.spec["containers"]))
                for name, amount in facts.known(REQUESTS)
            ],
        )


def _has_requests(spec: Object) -> bool:
    return any(pod_requests(spec).values())


def _makes_group(obj: Object, manifest: Manifest) -> bool:
    """Whether an operator gives that job a PodGroup with the name of the manifest; Volcano's own jobs have others."""
    is_job = obj["kind"] == "TrainJob" or bool(templates_of(obj))
    is_alike = obj["metadata"].get("name") == manifest.ref.name and _space_of(obj, manifest) == manifest.space
    return is_job and is_alike and str(obj["apiVersion"]).partition("/")[0] in _MAKERS - {"batch.volcano.sh"}


def _as_pod(template: Template) -> Object:
    marks = {"annotations": template.marked("annotations"), "labels": template.marked("labels")}
    return {"metadata": marks, "spec": template.spec}


def _space_of(obj: Object, manifest: Manifest) -> str:
    return str(obj["metadata"].get("namespace") or manifest.namespace)


def _is_group(obj: Object, manifest: Manifest, name: str) -> bool:
    is_named = obj["kind"] == "PodGroup" and obj["metadata"].get("name") == name
    return is_named and _space_of(obj, manifest) == manifest.space
