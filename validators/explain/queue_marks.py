"""Queues that a job names in a place that nothing reads, so that its gang goes to another one.

Rules: ReconcileJobs of pkg/controller.v1/common of the training operator, v1.5.0 to v1.9.2 (the queue of a gang is that
of runPolicy.schedulingPolicy); createOrUpdatePodGroup of pkg/controllers/job of Volcano, v1.8.0 to v1.15.1
(spec.queue); pkg/runtime/framework/plugins/volcano of Trainer, v2.1.0 to v2.3.0 (annotations of the spec, and of the
runtime).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Object, group_of
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.validators.explain.model import Job

_MARKS = (QUEUE_NAME, "volcano.sh/queue-name")
_FIELDS = {
    "batch.volcano.sh": "spec.queue",
    "kubeflow.org": "spec.runPolicy.schedulingPolicy.queue",
    "trainer.kubeflow.org": (
        f"spec.annotations, as {QUEUE_NAME} (since Trainer 2.2 in "
        "spec.runtimePatches[].trainingRuntimeSpec.template.metadata.annotations)"
    ),
}


def field_of_queue(obj: Object) -> str:
    """Where a job of this kind names its queue; empty for other kinds."""
    return _FIELDS.get(group_of(str(obj["apiVersion"])), "")


def unread_queues(obj: Object, job: Job) -> Mapping[str, str]:
    """Places in the job or its pod templates that name a queue, and the queue, where its gang is for another."""
    if not field_of_queue(obj):
        return {}
    found = dict(_named(obj["metadata"], "the job"))
    for role in job.roles:
        found |= dict(_named(role.template.get("metadata") or {}, f"the pods of {role.name}"))
    spec = obj.get("spec") or {}
    if group_of(str(obj["apiVersion"])) == "kubeflow.org" and isinstance(spec.get("queue"), str):
        found["spec.queue"] = spec["queue"]
    return {place: name for place, name in found.items() if name != (job.queue or "default")}


def _named(meta: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    for field in ("labels", "annotations"):
        for key in _MARKS:
            if name := (meta.get(field) or {}).get(key):
                yield f"{key} in the {field} of {place}", str(name)
