"""The same jobs for Kubernetes' own gangs: a PodGroup, and a Job of Kubernetes for each role.

No operator makes such PodGroups, so that none is needed: the Jobs have the pods, and the labels, of the training job or
of the job of Volcano in whose place they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeflow_volcano.catalog.gangs import KUBERNETES, VOLCANO
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.gang_demo.jobs.jobs import KINDS, RESTART, TASK, VCJOB
from kubeflow_volcano.gang_demo.play.history import JOB_NAME, ROLE, VCJOB_NAME

_ATTEMPTS = 1000
"""Pods that a scheduler evicts are replaced, however often: for a Job each of them has failed."""


def as_native(obj: Object, *, grouped: bool) -> Iterator[Object]:
    """What takes the place of a job; other objects are left as they are. `grouped`: training jobs are gangs.

    A job of Volcano's is one where it names Volcano's scheduler, and is evicted as a whole (disruptionMode all) where
    its policy restarts it as a whole.
    """
    meta, spec = obj["metadata"], obj.get("spec", {})
    if obj["kind"] in KINDS:
        roles = spec[KINDS[obj["kind"]][0]]
        least = (spec["runPolicy"].get("schedulingPolicy") or {}).get("minAvailable")
        templates = {name.lower(): (role["replicas"], role["template"]) for name, role in roles.items()}
        yield from _made(meta, JOB_NAME, ROLE, templates, least if grouped else 0)
    elif (obj["apiVersion"], obj["kind"]) == VCJOB:
        tasks = {task["name"]: (task["replicas"], task["template"]) for task in spec["tasks"]}
        grouped = spec["schedulerName"] == VOLCANO.scheduler
        more = {"priorityClassName": spec["priorityClassName"]} if "priorityClassName" in spec else {}
        if dict(RESTART) in spec.get("policies", ()):
            more |= {"disruptionMode": {"all": {}}}
        yield from _made(meta, VCJOB_NAME, TASK, tasks, spec["minAvailable"] if grouped else 0, **more)
    else:
        yield obj


def _made(
    meta: Mapping[str, Any],
    job_label: str,
    role_label: str,
    roles: Mapping[str, tuple[int, Object]],
    minimum: int | None,
    **group: Any,
) -> Iterator[Object]:
    """The PodGroup, of all pods where no minimum is given and none where it is 0, and a Job for each role."""
    name, space = meta["name"], meta["namespace"]
    least = sum(count for count, _ in roles.values()) if minimum is None else minimum
    if least:
        yield new_object(*KUBERNETES.podgroup, name, space, spec=KUBERNETES.group_spec(least) | group)
    for role, (count, template) in roles.items():
        labels = {job_label: name, role_label: role}
        marks = KUBERNETES.marks(name)["spec"] if least else {}
        pod = {"restartPolicy": "Never", **template["spec"], **marks}
        spec = {
            "parallelism": count,
            "completions": count,
            "completionMode": "Indexed",
            "backoffLimit": _ATTEMPTS,
            "template": {"metadata": {**template.get("metadata", {}), "labels": labels}, "spec": pod},
        }
        yield new_object("batch/v1", "Job", f"{name}-{role}", space, spec=spec)
