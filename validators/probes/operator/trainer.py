"""What Trainer, JobSet and the Job controller make of a TrainJob on a runtime of the cluster."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.experiment.pods import RESOURCES
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import CLUSTER_RUNTIMES, DEPLOYMENTS, PODS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.acting import ACTING
from kubeflow_volcano.validators.probes.operator.operator import REPLICAS, OperatorEvidence, observe
from kubeflow_volcano.validators.subjects.gang import runtimes

_TRAINJOB = ("trainer.kubeflow.org/v1alpha1", "TrainJob")


def run(session: Session, facts: Facts, progress: Progress) -> OperatorEvidence | None:
    """Create a TrainJob of two pause pods on a runtime of the cluster; about 5 s, at most 50 s. None without a runtime.

    The pods are those of the runtime, so that the wiring that people use is tried. They say nothing about their user,
    which the restricted level would not admit.
    """
    job_ref = Ref(*_TRAINJOB, "", f"kfv-{session.run}")
    evidence = OperatorEvidence(job_ref, session.options.queue, gang=facts.expectations.gang, timing=facts.timing)
    if facts.expectations.why_unmade:
        return evidence
    runtime = runtimes.for_probe(facts)
    if runtime is None:
        return None
    used: str = runtime["metadata"]["name"]
    progress(f"G11 PodGroup: a TrainJob of two nodes on runtime {used}")

    def job(session: Session, namespace: str, name: str) -> Object:
        resources = {key: dict(amounts) for key, amounts in RESOURCES.items()}
        trainer = {"image": session.options.pause_image, "numNodes": REPLICAS, "resourcesPerNode": resources}
        return {
            "apiVersion": evidence.job.api_version,
            "kind": evidence.job.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "runtimeRef": {"name": used},
                "annotations": {QUEUE_NAME: session.options.queue, "sidecar.istio.io/inject": "false"},
                "trainer": trainer,
            },
        }

    return observe(session, evidence, job, lambda name: f"jobset.sigs.k8s.io/jobset-name={name}", Level.BASELINE)


TRAIN_JOB = Probe[OperatorEvidence | None](
    "trainer",
    run,
    "operator",
    reads=(DEPLOYMENTS, CLUSTER_RUNTIMES, PODS),
    needs=(
        *ACTING,
        Rule("list", "", "events"),
        *(Rule(verb, "trainer.kubeflow.org", "trainjobs") for verb in ("create", "delete", "list", "watch")),
        *(Rule(verb, "scheduling.volcano.sh", "podgroups") for verb in ("delete", "list", "watch")),
    ),
)
