"""Short ways to write down objects of others. Their pods are bound to nodes without a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubeflow_volcano.cluster.metadata import SIMULATED_NODE
from kubeflow_volcano.cluster.objects import Object


def obj(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    """An object; 'ns/name' for namespaced ones. `labels` and `annotations` go into its metadata."""
    namespace_, _, name = name.rpartition("/")
    meta: Object = {"name": name} | ({"namespace": namespace_} if namespace_ else {})
    for key in ("labels", "annotations"):
        if value := rest.pop(key, None):
            meta[key] = dict(value)
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}


def namespace(name: str, **rest: Any) -> Object:
    """A namespace."""
    return obj("v1", "Namespace", name, **rest)


def profile(name: str, owner: str, **labels: str) -> Object:
    """The namespace that the profile controller makes for a person."""
    marks = {"app.kubernetes.io/part-of": "kubeflow-profile", "istio-injection": "enabled", **labels}
    return namespace(name, labels=marks, annotations={"owner": owner})


def helm(release: str, where: str) -> Mapping[str, Mapping[str, str]]:
    """Labels and annotations of what Helm installs."""
    return {
        "labels": {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": release},
        "annotations": {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": where},
    }


def node(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Object] = (),
    cordoned: bool = False,
    lost: bool = False,
    **extended: str,
) -> Object:
    """A node without a machine; a lost one has no kubelet at all."""
    resources = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "100Gi"}
    resources |= {key.replace("__", "/").replace("_", "."): value for key, value in extended.items()}
    marks = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    spec: Object = {"taints": [*taints]} if taints else {}
    if cordoned:
        spec["unschedulable"] = True
    status: Object = {"capacity": resources, "allocatable": resources}
    if lost:
        text = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
        unknown = [{"type": kind, "status": "Unknown", **text} for kind in ("MemoryPressure", "DiskPressure", "Ready")]
        status["conditions"] = unknown
    return obj(
        "v1",
        "Node",
        name,
        labels=marks | dict(labels or {}),
        annotations={} if lost else {SIMULATED_NODE: "fake"},
        spec=spec,
        status=status,
    )


def container(name: str, image: str, **rest: Any) -> Object:
    """A container."""
    return {"name": name, "image": image, **rest}


def _template(labels: Mapping[str, str], on: str, containers: Iterable[Object], **spec: Any) -> Object:
    bound = {"nodeName": on} if on else {}
    return {"metadata": {"labels": dict(labels)}, "spec": {"containers": [*containers], **bound, **spec}}


def deployment(name: str, *containers: Object, on: str, replicas: int = 1, **spec: Any) -> Object:
    """A Deployment whose pods are bound to that node; `spec` goes into its pods, `labels` and `annotations` to it."""
    of_pods = dict(spec.pop("pod_labels", {})) or {"app": name.rpartition("/")[2]}
    meta = {key: spec.pop(key) for key in ("labels", "annotations") if key in spec}
    template = _template(of_pods, on, containers, **spec)
    wanted = {"replicas": replicas, "selector": {"matchLabels": of_pods}, "template": template}
    return obj("apps/v1", "Deployment", name, spec=wanted, **meta)


def daemon_set(name: str, *containers: Object, where: Mapping[str, str], **spec: Any) -> Object:
    """A DaemonSet for the nodes with these labels; it tolerates everything."""
    of_pods = {"k8s-app": name.rpartition("/")[2]}
    meta = {key: spec.pop(key) for key in ("labels", "annotations") if key in spec}
    more = {"nodeSelector": dict(where), "tolerations": [{"operator": "Exists"}], **spec}
    template = _template(of_pods, "", containers, **more)
    return obj("apps/v1", "DaemonSet", name, spec={"selector": {"matchLabels": of_pods}, "template": template}, **meta)


def pod(name: str, *containers: Object, on: str = "", **rest: Any) -> Object:
    """A pod of no controller."""
    meta = {key: rest.pop(key) for key in ("labels", "annotations") if key in rest}
    bound = {"nodeName": on} if on else {}
    return obj("v1", "Pod", name, spec={"containers": [*containers], **bound, **rest}, **meta)


def service(name: str, selector: Mapping[str, str], *ports: int, **meta: Any) -> Object:
    """A Service whose ports are those of its pods."""
    numbers = [{"name": f"p{port}", "port": port, "targetPort": port} for port in ports]
    return obj("v1", "Service", name, spec={"selector": dict(selector), "ports": numbers}, **meta)


def storage_class(name: str, provisioner: str, *, default: bool = False, late: bool = True, **rest: Any) -> Object:
    """A StorageClass."""
    mark = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    mode = "WaitForFirstConsumer" if late else "Immediate"
    rest = {"annotations": {**mark, **rest.pop("annotations", {})}, **rest}
    return obj("storage.k8s.io/v1", "StorageClass", name, provisioner=provisioner, volumeBindingMode=mode, **rest)


def hook(
    kind: str,
    name: str,
    *,
    calls: str = "",
    url: str = "",
    rules: Iterable[Object] = (),
    policy: str = "Ignore",
    **rest: Any,
) -> Object:
    """A webhook configuration with one webhook, which calls 'namespace/service:port' or a URL."""
    where, _, port = calls.partition(":")
    namespace_, _, called = where.rpartition("/")
    reference = {"namespace": namespace_, "name": called, "port": int(port or 443), "path": "/"}
    client: Object = {"url": url} if url else {"service": reference}
    meta = {key: rest.pop(key) for key in ("labels", "annotations") if key in rest}
    entry = {
        "name": f"{name}.example.org",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": policy,
        "clientConfig": client,
        "rules": [*rules],
        **rest,
    }
    return obj("admissionregistration.k8s.io/v1", f"{kind}WebhookConfiguration", name, webhooks=[entry], **meta)
