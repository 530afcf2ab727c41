"""Family A, legacy: leftovers of unmaintained tools, and how to migrate from them.

Sources: those of the catalog, and kubeflow/manifests v1.3-branch (one operator for each framework, before
kubeflow/manifests#1976 replaced them by the training operator).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.legacy import KFCTL, KSONNET, KUBE_BATCH, KUBE_BATCH_GROUPS, marks, runs
from kubeflow_volcano.catalog.operator import DEPLOYMENT as OPERATOR
from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts, Read
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status
from kubeflow_volcano.validators.core.resources import (
    CRDS,
    DEPLOYMENTS,
    KFDEFS,
    NAMESPACES,
    PODS,
    SERVICES,
    STATEFUL_SETS,
)
from kubeflow_volcano.validators.subjects.issues import Issue, judged, verdict

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

_SINGLE_OPERATORS = (
    "mpi-operator",
    "mxnet-operator",
    "pytorch-operator",
    "tf-job-operator",
    "xgboost-operator-deployment",
)

_OFF_KUBE_BATCH = (
    "move its workloads to Volcano: schedulerName volcano in pods, PodGroups of scheduling.volcano.sh, the operator's "
    "gang argument (G1). When nothing refers to kube-batch any more, playbooks/uninstall.yml with uninstall_legacy: "
    "[kube-batch] creates its PodGroups and queues as Volcano's and removes its Deployment, then its CRDs."
)
_OFF_KFDEF = (
    "while its operator runs, deleting a KfDef deletes its Kubeflow (by its finalizer). Stop that operator first, "
    "install a current release over it (playbooks/plan.yml shows the changes), and remove the rest last: "
    "playbooks/uninstall.yml with uninstall_legacy: [kfctl]."
)
_OFF_KSONNET = (
    "no tool updates these objects. Install the component of a release over them, and remove what no release has any "
    "more: playbooks/uninstall.yml with uninstall_legacy: [ksonnet]."
)
_OFF_OPERATORS = "delete the Deployment: the training operator replaces it. Running jobs keep their pods."


@check("A10", "no-legacy", severity=Severity.MINOR, reads=_READS)
def no_legacy(facts: Facts) -> Outcome:
    """No leftovers of kube-batch, kfctl, ksonnet or single-framework operators exist.

    None of them is maintained, and Kubernetes 1.22 removed their APIs. The finding says how to migrate from each. A
    single-framework operator beside the training operator fails, because both reconcile the same jobs.
    """
    issues = [
        *_kube_batch(facts),
        *_kfdef(facts),
        *_marked(facts, KSONNET, "Ksonnet", _OFF_KSONNET),
        *_operators(facts),
    ]
    looked_at = [Ref.of(item) for resource in _LABELLED for item in judged(facts, resource)]
    return verdict(
        sorted(issues, key=lambda item: (item.status is not Status.FAIL, item.reason, item.ref)),
        looked_at,
        claim=f"{counted(len(looked_at), 'object')} without leftovers of kube-batch, kfctl or ksonnet.",
        expected="no CRD, workload, label or annotation of kube-batch, kfctl or ksonnet; one training operator",
    )


def _kube_batch(facts: Facts) -> Iterator[Issue]:
    for crd in judged(facts, CRDS):
        if crd["spec"]["group"] in KUBE_BATCH_GROUPS:
            yield _legacy(
                crd, "KubeBatch", "defines a kind of kube-batch, which Volcano does not read", _OFF_KUBE_BATCH
            )
    for workload in _workloads(facts):
        if runs(KUBE_BATCH, workload):
            yield _legacy(workload, "KubeBatch", "runs kube-batch", _OFF_KUBE_BATCH)
    for pod in judged(facts, PODS):
        if pod["spec"].get("schedulerName") == KUBE_BATCH and not has_ended(pod):
            yield _legacy(pod, "KubeBatch", "has schedulerName kube-batch", _OFF_KUBE_BATCH)


def _kfdef(facts: Facts) -> Iterator[Issue]:
    for item in judged(facts, KFDEFS):
        yield _legacy(item, "KfDef", "describes an installation by kfctl", _OFF_KFDEF)
    crd = facts.get(CRDS, "", KFDEFS)
    if crd:
        yield _legacy(crd, "KfDef", "defines the kind that kfctl's operator reconciles", _OFF_KFDEF)
    yield from _marked(facts, KFCTL, "KfDef", _OFF_KFDEF)


def _marked(facts: Facts, tool: str, reason: str, todo: str) -> Iterator[Issue]:
    for resource in _LABELLED:
        for item in judged(facts, resource):
            if marked := marks(tool, item["metadata"]):
                yield _legacy(item, reason, f"has {', '.join(marked)}", todo)


def _operators(facts: Facts) -> Iterator[Issue]:
    beside = facts.get(DEPLOYMENTS, OPERATOR.namespace, OPERATOR.name) is not None
    for name in _SINGLE_OPERATORS:
        live = facts.get(DEPLOYMENTS, OPERATOR.namespace, name)
        if live and beside and live["spec"].get("replicas", 1):
            yield _legacy(live, "TwoOperators", f"reconciles the same jobs as {OPERATOR}", _OFF_OPERATORS, Status.FAIL)
        elif live:
            yield _legacy(live, "SingleOperator", "is an operator from Kubeflow before 1.4", _OFF_OPERATORS)


def _legacy(obj: Object, reason: str, what: str, todo: str, status: Status = Status.WARN) -> Issue:
    ref = Ref.of(obj)
    return Issue("A10", status, ref, reason, f"{ref} {what}.", todo)


def _workloads(facts: Facts) -> Iterator[Object]:
    for resource in _WORKLOADS:
        yield from judged(facts, resource)
