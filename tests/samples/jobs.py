"""Small literals for tests of explanations: jobs, and a cluster in which nothing is in their way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubeflow_volcano.catalog.gangs import scheduler_of
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.operator.common import OPERATOR_ACCESS
from kubeflow_volcano.validators.core.expectations import SCHEDULER, Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.explain.creation.refusals import ADMISSION
from kubeflow_volcano.validators.explain.kinds import KINDS, Kind, foreign
from kubeflow_volcano.validators.explain.model import GROUP_NAME, Explanation
from kubeflow_volcano.validators.explain.reading.queries import KINDS_READ
from kubeflow_volcano.validators.explain.reading.situation import assemble
from kubeflow_volcano.validators.explain.stages import explain
from kubeflow_volcano.validators.reading.dry_runs import Answer
from kubeflow_volcano.validators.subjects.crds import DISCOVERY
from kubeflow_volcano.validators.subjects.pods import POD_NOTES, PodNotes
from tests.samples.facts import NOW, instant

SPACE = "team-a"
_SCHEDULER_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


def healthy() -> list[Object]:
    """Two nodes of 4 CPUs, an open queue, Volcano 1.10.0 and a training operator 1.8.1 that gangs."""
    return [
        node("n1"),
        node("n2"),
        _obj("scheduling.volcano.sh/v1beta1", "Queue", "default", spec={"weight": 1}, status={"state": "Open"}),
        _deployment("volcano-system/volcano-scheduler", "volcano", "volcanosh/vc-scheduler:v1.10.0", _ARGUMENTS),
        _deployment("volcano-system/volcano-controllers", "volcano", "volcanosh/vc-controller-manager:v1.10.0", ()),
        _deployment(
            "kubeflow/training-operator",
            "training-operator",
            "kubeflow/training-operator:v1-04f9f13",
            ("--gang-scheduler-name=volcano",),
        ),
        _obj(
            "v1",
            "ConfigMap",
            "volcano-system/volcano-scheduler-configmap",
            data={"volcano-scheduler.conf": _SCHEDULER_CONF},
        ),
    ]


def configured(text: str) -> Object:
    """The ConfigMap of Volcano's scheduler with another configuration."""
    found = next(item for item in healthy() if item["metadata"]["name"] == "volcano-scheduler-configmap")
    return found | {"data": {"volcano-scheduler.conf": text}}


_ARGUMENTS = ("--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf",)


def explained(
    job: Object,
    *around: Object,
    without: Sequence[str] = (),
    unread: Mapping[str, Unread] | None = None,
    notes: Mapping[str, PodNotes] | None = None,
    served: Iterable[str] = ("PodGroup", "Queue"),
    access: Mapping[str, Mapping[str, bool]] | None = None,
    scheduler: Ref = SCHEDULER,
    admission: Mapping[str, Answer] | None = None,
    between: Collection[str] = (),
    discovered: Mapping[str, Collection[str]] | None = None,
) -> Explanation:
    """The explanation of a job in a healthy cluster with these objects; `without` are names of what is taken out.

    `access` is what accounts of controllers may do, by component; what is not told they may. `admission` is how dry
    runs of pods were refused, by role; `between` are UIDs of what a job of another kind owns, and which own its pods;
    `discovered` are further kinds that are served, by apiVersion.
    """
    objects = [item for item in healthy() if item["metadata"]["name"] not in without]
    objects += [item for item in around if item is not job]
    by_resource: dict[str, tuple[Object, ...]] = dict.fromkeys(KINDS_READ, ())
    of_kind = {pair: name for name, pair in KINDS_READ.items()}
    for item in objects:
        name = of_kind[item["apiVersion"], item["kind"]]
        twins = [other for other in by_resource[name] if other["metadata"]["name"] != item["metadata"]["name"]]
        by_resource[name] = (*twins, item)
    if job["kind"] == "PodGroup":
        by_resource[scheduler_of(job).podgroups] += (job,)
    facts = Facts(
        Expectations(scheduler=scheduler),
        NOW,
        objects=by_resource,
        unread=unread or {},
        found={
            ADMISSION: admission or {},
            OPERATOR_ACCESS: (unread or {}).get("operator-access", access or {}),
            DISCOVERY: {"scheduling.volcano.sh/v1beta1": frozenset(served), **(discovered or {})},
        },
    )
    kind = KINDS.get(job["kind"])
    if kind is None or (kind.kind != "PodGroup" and kind.api_version != job["apiVersion"]):
        kind = Kind(job["apiVersion"], job["kind"], f"{job['kind'].lower()}s", foreign)
    found = assemble(kind, job, facts, between)
    return explain(replace(found, facts=replace(facts, found={**facts.found, POD_NOTES: notes or {}})))


def reasons(explanation: Explanation) -> list[str]:
    """Reasons of what is in the way."""
    return [item.reason for item in explanation.findings if item.blocks]


