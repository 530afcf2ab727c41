"""The kinds of jobs that can be explained, and how each is read.

Fields: pkg/apis/kubeflow.org/v1/*_types.go and common_types.go of training-operator v1.5.0 to v1.9.2,
pkg/apis/trainer/v1alpha1/trainjob_types.go of trainer v2.1.0, pkg/apis/batch/v1alpha1/job.go of volcano-sh/apis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS, scheduler_of
from kubeflow_volcano.catalog.operator import later_jobs
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import CLUSTER_RUNTIMES
from kubeflow_volcano.validators.explain.model import Job, Role
from kubeflow_volcano.validators.subjects.issues import created

JOBSETS = "jobsets.jobset.x-k8s.io"
RUNTIMES = "trainingruntimes.trainer.kubeflow.org"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job; `read` turns an object and the facts around it into a Job."""

    api_version: str
    kind: str
    plural: str
    read: Callable[[Object, Facts], Job]

    @property
    def resource(self) -> str:
        """Name as `plural.group`."""
        return f"{self.plural}.{self.api_version.rpartition('/')[0]}".removesuffix(".")


def runtime_of(job: Object, facts: Facts) -> Object | None:
    """The runtime that a TrainJob names; None where it does not exist.

    Raises:
        CannotJudgeError: runtimes could not be read.
    """
    ref = job["spec"]["runtimeRef"]
    if ref.get("kind", "ClusterTrainingRuntime") == "TrainingRuntime":
        return facts.get(RUNTIMES, job["metadata"]["namespace"], ref["name"])
    return facts.get(CLUSTER_RUNTIMES, "", ref["name"])


def _kubeflow(field: str) -> Callable[[Object, Facts], Job]:
    def read(obj: Object, _facts: Facts) -> Job:
        spec = obj["spec"]
        # Before 1.4 of the operator, some kinds had the policy's fields in the spec itself.
        policy = spec.get("runPolicy") or {}
        scheduling = policy.get("schedulingPolicy") or {}
        roles = (
            Role(name, _count(item.get("replicas")), item.get("template") or {"spec": {"containers": []}})
            for name, item in (spec.get(field) or {}).items()
        )
        return Job(
            ref=Ref.of(obj),
            uid=obj["metadata"]["uid"],
            created=created(obj),
            roles=tuple(roles),
            min_available=scheduling.get("minAvailable"),
            queue=scheduling.get("queue") or "",
            priority_class=scheduling.get("priorityClass") or "",
            suspended=bool(policy.get("suspend")),
            groups=(obj["metadata"]["name"],),
        )

    return read


def _volcano(obj: Object, _facts: Facts) -> Job:
    meta, spec = obj["metadata"], obj["spec"]
    tasks = spec.get("tasks") or ()
    scheduler = spec.get("schedulerName") or "volcano"
    roles = tuple(
        Role(
            task.get("name") or "",
            int(task.get("replicas") or 0),
            _with_scheduler(scheduler, task.get("template") or {}),
        )
        for task in tasks
    )
    return Job(
        ref=Ref.of(obj),
        uid=meta["uid"],
        created=created(obj),
        roles=roles,
        min_available=spec.get("minAvailable"),
        queue=spec.get("queue") or "",
        priority_class=spec.get("priorityClassName") or "",
        # An aborted job waits for a resume command.
        suspended=_phase(obj) in {"Aborted", "Aborting"},
        groups=(f"{meta['name']}-{meta['uid']}", meta["name"]),
        later=frozenset(task.get("name") or "" for task in tasks if (task.get("dependsOn") or {}).get("name")),
    )


def _with_scheduler(scheduler: str, template: Object) -> Object:
    spec = template.get("spec") or {"containers": []}
    return {**template, "spec": {"schedulerName": scheduler, **spec}}


def _phase(obj: Object) -> str:
    phase: str = ((obj.get("status") or {}).get("state") or {}).get("phase") or ""
    return phase


def _trainer(obj: Object, facts: Facts) -> Job:
    meta, spec = obj["metadata"], obj["spec"]
    jobset = None if JOBSETS in facts.unread else facts.get(JOBSETS, meta["namespace"], meta["name"])
    known = not facts.unread.keys() & {CLUSTER_RUNTIMES, RUNTIMES}
    template = ((runtime_of(obj, facts) if known else None) or {}).get("spec", {}).get("template") or {}
    source = jobset["spec"] if jobset else template.get("spec", {})
    annotations = {
        **((template.get("metadata") or {}).get("annotations") or {}),
        **(spec.get("annotations") or {}),  # Trainer ignores those in the metadata
        **_patched(spec),
    }
    roles = tuple(_replicated(item, None if jobset else spec) for item in source.get("replicatedJobs") or ())
    classes = (role.template["spec"].get("priorityClassName") for role in roles)
    return Job(
        ref=Ref.of(obj),
        uid=meta["uid"],
        created=created(obj),
        roles=roles,
        queue=annotations.get(QUEUE_NAME, ""),
        priority_class=next((name for name in classes if name), ""),
        suspended=bool(spec.get("suspend")),
        groups=(meta["name"],),
        later=later_jobs(source),
    )


