"""Breakages that are planted into each recorded cluster, each with the check that must fail as their cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import yaml

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.machinery.webhook_answers import WEBHOOK_ANSWERS
from kubeflow_volcano.validators.checks.network.access import FOREIGN_ACCESS
from kubeflow_volcano.validators.checks.network.sign_in import SIGN_IN
from kubeflow_volcano.validators.checks.operator.common import OPERATOR_ACCESS, OPERATOR_ADMISSION, OPERATOR_LOG
from kubeflow_volcano.validators.checks.reach.api_server import READY_ANSWERS
from kubeflow_volcano.validators.checks.reach.clock import CLOCKS, Clocks
from kubeflow_volcano.validators.core.resources import (
    APISERVICES,
    CERTIFICATES,
    CLAIMS,
    CONFIGMAPS,
    CRDS,
    DAEMON_SETS,
    DEPLOYMENTS,
    GATEWAYS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    PROFILES,
    QUEUES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUMES,
)
from kubeflow_volcano.validators.subjects import webhooks
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING
from kubeflow_volcano.validators.subjects.pods import WINDOW, Window
from kubeflow_volcano.validators.subjects.storage_classes import default_classes, serving_workloads
from tests.recorded.planting import Absent, Planting, condition, crashing, terminating, unpullable, unready
from tests.samples.certificates import named, pem, signer

Plant = Callable[[Planting], object]
OPERATOR = TRAINING.ref
DNS = Ref("v1", "Service", "kube-system", "kube-dns")
PODGROUPS = "podgroups.scheduling.volcano.sh"
LONG_AGO = 3600.0


def _first(p: Planting, resource: str, which: Callable[[Object], bool]) -> Object:
    for item in p.facts.objects[resource]:
        if which(item):
            return item
    raise Absent(resource)


def _path(item: Object) -> str:
    namespace = item["metadata"].get("namespace")
    return f"{namespace}/{item['metadata']['name']}" if namespace else str(item["metadata"]["name"])


def _volcano(p: Planting, role: str) -> Ref:
    """The Deployment of Volcano with that part of its name, wherever it is."""
    for ref, component in p.facts.expectations.workloads.items():
        if component == "volcano" and ref.kind == "Deployment" and ref.name.endswith(role):
            return ref
    raise Absent(role)


def _called(p: Planting) -> Ref:
    """A Service that a webhook of the release calls."""
    for item in webhooks.configurations(p.facts):
        for entry in item.get("webhooks") or ():
            if ref := webhooks.service_of(entry):
                return ref
    raise Absent("webhook")


def service_deleted(p: Planting) -> None:
    p.without_service(_called(p))


def bundle(text: str) -> Plant:
    def plant(p: Planting) -> None:
        owner = Ref.of(webhooks.configurations(p.facts)[0])

        def change(item: Object) -> None:
            for entry in item["webhooks"]:
                entry["clientConfig"]["caBundle"] = text

        p.change(webhooks.RESOURCES[owner.kind], owner.name, change)

    return plant


def wrong_certificate(p: Planting) -> None:
    known = p.facts.known(webhooks.SERVING_CERTIFICATES)
    if not known:
        raise Absent("certificate")
    ref = min(known)
    host = f"{ref.name}.{ref.namespace}.svc"
    unknown = signer(host, named(host), now=datetime.fromtimestamp(p.facts.taken, UTC), days=365)
    p.know(webhooks.SERVING_CERTIFICATES, {**known, ref: (pem(unknown.certificate),)})


def webhook_silent(p: Planting) -> None:
    answers = p.facts.read(WEBHOOK_ANSWERS) or ()
    asked = next((item for item in answers if not item.unasked), None)
    if asked is None:
        raise Absent("webhook that was asked")
    text = f'failed calling webhook "{asked.name}": context deadline exceeded'
    p.know(WEBHOOK_ANSWERS, tuple(replace(item, silence=text) if item is asked else item for item in answers))


def crd_condition(p: Planting) -> None:
    p.change(CRDS, PODGROUPS, lambda item: condition(item, "Established", "False", p.ago(LONG_AGO)))


def service_less_api(p: Planting) -> None:
    service = {"namespace": "kube-system", "name": "gone"}
    spec = {"group": "planted.example.org", "version": "v1", "service": service}
    item = {"metadata": {"name": "v1.planted.example.org", "creationTimestamp": p.ago(LONG_AGO)}, "spec": spec}
    condition(item, "Available", "False", p.ago(LONG_AGO), reason="ServiceNotFound", message="no such service")
    p.add(APISERVICES, item)


def daemon_set_down(p: Planting) -> None:
    item = _first(p, DAEMON_SETS, lambda found: found["metadata"]["namespace"] == "kube-system")
    p.change(DAEMON_SETS, _path(item), lambda found: found["status"].update(numberReady=0, numberAvailable=0))


def stateful_set_down(p: Planting) -> None:
    template = {"metadata": {"labels": {"app": "planted"}}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
    meta = {"namespace": "kubeflow", "name": "planted", "uid": "planted", "creationTimestamp": p.ago(LONG_AGO)}
    p.add(STATEFUL_SETS, {"metadata": meta, "spec": {"replicas": 1, "template": template}, "status": {"replicas": 1}})


def job_failed(p: Planting) -> None:
    item = _first(p, JOBS, lambda found: Ref.of(found) in p.facts.expectations.workloads)

    def change(job: Object) -> None:
        job["status"] = {"failed": 7}
        condition(job, "Failed", "True", p.ago(LONG_AGO), reason="BackoffLimitExceeded", message="failed 7 times")

    p.change(JOBS, _path(item), change)


def unplaced(p: Planting) -> None:
    def pending(pod: Object) -> None:
        del pod["spec"]["nodeName"]
        pod["status"] = {"phase": "Pending"}
        text = "0/9 nodes are available: 9 node(s) didn't match Pod's node affinity/selector."
        condition(pod, "PodScheduled", "False", p.ago(LONG_AGO), reason="Unschedulable", message=text)

    p.ill_pods(OPERATOR, pending)


def out_of_memory(p: Planting) -> None:
    def killed(pod: Object) -> None:
        unready(p.ago(60))(pod)
        for item in pod["status"]["containerStatuses"]:
            ended = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": p.ago(60)}
            item |= {"restartCount": 5, "lastState": {"terminated": ended}}

    p.ill_pods(OPERATOR, killed)
    pods = {Ref.of(item): 2 for item in p.pods_of(OPERATOR)}
    p.know(WINDOW, Window(10.0, {}, pods))


def not_established_before_operator(p: Planting) -> None:
    since = p.ago(30)
    p.change(CRDS, PODGROUPS, lambda item: condition(item, "Established", "True", since))
    p.know(OPERATOR_LOG, {TRAINING.component: f"E1125 failed to list PodGroup: {TRAINING.late}"})


def without_flag(p: Planting) -> None:
    def change(item: Object) -> None:
        container = container_of(item)
        for key in ("args", "command"):
            if key in container:
                container[key] = [word for word in container[key] if "gang-schedul" not in word]

    p.change(DEPLOYMENTS, _path_of(OPERATOR), change)


def _path_of(ref: Ref) -> str:
    return f"{ref.namespace}/{ref.name}"


def denied(p: Planting) -> None:
    known = p.facts.read(OPERATOR_ACCESS).get(TRAINING.component)
    if not known:
        raise Absent("operator")
    p.know(OPERATOR_ACCESS, {TRAINING.component: dict.fromkeys(known, False)})


def job_refused(p: Planting) -> None:
    known = p.facts.read(OPERATOR_ADMISSION)
    if not known:
        raise Absent("operator")
    text = 'failed calling webhook "validator.tfjob.training-operator.kubeflow.org": connection refused'
    p.know(OPERATOR_ADMISSION, dict.fromkeys([*known], text))


def queue(state: str) -> Plant:
    return lambda p: p.change(QUEUES, "default", lambda item: item.update(status={"state": state}))


def configured(change: Callable[[Object], object]) -> Plant:
    """The configuration of the scheduler, as it was parsed, changed."""

    def plant(p: Planting) -> None:
        where = _volcano(p, "-scheduler")

        def rewrite(item: Object) -> None:
            for key, text in item["data"].items():
                parsed = yaml.safe_load(text)
                change(parsed)
                item["data"][key] = yaml.safe_dump(parsed)

        name = f"{where.name}-configmap"
        p.change(CONFIGMAPS, f"{where.namespace}/{name}", rewrite)

    return plant


def without_plugin(name: str) -> Callable[[Object], None]:
    def change(parsed: Object) -> None:
        for tier in parsed["tiers"]:
            tier["plugins"] = [item for item in tier["plugins"] if item["name"] != name]

    return change


def no_default(p: Planting) -> None:
    p.change_all(STORAGE_CLASSES, lambda item: item["metadata"].pop("annotations", None))


def provisioner_down(p: Planting) -> None:
    found = default_classes(p.facts)
    provisioner = _first(p, STORAGE_CLASSES, lambda item: item["metadata"]["name"] == found[0])["provisioner"]
    serving = [ref for ref in serving_workloads(p.facts, provisioner) if ref.kind == "Deployment"]
    if not serving:
        raise Absent(provisioner)
    for ref in serving:
        p.scaled_to_zero(DEPLOYMENTS, ref)


def claim_lost(p: Planting) -> None:
    meta = {"namespace": "kubeflow", "name": "planted", "uid": "planted", "creationTimestamp": p.ago(LONG_AGO)}
    p.add(CLAIMS, {"metadata": meta, "spec": {"volumeName": "gone"}, "status": {"phase": "Lost"}})


def volume_failed(p: Planting) -> None:
    claim = {"namespace": "kubeflow", "name": "gone", "uid": "planted"}
    item = {"metadata": {"name": "planted", "creationTimestamp": p.ago(LONG_AGO)}, "spec": {"claimRef": claim}}
    p.add(VOLUMES, item | {"status": {"phase": "Failed", "message": "cannot be deleted"}})


def dns_pods(p: Planting) -> Ref:
    for item in p.facts.objects[DEPLOYMENTS]:
        labels = item["spec"]["template"]["metadata"].get("labels") or {}
        if item["metadata"]["namespace"] == DNS.namespace and labels.get("k8s-app") == "kube-dns":
            return Ref.of(item)
    raise Absent(str(DNS))


def tainted(p: Planting) -> None:
    taint = {"key": "example.org/theirs", "value": "yes", "effect": "NoSchedule"}
    p.change_all(NODES, lambda item: item["spec"].setdefault("taints", []).append(taint))


def nodes_lost(p: Planting) -> None:
    text = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
    p.change_all(NODES, lambda item: condition(item, "Ready", "Unknown", p.ago(LONG_AGO), **text))


def behind(p: Planting) -> None:
    known = p.facts.read(CLOCKS)
    nodes = known.nodes if known else {}
    if not nodes:
        raise Absent("clock")
    p.know(CLOCKS, Clocks((-0.5, 0.5), {**nodes, min(nodes): (-95.0, -94.0)}))


def profile_of_another(p: Planting) -> None:
    item = _first(p, PROFILES, lambda _: True)
    name = item["metadata"]["name"]
    p.change(NAMESPACES, name, lambda found: found["metadata"]["annotations"].update(owner="other@example.org"))


def stranger(p: Planting) -> None:
    known = p.facts.read(FOREIGN_ACCESS)
    if not known:
        raise Absent("profile")
    may = ("get secrets",)
    p.know(FOREIGN_ACCESS, {name: dict.fromkeys(users, may) for name, users in known.items()})


def published(p: Planting) -> None:
    known = p.facts.read(SIGN_IN)
    if known is None or not known.emails:
        raise Absent("user with a password")
    p.know(SIGN_IN, replace(known, published=known.emails))


def certificate_unready(p: Planting) -> None:
    if "cert-manager" not in p.facts.expectations.components:
        raise Absent("cert-manager")
    item = _first(p, CERTIFICATES, lambda _: True)
    p.change(CERTIFICATES, _path(item), lambda found: condition(found, "Ready", "False", p.ago(LONG_AGO)))


def _of_the_mesh(p: Planting) -> None:
    if "istio-crds" not in p.facts.expectations.components:
        raise Absent("Istio")


def gateway_relabelled(p: Planting) -> None:
    _of_the_mesh(p)

    def relabel(item: Object) -> None:
        meta = item["spec"]["template"]["metadata"] if "template" in item["spec"] else item["metadata"]
        if meta.get("labels", {}).get("app") == "istio-ingressgateway":
            meta["labels"]["app"] = "own-gateway"

    p.change_all(DEPLOYMENTS, relabel)
    p.change_all(PODS, relabel)


def second_gateway(p: Planting) -> None:
    _of_the_mesh(p)
    meta = {"name": "kubeflow-gateway", "namespace": "kubeflow", "creationTimestamp": p.ago(LONG_AGO)}
    p.add(GATEWAYS, {"metadata": meta, "spec": {"selector": {"istio": "ingressgateway"}}})
    edge = {"name": "edge", "namespace": "kubeflow", "uid": "planted", "creationTimestamp": p.ago(LONG_AGO)}
    pod = {"spec": {"containers": [{"name": "istio-proxy", "image": "auto"}]}, "status": {"phase": "Running"}}
    p.add(PODS, {"metadata": {**edge, "labels": {"istio": "ingressgateway"}}, **pod})


def injection_off(p: Planting) -> None:
    _of_the_mesh(p)
    p.change(NAMESPACES, "kubeflow", lambda item: item["metadata"]["labels"].update({"istio-injection": "disabled"}))


def without_sidecars(p: Planting) -> None:
    _of_the_mesh(p)

    def change(pod: Object) -> None:
        spec = pod["spec"]
        spec["containers"] = [item for item in spec["containers"] if item["name"] != "istio-proxy"]

    p.change_all(PODS, change, lambda item: item["metadata"]["namespace"] == "kubeflow")


BREAKAGES: Mapping[str, tuple[str, Plant]] = {
    "the API server is not ready": (
        "A1",
        lambda p: p.know(READY_ANSWERS, ("ok", "etcd failed: reason withheld", "ok")),
    ),
    "a node is a minute and a half behind": ("A3", behind),
    "every node has a stranger's taint": ("A4", tainted),
    "every node is lost": ("A4", nodes_lost),
    "every node is cordoned": (
        "A4",
        lambda p: p.change_all(NODES, lambda item: item["spec"].update(unschedulable=True)),
    ),
    "the operator's image is gone": ("A6", lambda p: p.ill_pods(OPERATOR, unpullable(p.ago(LONG_AGO)))),
    "a CRD is not established": ("B1", crd_condition),
    "a CRD is gone": ("B1", lambda p: p.lose(CRDS, lambda item: item["metadata"]["name"] == PODGROUPS)),
    "a CRD hangs in its deletion": ("B1", lambda p: p.change(CRDS, PODGROUPS, terminating(p.ago(LONG_AGO)))),
    "an API has no backend": ("B2", service_less_api),
    "a webhook has no caBundle": ("B3", bundle("")),
    "a caBundle is no certificate": ("B3", bundle("bm8gY2VydGlmaWNhdGU=")),
    "a webhook serves a certificate of another authority": ("B3", wrong_certificate),
    "a webhook is silent": ("B4", webhook_silent),
    "a webhook's Service is deleted": ("B6", service_deleted),
    "a Certificate is not issued": ("B7", certificate_unready),
    "the release's namespace is being deleted": (
        "B8",
        lambda p: p.change(NAMESPACES, "kubeflow", terminating(p.ago(LONG_AGO))),
    ),
    "the operator is not available": ("C2", lambda p: p.unavailable(OPERATOR)),
    "the operator is scaled to zero": ("C2", lambda p: p.scaled_to_zero(DEPLOYMENTS, OPERATOR)),
    "a StatefulSet of the release is not ready": ("C3", stateful_set_down),
    "a DaemonSet of the system has no ready pod": ("C4", daemon_set_down),
    "a Job of the release has failed": ("C5", job_failed),
    "the operator's pod is not ready": ("C6", lambda p: p.ill_pods(OPERATOR, unready(p.ago(LONG_AGO)))),
    "the operator's pod is killed for its memory": ("C7", out_of_memory),
    "Volcano's scheduler crashes": ("C7", lambda p: p.ill_pods(_volcano(p, "-scheduler"), crashing(p.ago(LONG_AGO)))),
    "the cluster's DNS crashes": ("C7", lambda p: p.ill_pods(dns_pods(p), crashing(p.ago(LONG_AGO)))),
    "the cluster's DNS has no endpoint": ("C9", lambda p: p.unbacked(DNS)),
    "the operator's pod fits no node": ("C8", unplaced),
    "no StorageClass is the default": ("D1", no_default),
    "the provisioner is scaled to zero": ("D2", provisioner_down),
    "a claim of the release has lost its volume": ("D3", claim_lost),
    "a volume of the release has failed": ("D4", volume_failed),
    "the published password is accepted": ("E4", published),
    "a profile's namespace belongs to another": ("E5", profile_of_another),
    "a stranger may read a profile's Secrets": ("E7", stranger),
    "the gateway lost the label of the sign-in": ("E10", gateway_relabelled),
    "a second gateway serves Kubeflow without the sign-in": ("E10", second_gateway),
    "a namespace of the mesh injects no sidecar": ("E11", injection_off),
    "pods of the release have no sidecar": ("E11", without_sidecars),
    "Volcano's scheduler is scaled to zero": (
        "F1",
        lambda p: p.scaled_to_zero(DEPLOYMENTS, _volcano(p, "-scheduler")),
    ),
    "Volcano's controllers are gone": (
        "F1",
        lambda p: p.lose(DEPLOYMENTS, lambda item: Ref.of(item) == _volcano(p, "-controllers")),
    ),
    "the default queue is closed": ("F3", queue("Closed")),
    "the default queue is gone": ("F3", lambda p: p.lose(QUEUES, lambda _: True)),
    "the gang plugin is missing": ("F4", configured(without_plugin("gang"))),
    "the scheduler does not allocate": ("F4", configured(lambda parsed: parsed.update(actions="enqueue, backfill"))),
    "the operator lacks its gang flag": ("G1", without_flag),
    "the operator may not make PodGroups": ("G2", denied),
    "the operator started before Volcano": ("G3", not_established_before_operator),
    "the operator's webhook refuses connections": ("G4", job_refused),
}
"""Name to the check that must fail, not as a consequence, and to what plants it."""
