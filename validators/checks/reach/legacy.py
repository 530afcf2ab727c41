"""Family A: what is left of tools that nobody maintains any more, and the way off them.

Sources: kubernetes-retired/kube-batch (CRDs and Deployment of its chart), kubeflow/kfctl (CRD, annotation and finalizer
of its operator), ksonnet (labels and annotations of its pkg/metadata), kubeflow/manifests v1.3-branch (one operator for
each framework, before kubeflow/manifests#1976 put the training operator in their place).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.operator import DEPLOYMENT as OPERATOR
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted
from validators.core.check import check
from validators.core.facts import Facts, Read
from validators.core.outcome import Outcome, Severity, Status
from validators.core.resources import CRDS, DEPLOYMENTS, KFDEFS, NAMESPACES, PODS, SERVICES, STATEFUL_SETS
from validators.subjects.troubles import Trouble, judged, verdict

__all__ = ["CHECKS"]

_WORKLOADS = ("deployments.apps", "statefulsets.apps")
_LABELLED = (*_WORKLOADS, "services", "namespaces", CRDS)
_READS: tuple[Read, ...] = (
    CRDS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    SERVICES,
    NAMESPACES,
    PODS,
    KFDEFS,
)

_KUBE_BATCH = "kube-batch"
_KUBE_BATCH_GROUPS = ("scheduling.incubator.k8s.io", "scheduling.sigs.dev")
_KSONNET_LABELS = ("ksonnet.io/component",)
_KSONNET_ANNOTATIONS = ("ksonnet.io/managed", "kubecfg.ksonnet.io/garbage-collect-tag")
_DEPLOYED_BY = ("app.kubernetes.io/deploy-manager", "ksonnet")
_OF_KFDEF = "kfctl.kubeflow.io/kfdef-instance"
_SINGLE_OPERATORS = (
    "mpi-operator",
    "mxnet-operator",
    "pytorch-operator",
    "tf-job-operator",
    "xgboost-operator-deployment",
)

_OFF_KUBE_BATCH = (
    "give its work to Volcano: schedulerName volcano in pods, PodGroups of scheduling.volcano.sh, the operator's gang "
    "flag (G1). When nothing names kube-batch any more, delete its Deployment, and its CRDs last."
)
_OFF_KFDEF = (
    "while its operator runs, deleting a KfDef deletes the Kubeflow that it made (its finalizer does): stop that "
    "operator first, install a release of today over what is there (playbooks/plan.yml shows what changes), and only "
    "then remove the KfDef and its CRD."
)
_OFF_KSONNET = (
    "no tool keeps these objects up to date: install the release's component over them, delete what no release has any "
    "more, and take the labels and annotations of ksonnet off the rest."
)
_OFF_OPERATORS = "delete the Deployment; the training operator does its work. Running jobs keep their pods."


@check("A10", "no-legacy", severity=Severity.MINOR, reads=_READS)
def no_legacy(facts: Facts) -> Outcome:
    """Nothing is left of kube-batch, kfctl, ksonnet or the operators for one framework each.

    None of them is maintained, and their APIs end with Kubernetes 1.22. The finding says how to come off each. An
    operator for one framework beside the training operator fails: both act on the same jobs.
    """
    found = [*_kube_batch(facts), *_kfdef(facts), *_ksonnet(facts), *_operators(facts)]
    looked_at = [Ref.of(item) for resource in _LABELLED for item in judged(facts, resource)]
    return verdict(
        sorted(found, key=lambda item: (item.status is not Status.FAIL, item.reason, item.ref)),
        looked_at,
        claim=f"{counted(len(looked_at), 'object')} without a trace of kube-batch, kfctl or ksonnet.",
        expected="no CRD, workload, label or annotation of kube-batch, kfctl or ksonnet; one operator of training jobs",
    )


def _kube_batch(facts: Facts) -> Iterator[Trouble]:
    for crd in judged(facts, CRDS):
        if crd["spec"]["group"] in _KUBE_BATCH_GROUPS:
            yield _legacy(crd, "KubeBatch", "is a kind of kube-batch, which Volcano does not read", _OFF_KUBE_BATCH)
    for workload in _workloads(facts):
        if any(_program(item["image"]) == _KUBE_BATCH for item in _containers(workload)):
            yield _legacy(workload, "KubeBatch", "runs kube-batch, a scheduler of its own", _OFF_KUBE_BATCH)
    for pod in judged(facts, PODS):
        if pod["spec"].get("schedulerName") == _KUBE_BATCH and not _ended(pod):
            yield _legacy(pod, "KubeBatch", "asks for the scheduler kube-batch", _OFF_KUBE_BATCH)


def _kfdef(facts: Facts) -> Iterator[Trouble]:
    for item in judged(facts, KFDEFS):
        yield _legacy(item, "KfDef", "describes a Kubeflow of kfctl", _OFF_KFDEF)
    crd = facts.get(CRDS, "", KFDEFS)
    if crd:
        yield _legacy(crd, "KfDef", "is the kind by which kfctl's operator installs", _OFF_KFDEF)
    for item in _labelled(facts):
        if instance := (item["metadata"].get("annotations") or {}).get(_OF_KFDEF):
            yield _legacy(item, "KfDef", f"was installed from KfDef {instance}", _OFF_KFDEF)


def _ksonnet(facts: Facts) -> Iterator[Trouble]:
    for item in _labelled(facts):
        labels, annotations = (item["metadata"].get(key) or {} for key in ("labels", "annotations"))
        marks = [key for key in _KSONNET_LABELS if key in labels]
        marks += [key for key in _KSONNET_ANNOTATIONS if key in annotations]
        marks += ["=".join(_DEPLOYED_BY)] if labels.get(_DEPLOYED_BY[0]) == _DEPLOYED_BY[1] else []
        if marks:
            yield _legacy(item, "Ksonnet", f"bears {', '.join(marks)}", _OFF_KSONNET)


def _operators(facts: Facts) -> Iterator[Trouble]:
    beside = facts.get(DEPLOYMENTS, OPERATOR.namespace, OPERATOR.name) is not None
    for name in _SINGLE_OPERATORS:
        found = facts.get(DEPLOYMENTS, OPERATOR.namespace, name)
        if found and beside and found["spec"].get("replicas", 1):
            yield _legacy(found, "TwoOperators", f"acts on jobs, and so does {OPERATOR}", _OFF_OPERATORS, Status.FAIL)
        elif found:
            yield _legacy(found, "SingleOperator", "is an operator of Kubeflow before 1.4", _OFF_OPERATORS)


def _legacy(obj: Object, reason: str, what: str, todo: str, status: Status = Status.WARN) -> Trouble:
    ref = Ref.of(obj)
    return Trouble("A10", status, ref, reason, f"{ref} {what}.", todo)


def _labelled(facts: Facts) -> Iterator[Object]:
    for resource in _LABELLED:
        yield from judged(facts, resource)


def _workloads(facts: Facts) -> Iterator[Object]:
    for resource in _WORKLOADS:
        yield from judged(facts, resource)


def _containers(workload: Object) -> list[Object]:
    found: list[Object] = workload["spec"]["template"]["spec"]["containers"]
    return found


def _program(image: str) -> str:
    """Last step of the image's path, without tag and digest."""
    name = ImageName.parse(image)
    return name.path.rpartition("/")[2] if name else ""


def _ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


CHECKS = (no_legacy,)
