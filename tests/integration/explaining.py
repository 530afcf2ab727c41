"""Jobs of a test in a namespace of their own, and what `explain job` says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.explain.model import Explanation, Finding, State
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.rendering import document, render
from kubeflow_volcano.validators.explain.stages import explain
from tests.waiting import at_last, until

SIMULATED = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
GPU: Object = {"resources": {"requests": {"cpu": "10m", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}
LITTLE: Object = {"resources": {"requests": {"cpu": "10m"}}}
LABELS = {"app": "apart"}
_KINDS = (
    *(("kubeflow.org/v1", kind) for kind in ("MPIJob", "PyTorchJob", "TFJob")),
    ("batch.volcano.sh/v1alpha1", "Job"),
)
_Answer = TypeVar("_Answer")


def job(name: str, roles: dict[str, int], container: Object = LITTLE, kind: str = "PyTorchJob", **spec: Any) -> Object:
    """A job of the training operator; `spec` is that of its pods, and `policy` its scheduling policy."""
    field, main = {
        "MPIJob": ("mpiReplicaSpecs", "mpi"),
        "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
        "TFJob": ("tfReplicaSpecs", "tensorflow"),
    }[kind]
    policy = spec.pop("policy", {})
    pod = {"terminationGracePeriodSeconds": 0, "containers": [{"name": main, "image": PAUSE, **container}], **spec}
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    replicas = {
        role: {"replicas": count, "restartPolicy": "OnFailure", "template": template} for role, count in roles.items()
    }
    return new_object("kubeflow.org/v1", kind, name, spec={field: replicas, "runPolicy": {"schedulingPolicy": policy}})


class Jobs:
    """Jobs in a namespace, and what is said of them."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace

    def create(self, obj: Object) -> Object:
        return self.cluster.create({**obj, "metadata": {**obj["metadata"], "namespace": self.namespace}})

    def ref(self, name: str) -> Ref:
        """The job of that name."""
        found = (Ref(version, kind, self.namespace, name) for version, kind in _KINDS)
        return next(ref for ref in found if self.cluster.get(ref))

    def delete(self, name: str) -> None:
        ref = self.ref(name)
        live = self.cluster.get(ref)
        assert live is not None
        # In the background the job is gone first, and an operator that has not seen it yet makes its PodGroup again:
        # it would be taken for that of the next job of this name, and then deleted.
        self.cluster.delete(ref, uid=live["metadata"]["uid"], propagation="Foreground")
        until(lambda: self.cluster.get(ref) is None)
        until(lambda: not self.of_job(name))
        until(lambda: not self._groups_of(live["metadata"]["uid"]))

    def _groups_of(self, uid: str) -> list[Object]:
        groups = self.cluster.list("scheduling.volcano.sh/v1beta1", "PodGroup", namespace=self.namespace).items
        return [item for item in groups if uid in {it["uid"] for it in item["metadata"].get("ownerReferences") or ()}]

    def of_job(self, name: str) -> list[Object]:
        pods = self.cluster.list("v1", "Pod", namespace=self.namespace).items
        return [pod for pod in pods if pod["metadata"]["name"].startswith(f"{name}-")]

    def explained(self, name: str) -> Explanation:
        return explain(read_situation(self.cluster, self.namespace, name))

    def cause(self, name: str, reason: str) -> Finding:
        """The only cause, once it is this one."""

        def found(explanation: Explanation) -> Finding | None:
            causes = [item for item in explanation.findings if item.blocks]
            return causes[0] if [item.reason for item in causes] == [reason] else None

        return self._until(name, found)

    def starts(self, name: str) -> None:
        self._until(name, lambda explanation: explanation.state is State.STARTED)

    def _until(self, name: str, found: Callable[[Explanation], _Answer | None]) -> _Answer:
        """As `until`, but what fails shows what explain says."""
        last = self.explained(name)

        def asked() -> _Answer | None:
            nonlocal last
            last = self.explained(name)
            return found(last)

        try:
            return until(asked, every=1)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{render(document(last))}") from error

    def stays(self, name: str, seconds: float = 15) -> None:
        """No pod of it gets a node, for some seconds."""

        def placed() -> bool:
            return any(pod["spec"].get("nodeName") for pod in self.of_job(name))

        assert not at_last(placed, wanted=True, seconds=seconds, every=1)

    def again(self, name: str, right: Object) -> None:
        """Recreate the job as the remedy says; it starts."""
        self.delete(name)
        self.create(right)
        self.starts(name)

    def remove_all(self) -> None:
        """No job is left for the next test."""
        for version, kind in _KINDS:
            for item in self.cluster.list(version, kind, namespace=self.namespace).items:
                self.cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])
        until(lambda: not self.cluster.list("v1", "Pod", namespace=self.namespace).items)
