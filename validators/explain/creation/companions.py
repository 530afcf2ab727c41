"""What a controller creates for a job beside PodGroup and pods: Services, ConfigMaps, Secrets, and their names.

Rules: CreateNewService and GenGeneralName of pkg/controller.v1/common and service_control.go of the training operator,
v1.5.0 to v1.9.2 (kubeflow/common before 1.7); pkg/controller.v1/mpi, which makes none; pkg/controllers/job/plugins
and job_controller_actions.go of Volcano, v1.8.0 to v1.15.1. Names of Services: ValidateServiceName of pkg/apis/core of
Kubernetes; a name that begins with a digit is accepted where RelaxedServiceNameValidation is on (from 1.34).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.creation.controllers import missing_permissions
from kubeflow_volcano.validators.explain.model import Event, Finding, Job, Situation, finding

COMPANION_EVENTS = frozenset({"FailedCreateService", "PluginError"})
"""Reasons of the training operator and of Volcano for what was refused beside pods."""
_LONGEST = 63
_LABEL, _STRICT = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"), re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_WITH_SERVICE = frozenset({"svc", "mpi", "pytorch", "tensorflow"})
"""Plugins of Volcano's jobs that make a Service; the webhook adds svc to the others (patchDefaultPlugins)."""
_SERVED = frozenset({"Running", "Succeeded", "Completed", "Completing"})


@dataclass(frozen=True, slots=True)
class BadName:
    """The name of a Service that a job needs and Kubernetes refuses. `most` is how long the job's name may be.

    `certain` is False where it depends on the version and the gates of the API server.
    """

    name: str
    why: str
    most: int
    certain: bool


def bad_service_name(job: Job, obj: Object) -> BadName | None:
    """The first name of a Service that the job's controller derives and no API server accepts; None without one."""
    suffixes = tuple(_suffixes(job, obj))
    most = _LONGEST - max(map(len, suffixes), default=0)
    for suffix in suffixes:
        name = f"{job.ref.name}{suffix}"
        if len(name) > _LONGEST:
            return BadName(name, f"it has {len(name)} characters, and a Service at most {_LONGEST}", most, certain=True)
        if not _LABEL.fullmatch(name):
            why = "a Service's name has lower case letters, digits and '-' only"
            return BadName(name, why, most, certain=True)
        if not _STRICT.fullmatch(name):
            return BadName(name, "a Service's name begins with a letter", most, certain=False)
    return None


def companions(situation: Situation) -> Iterator[Finding]:
    """What the job needs beside its pods was refused, or will be: without it, its pods do not find each other."""
    job = situation.job
    event = refused_companion(situation)
    bad = bad_service_name(job, situation.obj)
    seen = f" It was refused {counted(event.count, 'time')}, last at {event.last}." if event else ""
    if bad and (bad.certain or event):
        yield finding(
            "ServiceNameInvalid",
            f"{job.ref} needs the Service {bad.name}, which cannot exist: {bad.why}.{seen}",
            needed=f"a name of at most {bad.most} characters: lower case letters, digits and '-', a letter first.",
            todo="recreate the job with such a name: its pods do not find each other as it is, and it never gets on.",
            objects=[job.ref],
        )
    elif event:
        yield finding(
            "CompanionRefused",
            f"what {job.ref} needs beside its pods was refused: {event.message.rstrip('.')} "
            f"({counted(event.count, 'time')}, last at {event.last}).",
            needed="Services, ConfigMaps and Secrets that the API server accepts.",
            todo="remove what the message names; the controller tries again by itself.",
            objects=[job.ref],
        )
    if situation.missing > 0:
        for kind in _kinds(job, situation.obj):
            yield from missing_permissions(situation, kind)


def refused_companion(situation: Situation) -> Event | None:
    """The last event about something beside pods that was refused; none once the controller got past it."""
    got_past = any(
        condition.get("status") == "True" and kind in _SERVED for kind, condition in conditions(situation.obj).items()
    )
    phase = ((situation.obj.get("status") or {}).get("state") or {}).get("phase")
    if got_past or phase in _SERVED:
        return None
    return next((item for item in reversed(situation.events) if item.reason in COMPANION_EVENTS), None)


def _suffixes(job: Job, obj: Object) -> Iterator[str]:
    """What the controller puts behind the job's name, in the names of its Services: the longest of each role."""
    if job.family == "batch.volcano.sh":
        if _WITH_SERVICE & set(obj["spec"].get("plugins") or {}):
            yield ""
    elif job.family == "kubeflow.org" and job.ref.kind != "MPIJob":
        yield from (f"-{role.name.lower()}-{role.replicas - 1}" for role in job.roles if role.replicas > 0)


def _kinds(job: Job, obj: Object) -> tuple[str, ...]:
    """What its controller must be allowed to create beside pods, as `plural.group`."""
    if job.family == "kubeflow.org":
        of_mpi = ("configmaps", "serviceaccounts", "roles.rbac.authorization.k8s.io")
        return (*of_mpi, "rolebindings.rbac.authorization.k8s.io") if job.ref.kind == "MPIJob" else ("services",)
    plugins = set((obj.get("spec") or {}).get("plugins") or {}) if job.family == "batch.volcano.sh" else set()
    services = ("services", "configmaps") if plugins & _WITH_SERVICE else ()
    return (*services, *(("secrets",) if plugins & {"ssh", "mpi"} else ()))
