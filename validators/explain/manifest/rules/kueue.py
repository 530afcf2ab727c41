"""Rules about Kueue's label: whether something reads it where it stands, and whether its queues exist and admit."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.text import did_you_mean, few
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.explain.manifest.model import FILES, Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.rules.gangs import is_gang
from kubeflow_volcano.validators.explain.manifest.templates import shown
from kubeflow_volcano.validators.explain.placement.dynamic_resources import mapping
from kubeflow_volcano.validators.explain.scheduling.kueue import (
    CLUSTER_QUEUES,
    GROUP,
    LOCAL_QUEUES,
    POD_GROUP,
    POD_GROUP_SIZE,
    QUEUE_LABEL,
    VERSIONS,
)

KUEUE = Fact[str]("API version of Kueue", lambda _cluster, _facts: "", VERSIONS[0])
"""The newest API version that the server serves; empty where it serves none."""
KINDS = {"ClusterQueue": CLUSTER_QUEUES, "LocalQueue": LOCAL_QUEUES}
"""Kinds of Kueue that rules know, each as `plural.group`."""
_WITHOUT_INTEGRATION = frozenset({("batch.volcano.sh/v1alpha1", "Job"), ("kubeflow.org/v1", "MPIJob")})
_RUNTIMES = frozenset({"ClusterTrainingRuntime", "TrainingRuntime"})


def queue_of(manifest: Manifest) -> str:
    """The LocalQueue that it or its first pod template with a label names for Kueue; empty where none does.

    The label of a kind that Kueue does not look at counts for nothing.
    """
    if manifest.kind in _RUNTIMES:  # the namespace is that of the jobs that name it
        return ""
    of_pods = (item.marked("labels").get(QUEUE_LABEL) for item in manifest.templates)
    return next((str(name) for name in (_of_job(manifest), *of_pods) if name), "")


def names_kueue(manifest: Manifest) -> bool:
    """Whether it names a queue of Kueue, or is of Kueue's API."""
    return manifest.ref.group == GROUP or bool(queue_of(manifest))


def _of_job(manifest: Manifest) -> str:
    """The LocalQueue in the label that Kueue reads of a job of that kind."""
    if _has_no_integration(manifest):
        return ""
    return _label(mapping(manifest.obj.get("spec")).get("jobTemplate") if manifest.kind == "CronJob" else manifest.obj)


def _has_no_integration(manifest: Manifest) -> bool:
    return (manifest.ref.api_version, manifest.kind) in _WITHOUT_INTEGRATION or manifest.kind in _RUNTIMES


def _label(obj: object) -> str:
    return str(mapping(mapping(mapping(obj).get("metadata")).get("labels")).get(QUEUE_LABEL) or "")