def tfjob(
    name: str = "mnist", *, workers: int = 2, cpu: str = "1", template: Object | None = None, **spec: Any
) -> Object:
    """A TFJob with workers of so many CPUs each, created a minute ago."""
    pod = {"containers": [_container(cpu)], **(template or {})}
    replicas = {"Worker": {"replicas": workers, "template": {"spec": pod}}}
    return _obj("kubeflow.org/v1", "TFJob", f"{SPACE}/{name}", spec={"tfReplicaSpecs": replicas, **spec})


def vcjob(name: str = "mnist", *, workers: int = 2, cpu: str = "1", **spec: Any) -> Object:
    """A Volcano Job with one task, created a minute ago."""
    task = {"name": "worker", "replicas": workers, "template": {"spec": {"containers": [_container(cpu)]}}}
    asked = {"minAvailable": workers, "queue": "default", "tasks": [task], **spec}
    return _obj("batch.volcano.sh/v1alpha1", "Job", f"{SPACE}/{name}", spec=asked)


def group(job: Object, members: int = 2, *, phase: str = "Pending", cpu: str = "", **spec: Any) -> Object:
    """The PodGroup of a job."""
    meta = {"ownerReferences": [{"kind": job["kind"], "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}]}
    asked: Object = {"minMember": members, "queue": "default", **spec}
    if cpu:
        asked["minResources"] = {"cpu": cpu}
    name = f"{SPACE}/{job['metadata']['name']}"
    status = {"phase": phase} if phase else {}
    return _obj("scheduling.volcano.sh/v1beta1", "PodGroup", name, metadata=meta, spec=asked, status=status)


def member(job: Object, number: int = 0, *, on: str = "", cpu: str = "1", ready: bool = True, **rest: Any) -> Object:
    """A worker of the job: without a node, or on one, where it runs unless told otherwise."""
    name = job["metadata"]["name"]
    meta = {
        "annotations": {GROUP_NAME: name},
        "labels": {"training.kubeflow.org/replica-type": "worker"},
        "ownerReferences": [{"kind": job["kind"], "name": name, "uid": job["metadata"]["uid"]}],
    }
    spec = {"containers": [_container(cpu)], "schedulerName": "volcano", **rest.pop("spec", {})}
    status: Object = {"phase": "Pending"}
    if on:
        spec["nodeName"] = on
        running = {"name": "tensorflow", "ready": ready, "restartCount": 0, "state": {"running": {}}}
        status = {"phase": "Running", "containerStatuses": [running]}
        status["conditions"] = [{"type": "Ready", "status": str(ready)}]
    status |= rest.pop("status", {})
    meta |= rest.pop("metadata", {})
    return _obj("v1", "Pod", f"{SPACE}/{name}-worker-{number}", metadata=meta, spec=spec, status=status, **rest)


def node(name: str, *, cpu: str = "4", taints: Sequence[Object] = (), **rest: Any) -> Object:
    """A Ready node with so many CPUs, 8 GiB and room for 110 pods."""
    resources = {"cpu": cpu, "memory": "8Gi", "pods": "110", **rest.pop("allocatable", {})}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": resources}
    labels = {"kubernetes.io/hostname": name, **rest.pop("labels", {})}
    spec = {"taints": list(taints), **rest}
    return _obj("v1", "Node", name, metadata={"labels": labels}, spec=spec, status=status)


def event(about: Object, reason: str, message: str) -> Object:
    """A Warning about an object."""
    meta = about["metadata"]
    involved = {"apiVersion": about["apiVersion"], "kind": about["kind"], "name": meta["name"], "uid": meta["uid"]}
    involved["namespace"] = meta.get("namespace", "")
    fields = {"type": "Warning", "reason": reason, "message": message, "lastTimestamp": instant(5), "count": 3}
    return _obj("v1", "Event", f"{SPACE}/{meta['name']}.{reason}", involvedObject=involved, **fields)


def hooks(*names: str) -> Object:
    """A configuration with webhooks of these names that see nothing, behind an address that needs no Service."""
    entries = [{"name": name, "clientConfig": {"url": "https://elsewhere"}, "rules": []} for name in names]
    return _obj("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "hooks", webhooks=entries)


def _container(cpu: str) -> Object:
    return {"name": "tensorflow", "image": "example/image:v1", "resources": {"requests": {"cpu": cpu}}}


def _deployment(name: str, container: str, image: str, arguments: Sequence[str]) -> Object:
    pod = {
        "containers": [{"name": container, "image": image, "args": list(arguments)}],
        "volumes": [{"name": "conf", "configMap": {"name": "volcano-scheduler-configmap"}}],
    }
    status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    meta = {"generation": 1}
    return _obj(
        "apps/v1", "Deployment", name, metadata=meta, spec={"replicas": 1, "template": {"spec": pod}}, status=status
    )


def _obj(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    space, _, name = name.rpartition("/")
    meta: Object = {"name": name, "uid": f"uid-{kind}-{name}", "creationTimestamp": instant(60)}
    if space:
        meta["namespace"] = space
    return {"apiVersion": api_version, "kind": kind, "metadata": meta | rest.pop("metadata", {}), **rest}
