"""Rules about PyTorchJobs that may grow and shrink."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.placement.dynamic_resources import mapping


def workers(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """An elastic PyTorchJob without workers.

    Rules: pkg/apis/kubeflow.org/v1/pytorch_defaults.go of training-operator, v1.5.0 to v1.8.1, which reads the workers
    of such a job, and pkg/webhooks/pytorch (kubeflow/trainer#2320).
    """
    spec = mapping(manifest.obj.get("spec"))
    if manifest.ref[:2] != ("kubeflow.org/v1", "PyTorchJob") or not spec.get("elasticPolicy"):
        return
    if "Worker" not in mapping(spec.get("pytorchReplicaSpecs")):
        yield flaw(
            "ElasticWithoutWorkers",
            "spec.elasticPolicy is about workers, and pytorchReplicaSpecs has no Worker: older training operators end "
            "over such a job, for all jobs, and newer ones refuse it.",
            needed="a Worker, or no elasticPolicy.",
            todo="rename the role to Worker, as an elastic job needs no Master, or remove elasticPolicy.",
            words=["elasticPolicy"],
        )