def label_unread(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """A queue of Kueue in a place, or on a kind, where Kueue does not look.

    Rules: QueueNameForObject of pkg/controller/jobframework of Kueue, v0.17.0, reads the label alone; its integrations
    (pkg/controller/jobs) have neither Volcano's Job nor the MPIJob of v1; a CronJob's Jobs are those of its template.
    """
    meta, label = manifest.obj["metadata"], _label(manifest.obj)
    if not label and (name := (meta.get("annotations") or {}).get(QUEUE_LABEL)):
        yield _unread(
            manifest, f"queue {name} is in the annotation {QUEUE_LABEL}", "as a label", "write it as a label instead."
        )
    elif label and manifest.kind == "CronJob":
        yield _unread(
            manifest,
            f"Kueue queues the Jobs of a CronJob, and the label of the CronJob itself names queue {label}",
            "in spec.jobTemplate.metadata.labels",
            "move the label there.",
        )
    elif label and _has_no_integration(manifest):
        yield _unread(
            manifest,
            f"Kueue has no integration for {manifest.kind} of {manifest.ref.api_version}, whose label names queue "
            f"{label}",
            "on pods",
            f"label the pod templates instead, with {POD_GROUP} and the annotation {POD_GROUP_SIZE}, by which Kueue "
            "admits all pods together.",
        )


def _unread(manifest: Manifest, found: str, place: str, todo: str) -> Flaw:
    return flaw(
        "KueueLabelNotRead",
        f"{found}: Kueue does not hold this {manifest.kind} back, and counts no quota for it.",
        needed=f"the label {QUEUE_LABEL} {place}.",
        todo=todo,
        blocks=False,
    )


def one_by_one(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Pods of a gang that Kueue admits each by itself, as the label is on them alone.

    Rules: Default of pkg/controller/jobs/pod of Kueue, v0.17.0, gates a pod that has the label if no owner has it, and
    pods without a group have a Workload each.
    """
    marked = [item for item in manifest.templates if item.marked("labels").get(QUEUE_LABEL)]
    alone = [item for item in marked if not item.marked("labels").get(POD_GROUP)]
    pods = sum(item.replicas for item in manifest.templates)
    if alone and not _of_job(manifest) and is_gang(manifest) and pods > 1:
        where = few([shown((*item.path, "metadata", "labels")) for item in alone], 2)
        yield flaw(
            "KueuePodsOneByOne",
            f"{where}: the label {QUEUE_LABEL} is on the pods alone, so that Kueue admits them one by one, and a part "
            "of the gang can hold quota while the rest waits.",
            needed="one Workload of Kueue for the gang.",
            todo=f"label the pods with {POD_GROUP}, too, and annotate them with {POD_GROUP_SIZE}: {pods}."
            if _has_no_integration(manifest)
            else f"move the label to the metadata of the {manifest.kind}.",
            blocks=False,
        )


def queued_twice(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Queues of Kueue and of a gang scheduler for the same pods.

    Rule: none of its own: each of the two holds the pods back for reasons of its own.
    """
    job = manifest.job(facts)
    if (name := queue_of(manifest)) and is_gang(manifest) and job and job.queue:
        yield flaw(
            "QueuedTwice",
            f"LocalQueue {name} of Kueue and queue {job.queue} of Volcano: its pods need room in both.",
            needed="one place that decides about quotas.",
            todo="give the queue of Volcano no capability below the quota of the ClusterQueue, or remove one of both.",
            blocks=False,
        )


def local_queue(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A LocalQueue that does not exist or is stopped, or a label on a cluster without Kueue.

    Rules: getQueueBlocker of pkg/controller/core/workload_controller.go of Kueue, v0.9.5 to v0.19.2.
    """
    name = queue_of(manifest)
    if not name:
        return
    live = _found(LOCAL_QUEUES, manifest.space, name, facts)
    brought = any(item["metadata"].get("name") == LOCAL_QUEUES for item in facts.known(FILES))
    if live is None and not brought and not facts.read(KUEUE):
        spec = mapping(manifest.obj.get("spec"))
        suspended = bool(spec.get("suspend") or mapping(spec.get("runPolicy")).get("suspend"))
        yield flaw(
            "KueueMissing",
            f"the label {QUEUE_LABEL} names queue {name}, but the API server serves no {GROUP}: "
            f"{'nothing ever resumes this job' if suspended else 'nothing holds it back, and no quota is counted'}.",
            needed="Kueue, or a job without the label.",
            todo="install Kueue, or remove the label" + (" and set suspend to false." if suspended else "."),
            blocks=suspended,
        )
    elif live is None:
        known = [
            item["metadata"]["name"]
            for item in facts.objects.get(LOCAL_QUEUES, ())
            if item["metadata"].get("namespace") == manifest.space
        ]
        yield flaw(
            "LocalQueueMissing",
            f"LocalQueue {manifest.space}/{name} does not exist: Kueue never admits it.{did_you_mean(name, known)}",
            needed=f"a LocalQueue in namespace {manifest.space}; there are {few(sorted(known)) if known else 'none'}.",
            todo="create it, or name another one in the label.",
        )
    elif _stop(live):
        yield _stopped("LocalQueue", f"{manifest.space}/{name}", live)


def cluster_queue(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """The ClusterQueue of its LocalQueue does not exist, is stopped, or says that it is inactive.

    Rules: those of local_queue, and inactiveReason of pkg/cache/scheduler/clusterqueue.go of Kueue.
    """
    queue = queue_of(manifest)
    local = _found(LOCAL_QUEUES, manifest.space, queue, facts) if queue else None
    name = str(mapping(mapping(local).get("spec")).get("clusterQueue") or "")
    if local is None or not name:
        return
    live = _found(CLUSTER_QUEUES, "", name, facts)
    if live is None:
        yield flaw(
            "ClusterQueueMissing",
            f"LocalQueue {manifest.space}/{queue} names ClusterQueue {name}, which does not exist: Kueue admits "
            "nothing of it.",
            needed="a ClusterQueue with quota.",
            todo="create it, or recreate the LocalQueue with another name in spec.clusterQueue, which is immutable.",
        )
    elif _stop(live):
        yield _stopped("ClusterQueue", name, live)
    else:
        told = conditions(live).get("Active", {})
        if told.get("status") == "False":
            yield flaw(
                "ClusterQueueInactive",
                f'ClusterQueue {name} is inactive and admits nothing: "{str(told.get("message")).rstrip(".")}".',
                needed="a ClusterQueue whose condition Active is True.",
                todo="do what the message says.",
            )


def _stopped(kind: str, name: str, live: Object) -> Flaw:
    return flaw(
        f"{kind}Stopped",
        f"{kind} {name} is stopped (stopPolicy {_stop(live)}): Kueue admits nothing of it.",
        needed="stopPolicy: None.",
        todo="start it, unless it is stopped on purpose, or name another queue.",
    )


def _stop(live: Object) -> str:
    found = str(mapping(live.get("spec")).get("stopPolicy") or "None")
    return "" if found == "None" else found


def _found(resource: str, namespace: str, name: str, facts: Facts) -> Object | None:
    """That of the files or of the cluster; None where neither has it.

    Raises:
        CannotJudgeError: the files do not, and the cluster could not be read.
    """
    of_files = (
        item
        for item in facts.objects.get(resource, ())
        if (item["metadata"]["name"], item["metadata"].get("namespace") or "") == (name, namespace)
    )
    return next(of_files, None) or facts.get(resource, namespace, name)
