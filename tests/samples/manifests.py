"""Small literals for tests of rules about manifests, judged with a cluster that has what jobs need, or without one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.explain.kinds import JOBSETS
from kubeflow_volcano.validators.explain.manifest.judging import judge
from kubeflow_volcano.validators.explain.manifest.model import FILES, Judgement, Manifest
from kubeflow_volcano.validators.explain.manifest.rules.references import SERVED
from kubeflow_volcano.validators.explain.manifest.schemas import SCHEMAS
from kubeflow_volcano.validators.explain.manifest.surroundings import surroundings
from kubeflow_volcano.validators.explain.model import Finding
from kubeflow_volcano.validators.explain.placement.dynamic_resources import TEMPLATES
from kubeflow_volcano.validators.explain.reading.queries import KINDS_READ
from kubeflow_volcano.validators.explain.scheduling.kueue import CLUSTER_QUEUES, LOCAL_QUEUES
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES

_RESOURCES = (
    *("limitranges", "namespaces", "podgroups.scheduling.volcano.sh", "podgroups.scheduling.x-k8s.io"),
    *("priorityclasses.scheduling.k8s.io", "queues.scheduling.volcano.sh", JOBSETS, CLAIMS, CLASSES, TEMPLATES),
    *(LOCAL_QUEUES, CLUSTER_QUEUES),
)
_SERVED = {
    "resource.k8s.io/v1": {"DeviceClass", "ResourceClaim", "ResourceClaimTemplate"},
    "scheduling.k8s.io/v1beta1": {"PodGroup"},
    "v1": {"Pod", "Namespace", "LimitRange"},
    "apps/v1": {"Deployment"},
    "batch/v1": {"CronJob", "Job"},
    "batch.volcano.sh/v1alpha1": {"Job"},
    "kubeflow.org/v1": {"PyTorchJob", "TFJob"},
    "kueue.x-k8s.io/v1beta1": {"ClusterQueue", "LocalQueue"},
    "kueue.x-k8s.io/v1beta2": {"ClusterQueue", "LocalQueue"},
    "scheduling.k8s.io/v1": {"PriorityClass"},
    "scheduling.volcano.sh/v1beta1": {"PodGroup", "Queue"},
}


def judged(
    *manifests: Object,
    around: Iterable[Object] = (),
    schemas: Mapping[str, Any] | None = None,
    unread: Mapping[str, Unread] | None = None,
    known: Mapping[Any, Any] | None = None,
    offline: bool = False,
) -> Judgement:
    """The judgement of manifests; `around` is what the cluster has beside namespace team-a and queue default.

    `known` are further facts.
    """
    files = tuple(Manifest("jobs.yaml", number, item) for number, item in enumerate(manifests, start=1))
    if offline:
        return judge(files, surroundings(files, None, "--offline"))
    sound = tuple(item.obj for item in files if not item.wrong_types)
    cluster = (
        made("v1", "Namespace", "team-a", namespace=""),
        made("v1", "Namespace", "default", namespace=""),
        made("scheduling.volcano.sh/v1beta1", "Queue", "default", namespace="", status={"state": "Open"}),
        *around,
        *(item for item in sound if (item["apiVersion"], item["kind"]) in KINDS_READ.values()),
    )
    objects = {
        name: tuple(item for item in cluster if (item["apiVersion"], item["kind"]) == KINDS_READ[name])
        for name in _RESOURCES
    }
    served = {key: frozenset(kinds) for key, kinds in _SERVED.items()}
    found: dict[Any, Any] = {FILES: sound, SERVED: served, SCHEMAS: schemas or {}, **(known or {})}
    facts = Facts(Expectations(), 0.0, objects=objects, unread=unread or {}, found=found)
    return judge(files, facts, "a cluster")


def findings(*manifests: Object, **how: Any) -> list[Finding]:
    """Every finding about them."""
    return [each for item in judged(*manifests, **how).manifests for each in item.findings]


def reasons(*manifests: Object, **how: Any) -> list[str]:
    """The reason of each finding."""
    return [item.reason for item in findings(*manifests, **how)]


def tfjob(template: Object | None = None, *, workers: int = 2, policy: Object | None = None, **spec: Any) -> Object:
    """A TFJob whose workers request 1 CPU."""
    worker = {"replicas": workers, "template": _template(template, "tensorflow")}
    run = {"runPolicy": {"schedulingPolicy": policy}} if policy is not None else {}
    return made("kubeflow.org/v1", "TFJob", "mnist", spec={"tfReplicaSpecs": {"Worker": worker}, **run, **spec})


def vcjob(template: Object | None = None, *, workers: int = 2, **spec: Any) -> Object:
    """A Volcano Job whose workers request 1 CPU."""
    task = {"name": "worker", "replicas": workers, "template": _template(template), **spec.pop("task", {})}
    return made("batch.volcano.sh/v1alpha1", "Job", "mnist", spec={"tasks": [task], **spec})


def made(api_version: str, kind: str, name: str, namespace: str = "team-a", **rest: Any) -> Object:
    """An object of any kind."""
    return new_object(api_version, kind, name, namespace, meta={**rest.pop("metadata", {})}, **rest)


def _template(more: Object | None, name: str = "c") -> Object:
    container = {"name": name, "image": "example/image:v1", "resources": {"requests": {"cpu": "1"}}}
    given = more or {}
    return {**given, "spec": {"containers": [container], **(given.get("spec") or {})}}
