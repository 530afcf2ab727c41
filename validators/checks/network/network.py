"""Family E: does a pod find and reach what it needs, does the front door open, and do jobs come to their end."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted
from validators.checks.gang.gang import NEEDS_PROBE
from validators.checks.network.dns import dns_verdict
from validators.checks.network.gateway import gateway_verdict
from validators.checks.network.routes import network_verdict
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, Status, skipped
from validators.core.rights import Rule
from validators.subjects import dns_names
from validators.subjects.troubles import Trouble, judged, verdict

__all__ = ["CHECKS"]

_NEEDS_POD = (*NEEDS_PROBE, *(Rule(verb, "", "events") for verb in ("list", "watch")))
_PROXY = "istio-proxy"
_INJECT = "sidecar.istio.io/inject"
_JOB_LABELS = ("jobset.sigs.k8s.io/jobset-name", "katib.kubeflow.org/trial", "volcano.sh/job-name")
_JOB_GROUPS = ("kubeflow.org", "trainer.kubeflow.org")


@check("E1", "dns", severity=Severity.BLOCKER, needs=(*dns_names.READS, *_NEEDS_POD), probe="dns")
def dns(facts: Facts) -> Outcome:
    """A pod finds kubernetes.default and every Service of the release by name, in less than a second.

    Nothing works without names. Look at the pods and the log of CoreDNS, at the Service behind the address in the
    finding, and at firewalls for port 53 (UDP and TCP) between nodes. Names that are slow now and then are lost
    packets; names that are all slow, a name service without enough CPU.
    """
    return dns_verdict(facts.probe("dns"), facts)


@check(
    "E2",
    "pod-to-service",
    severity=Severity.MAJOR,
    needs=(
        *_NEEDS_POD,
        Rule("list", "", "nodes"),
        *(Rule(verb, "", "services") for verb in ("create", "delete", "list", "watch")),
    ),
    probe="network",
    opt_in="network_per_node",
)
def pod_to_service(facts: Facts) -> Outcome:
    """Pods of every node reach a pod of another node, by its own address and through a Service.

    Where the address itself is not reached, the way between the two nodes is shut: the network plugin, or a firewall
    (VXLAN needs UDP 4789 or 8472; firewalld wants the pods' network as a trusted source). Where only the Service is
    not reached, kube-proxy or what takes its place does not work on the node of the client.
    """
    return network_verdict(facts.probe("network"))


@check(
    "E3",
    "gateway",
    severity=Severity.MAJOR,
    needs=(
        *_NEEDS_POD,
        Rule("list", "", "services"),
        Rule("list", "", "nodes"),
        Rule("get", "networking.istio.io", "gateways", "kubeflow"),
    ),
    probe="gateway",
    component="istio",
)
def gateway(facts: Facts) -> Outcome:
    """The gateway sends a stranger to the sign-in, or shows the page.

    A pod asks for `/`. 404 means that no VirtualService is bound to kubeflow-gateway; a 5xx that what stands behind is
    down (the dashboard, oauth2-proxy or authservice, Dex); no answer, that the gateway itself is. The redirect is
    followed, so that a sign-in that does not answer is found as well.
    """
    return gateway_verdict(facts.probe("gateway"), facts)


@check(
    "E6",
    "no-sidecar",
    severity=Severity.MAJOR,
    needs=(Rule("list", "", "pods"), Rule("list", "", "namespaces")),
)
def no_sidecar(facts: Facts) -> Outcome:
    """No pod of a training job has Istio's proxy as a container beside its own.

    The proxy never ends, so that the job never does (kubeflow/katib#955, kubeflow/trainer#2794), and workers that
    speak to each other before it is ready fail. Put the label and the annotation sidecar.istio.io/inject: "false" into
    the pod template of the job; the namespaces of profiles inject without it. A proxy that is an init container with
    restartPolicy Always (Istio 1.27 on Kubernetes 1.29 and later) holds nobody up. Pods of probes always opt out.
    """
    pods = [item for item in judged(facts, "pods") if _is_training(item) and not _ended(item)]
    if not pods:
        return skipped("NoTrainingPod", "no pod of a training job is there just now.")
    injected = {
        item["metadata"]["name"] for item in facts.all("namespaces") if _injects(item["metadata"].get("labels") or {})
    }
    found = [trouble for item in pods if (trouble := _sidecar(item, injected))]
    return verdict(
        sorted(found, key=lambda item: item.status is not Status.FAIL),
        [Ref.of(item) for item in pods],
        claim=f"{counted(len(pods), 'pod')} of training jobs without {_PROXY}.",
        expected=f'{_INJECT}: "false" in the pod template, and no container {_PROXY}',
    )


def _is_training(pod: Object) -> bool:
    meta = pod["metadata"]
    owners = meta.get("ownerReferences") or ()
    made = any(item["apiVersion"].partition("/")[0] in _JOB_GROUPS and item.get("controller") for item in owners)
    return made or any(label in (meta.get("labels") or {}) for label in _JOB_LABELS)


def _ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def _injects(labels: dict[str, str]) -> bool:
    return labels.get("istio-injection") == "enabled" or "istio.io/rev" in labels


def _sidecar(pod: Object, injected: set[str]) -> Trouble | None:
    ref, meta = Ref.of(pod), pod["metadata"]
    todo = f'put the label and the annotation {_INJECT}: "false" into the pod template, and start the job again.'
    if any(item["name"] == _PROXY for item in pod["spec"]["containers"]):
        text = f"{ref} has the container {_PROXY}, which never ends."
        return Trouble("E6", Status.FAIL, ref, "Sidecar", text, todo)
    says = (meta.get("labels") or {}).get(_INJECT) or (meta.get("annotations") or {}).get(_INJECT)
    if ref.namespace in injected and says != "false" and not _native(pod):
        text = f"{ref} has no {_PROXY} yet, but does not opt out, and namespace {ref.namespace} injects."
        return Trouble("E6", Status.WARN, ref, "NotOptedOut", text, todo)
    return None


def _native(pod: Object) -> bool:
    return any(item["name"] == _PROXY for item in pod["spec"].get("initContainers") or ())


CHECKS = (dns, pod_to_service, gateway, no_sidecar)
