"""The same jobs for other gang schedulers than Volcano: a PodGroup, and a Job of Kubernetes for each role.

Jobs of Volcano's own are for Volcano only, and no operator makes PodGroups of Kubernetes. The Jobs have the pods, and
the labels, of the job in whose place they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeflow_volcano.catalog.gangs import KUBERNETES, VOLCANO, GangScheduler
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.gang_demo.jobs.jobs import KINDS, RESTART, TASK, VCJOB
from kubeflow_volcano.gang_demo.play.history import JOB_NAME, ROLE, VCJOB_NAME

_ATTEMPTS = 1000
"""Pods that a scheduler evicts are replaced, however often: for a Job each of them has failed."""


def as_native(obj: Object, gang: GangScheduler, *, grouped: bool) -> Iterator[Object]:
    """What takes the place of a job; other objects are left as they are. `grouped`: training jobs are gangs.

    Training jobs are left to the operator where it makes PodGroups for that scheduler. A job of Volcano's is a gang
    where it names Volcano's scheduler. PodGroups of Kubernetes have its priority, and are evicted as a whole
    (disruptionMode all) where its policy restarts it as a whole; those of scheduler-plugins have no such fields.
    """
    meta, spec = obj["metadata"], obj.get("spec", {})
    if obj["kind"] in KINDS and not gang.has_makers:
        roles = spec[KINDS[obj["kind"]][0]]
        least = (spec["runPolicy"].get("schedulingPolicy") or {}).get("minAvailable")
        templates = {name.lower(): (role["replicas"], role["template"]) for name, role in roles.items()}
        yield from _made(gang, meta, (JOB_NAME, ROLE), templates, least if grouped else 0)
    elif (obj["apiVersion"], obj["kind"]) == VCJOB:
        tasks = {task["name"]: (task["replicas"], task["template"]) for task in spec["tasks"]}
        grouped = spec["schedulerName"] == VOLCANO.scheduler
        more = {"priorityClassName": spec["priorityClassName"]} if "priorityClassName" in spec else {}
        if dict(RESTART) in spec.get("policies", ()):
            more |= {"disruptionMode": {"all": {}}}
        known = more if gang is KUBERNETES else {}
        yield from _made(gang, meta, (VCJOB_NAME, TASK), tasks, spec["minAvailable"] if grouped else 0, **known)
    else:
        yield obj


def _made(
    gang: GangScheduler,
    meta: Mapping[str, Any],
    named_by: tuple[str, str],
    roles: Mapping[str, tuple[int, Object]],
    minimum: int | None,
    **more: Any,
) -> Iterator[Object]:
    """The PodGroup, of all pods where no minimum is given and none where it is 0, and a Job for each role.

    `named_by` are the labels of pods for the names of job and role.
    """
    name, space = meta["name"], meta["namespace"]
    least = sum(count for count, _ in roles.values()) if minimum is None else minimum
    if least:
        yield new_object(*gang.podgroup, name, space, spec=gang.group_spec(least) | more)
    marks = gang.marks(name) if least else {}
    own = {**marks.get("spec", {}), "schedulerName": gang.scheduler} if least else {}
    for role, (count, template) in roles.items():
        labels = {**dict(zip(named_by, (name, role), strict=True)), **marks.get("metadata", {}).get("labels", {})}
        pod = {"restartPolicy": "Never", **template["spec"], **own}
        spec = {
            "parallelism": count,
            "completions": count,
            "completionMode": "Indexed",
            "backoffLimit": _ATTEMPTS,
            "template": {"metadata": {**template.get("metadata", {}), "labels": labels}, "spec": pod},
        }
        yield new_object("batch/v1", "Job", f"{name}-{role}", space, spec=spec)
