"""Jobs of scenarios, as small as possible: their pods are simulated or idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeflow_volcano.cluster.objects import Object

GPU = "nvidia.com/gpu"

IMAGE = "ghcr.io/kubeflow/training-v1/tf-dist-mnist-test:latest"
"""Never pulled: the rehearsal cluster simulates pods that request a GPU."""

SUCCEED_AFTER = "rehearsal.kubeflow-volcano.io/succeed-after"
"""Annotation of a simulated pod: how long it runs before it succeeds ("5s"). Without it, it never ends."""

VCJOB = ("batch.volcano.sh/v1alpha1", "Job")
"""The apiVersion and kind of Volcano's own jobs."""
TASK = "volcano.sh/task-spec"
"""Label of a pod: the task of its job of Volcano."""
RESTART: Mapping[str, str] = {"event": "PodEvicted", "action": "RestartJob"}
"""Policy of such a job: when a pod is deleted before it ended, all others are deleted and all restart together."""

KINDS: Mapping[str, tuple[str, str]] = {
    "TFJob": ("tfReplicaSpecs", "tensorflow"),
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
    "MPIJob": ("mpiReplicaSpecs", "mpi"),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost"),
    "PaddleJob": ("paddleReplicaSpecs", "paddle"),
    "MXJob": ("mxReplicaSpecs", "mxnet"),
}
"""The field of each kind that has its roles, and the required name of their containers."""


def replicas(
    count: int, *, gpus: int = 1, cpu: str = "10m", lasts: str = "", image: str = IMAGE, command: Sequence[str] = ()
) -> Object:
    """`count` pods of one container that requests `gpus`; they succeed after `lasts`, never if it is empty."""
    limits = {GPU: str(gpus)} if gpus else {}
    container = {
        "image": image,
        **({"command": list(command)} if command else {}),
        "resources": {"requests": {"cpu": cpu, "memory": "16Mi", **limits}, "limits": limits},
    }
    notes = {"sidecar.istio.io/inject": "false"} | ({SUCCEED_AFTER: lasts} if lasts else {})
    pod = {"metadata": {"annotations": notes}, "spec": {"containers": [container]}}
    return {"replicas": count, "restartPolicy": "Never", "template": pod}


def job(
    kind: str, name: str, namespace: str, roles: Mapping[str, Object], annotations: Mapping[str, str] | None = None
) -> Object:
    """A job of the training operator of one of `KINDS`; roles have that kind's names (PS, Worker, Master)."""
    specs, container = KINDS[kind]
    meta = {"name": name, "namespace": namespace} | ({"annotations": dict(annotations)} if annotations else {})
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": meta,
        "spec": {
            "runPolicy": {"cleanPodPolicy": "None"},
            specs: {role: _named(spec, container) for role, spec in roles.items()},
        },
    }


def holder(name: str, namespace: str, gpus: int, scheduler: str = "default-scheduler") -> Object:
    """A pod that holds GPUs until it is deleted, with enough CPU and memory to make a difference in node scores."""
    asked = {"cpu": "1", "memory": "4Gi", GPU: str(gpus)}
    container = {"name": "holder", "image": IMAGE, "resources": {"requests": asked, "limits": asked}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": {"sidecar.istio.io/inject": "false"}},
        "spec": {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def _named(spec: Object, container: str) -> Object:
    """The replicas with the container name that the operator requires."""
    template = spec["template"]
    (only,) = template["spec"]["containers"]
    inner = template["spec"] | {"containers": [{"name": container, **only}]}
    return spec | {"template": template | {"spec": inner}}
