"""Family E, sidecars: do training jobs come to their end in spite of Istio."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, skipped
from kubeflow_volcano.validators.core.resources import NAMESPACES, PODS
from kubeflow_volcano.validators.subjects.issues import Issue, judged, verdict

_PROXY = "istio-proxy"
_INJECT = "sidecar.istio.io/inject"
_JOB_LABELS = ("jobset.sigs.k8s.io/jobset-name", "katib.kubeflow.org/trial", "volcano.sh/job-name")
_JOB_GROUPS = ("kubeflow.org", "trainer.kubeflow.org")


@check(
    "E6",
    "no-sidecar",
    severity=Severity.MAJOR,
    reads=(PODS, NAMESPACES),
)
def no_sidecar(facts: Facts) -> Outcome:
    """No pod of a training job has Istio's proxy as a regular container.

    The proxy never exits, so the job never ends (kubeflow/katib#955, kubeflow/trainer#2794), and workers that connect
    to each other before it is ready fail. Set the label and the annotation sidecar.istio.io/inject: "false" in the pod
    template of the job; otherwise the namespaces of profiles inject the proxy. As an init container with restartPolicy
    Always (Istio 1.27 on Kubernetes 1.29 and later) it does no harm. Pods of probes always opt out.
    """
    pods = [item for item in judged(facts, PODS) if _is_training(item) and not has_ended(item)]
    if not pods:
        return skipped("NoTrainingPod", "no pod of a training job is there just now.")
    injected = {
        item["metadata"]["name"] for item in facts.all(NAMESPACES) if _injects(item["metadata"].get("labels") or {})
    }
    issues = [issue for item in pods if (issue := _sidecar(item, injected))]
    return verdict(
        sorted(issues, key=lambda item: item.status is not Status.FAIL),
        [Ref.of(item) for item in pods],
        claim=f"{counted(len(pods), 'pod')} of training jobs without {_PROXY}.",
        expected=f'{_INJECT}: "false" in the pod template, and no container {_PROXY}',
    )


def _is_training(pod: Object) -> bool:
    meta = pod["metadata"]
    owners = meta.get("ownerReferences") or ()
    made = any(item["apiVersion"].partition("/")[0] in _JOB_GROUPS and item.get("controller") for item in owners)
    return made or any(label in (meta.get("labels") or {}) for label in _JOB_LABELS)


def _injects(labels: dict[str, str]) -> bool:
    return labels.get("istio-injection") == "enabled" or "istio.io/rev" in labels


def _sidecar(pod: Object, injected: set[str]) -> Issue | None:
    ref, meta = Ref.of(pod), pod["metadata"]
    todo = f'put the label and the annotation {_INJECT}: "false" into the pod template, and start the job again.'
    if any(item["name"] == _PROXY for item in pod["spec"]["containers"]):
        text = f"{ref} has the container {_PROXY}, which never ends."
        return Issue("E6", Status.FAIL, ref, "Sidecar", text, todo)
    says = (meta.get("labels") or {}).get(_INJECT) or (meta.get("annotations") or {}).get(_INJECT)
    if ref.namespace in injected and says != "false" and not _native(pod):
        text = f"{ref} has no {_PROXY} yet, but does not opt out, and namespace {ref.namespace} injects."
        return Issue("E6", Status.WARN, ref, "NotOptedOut", text, todo)
    return None


def _native(pod: Object) -> bool:
    return any(item["name"] == _PROXY for item in pod["spec"].get("initContainers") or ())