def _patched(spec: Object) -> Object:
    """Annotations that patches of the runtime set (trainingruntime.go of Trainer, v2.2.0), the last one winning."""
    found: Object = {}
    for patch in spec.get("runtimePatches") or ():
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        found |= (template.get("metadata") or {}).get("annotations") or {}
    return found


def _replicated(item: Object, trainjob: Object | None) -> Role:
    """Pods of one replicated job of a JobSet; `trainjob` has the number of nodes until the JobSet exists."""
    job = item["template"]["spec"]
    count = _count(item.get("replicas")) * _count(job.get("parallelism"))
    nodes = ((trainjob or {}).get("trainer") or {}).get("numNodes")
    return Role(item["name"], int(nodes) if nodes and item["name"] == "node" else count, job["template"])


def foreign(obj: Object, _facts: Facts) -> Job:
    """A job of any other kind, with a role for each pod template in its spec; of other forms only its pods tell."""
    spec = obj.get("spec") or {}
    policy = spec.get("runPolicy") or {}
    return Job(
        ref=Ref.of(obj),
        uid=obj["metadata"]["uid"],
        created=created(obj),
        roles=tuple(_of_leaders(spec) or _templates(spec, "", 1)),
        suspended=bool(spec.get("suspend") or (isinstance(policy, Mapping) and policy.get("suspend"))),
        foreign=True,
    )


def _of_leaders(spec: Object) -> tuple[Role, ...]:
    """The roles of a LeaderWorkerSet: its groups have one leader each, and `size` pods (its API, v0.8.0)."""
    shape = spec.get("leaderWorkerTemplate")
    worker = shape.get("workerTemplate") if isinstance(shape, dict) else None
    if not isinstance(shape, dict) or not isinstance(worker, dict) or not isinstance(worker.get("spec"), dict):
        return ()
    groups, size = _count(spec.get("replicas")), _count(shape.get("size"))
    leader = Role("leader", groups, shape.get("leaderTemplate") or worker)
    return (leader, Role("worker", groups * (size - 1), worker)) if size > 1 else (leader,)


def _templates(value: object, name: str, times: int) -> Iterator[Role]:
    """A role for each `template` of a pod, which its neighbours `replicas` or `parallelism` multiply."""
    if isinstance(value, list):
        for item in value:
            yield from _templates(item, name, times)
    if not isinstance(value, Mapping):
        return
    name = str(value.get("groupName") or value.get("name") or name)
    count = value.get("replicas", value.get("parallelism"))
    times *= count if isinstance(count, int) else 1
    for key, item in value.items():
        pod = item.get("spec") if key == "template" and isinstance(item, Mapping) else None
        if isinstance(pod, Mapping) and pod.get("containers"):
            yield Role(name, times, item)
        else:
            yield from _templates(item, name if key in {"template", "spec"} else key, times)


def _group(obj: Object, _facts: Facts) -> Job:
    meta, spec = obj["metadata"], obj["spec"]
    return Job(
        ref=Ref.of(obj),
        uid=meta["uid"],
        created=created(obj),
        roles=(),
        min_available=scheduler_of(obj).minimum_of(obj) or None,
        queue=spec.get("queue") or "",
        priority_class=spec.get("priorityClassName") or "",
        groups=(meta["name"],),
    )


def _count(value: int | None) -> int:
    """Replicas; 1 where none are given."""
    return 1 if value is None else int(value)


KINDS: Mapping[str, Kind] = {
    item.kind: item
    for item in (
        Kind("kubeflow.org/v1", "TFJob", "tfjobs", _kubeflow("tfReplicaSpecs")),
        Kind("kubeflow.org/v1", "PyTorchJob", "pytorchjobs", _kubeflow("pytorchReplicaSpecs")),
        Kind("kubeflow.org/v1", "MPIJob", "mpijobs", _kubeflow("mpiReplicaSpecs")),
        Kind("kubeflow.org/v1", "XGBoostJob", "xgboostjobs", _kubeflow("xgbReplicaSpecs")),
        Kind("kubeflow.org/v1", "PaddleJob", "paddlejobs", _kubeflow("paddleReplicaSpecs")),
        Kind("kubeflow.org/v1", "MXJob", "mxjobs", _kubeflow("mxReplicaSpecs")),
        Kind("kubeflow.org/v1", "JAXJob", "jaxjobs", _kubeflow("jaxReplicaSpecs")),
        Kind("trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs", _trainer),
        Kind("batch.volcano.sh/v1alpha1", "Job", "jobs", _volcano),
        # Last: a job and its PodGroup often share a name.
        Kind("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups", _group),
    )
} | {f"PodGroup.{gang.group}": Kind(*gang.podgroup, "podgroups", _group) for gang in (SCHEDULER_PLUGINS, KUBERNETES)}
"""By kind, in the order of lookup; the last ones share their kind with Volcano's."""
