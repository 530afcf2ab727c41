"""Clusters with a mesh of others."""

from __future__ import annotations

from kubeflow_volcano.catalog.images.probes import BUSYBOX
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.recorded.foreign.making import Making, Recipe
from tests.recorded.foreign.objects import (
    container,
    deployment,
    helm,
    hook,
    namespace,
    node,
    obj,
    pod,
    profile,
    service,
)
from tests.recorded.foreign.people import crd

_ON = "mesh-1"
_PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods", "services"]}
_OURS = (
    Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler"),
    Ref("apps/v1", "Deployment", "volcano-system", "volcano-controllers"),
    Ref("apps/v1", "Deployment", "kubeflow", "training-operator"),
)


def _inject(make: Making, ref: Ref, proxy: Object) -> None:
    """As `linkerd inject` writes it: the proxy is the first of the containers, which wait for it."""
    live = make.cluster.get(ref) or {}
    spec = live["spec"]["template"]["spec"]
    make.change(ref, {"spec": {"template": {"spec": {"containers": [proxy, *spec["containers"]]}}}})


def _sleeps(name: str) -> Object:
    return container(name, BUSYBOX, command=["sh", "-c", "sleep 1000000"], resources={"requests": {"cpu": "1m"}})


def linkerd(make: Making) -> None:
    """Linkerd's control plane, its webhooks, and its proxy in every pod, first of the containers."""
    proxy = container("linkerd-proxy", "cr.l5d.io/linkerd/proxy:edge-25.1.1")
    # Until all is up it is cordoned, so that pods which really run stay on the real node.
    make.apply(
        node(_ON, labels={"pool": "mesh"}, cordoned=True),
        namespace("linkerd", labels={"linkerd.io/is-control-plane": "true"}),
    )
    make.apply(crd("serviceprofiles", "ServiceProfile", "linkerd.io", "v1alpha2", "v1alpha1"))
    for name, others in (("destination", ("sp-validator", "policy")), ("identity", ()), ("proxy-injector", ())):
        labels = {"linkerd.io/control-plane-component": name}
        containers = [proxy, *(container(item, "cr.l5d.io/linkerd/controller:edge-25.1.1") for item in (name, *others))]
        make.apply(deployment(f"linkerd/linkerd-{name}", *containers, on=_ON, pod_labels=labels))
    for name, component, port in (
        ("linkerd-dst", "destination", 8086),
        ("linkerd-identity", "identity", 8080),
        ("linkerd-proxy-injector", "proxy-injector", 443),
        ("linkerd-sp-validator", "destination", 443),
    ):
        make.apply(service(f"linkerd/{name}", {"linkerd.io/control-plane-component": component}, port))
    make.ready()
    outside = {
        "matchExpressions": [
            {"key": "config.linkerd.io/admission-webhooks", "operator": "NotIn", "values": ["disabled"]}
        ]
    }
    profiles = {
        "apiGroups": ["linkerd.io"],
        "apiVersions": ["v1alpha2"],
        "operations": ["CREATE"],
        "resources": ["serviceprofiles"],
    }
    make.apply(
        hook(
            "Mutating",
            "linkerd-proxy-injector-webhook-config",
            calls="linkerd/linkerd-proxy-injector",
            rules=[_PODS],
            namespaceSelector=outside,
        ),
        hook(
            "Validating",
            "linkerd-sp-validator-webhook-config",
            calls="linkerd/linkerd-sp-validator",
            rules=[profiles],
            policy="Fail",
        ),
        namespace("emojivoto", annotations={"linkerd.io/inject": "enabled"}),
        deployment("emojivoto/web", proxy, container("web", "docker.l5d.io/buoyantio/emojivoto-web:v11"), on=_ON),
        service("emojivoto/web", {"app": "web"}, 8080),
    )
    for ref in _OURS:
        _inject(make, ref, _sleeps("linkerd-proxy"))
    make.until(lambda: all(_rolled_out(make.cluster.get(ref) or {}) for ref in _OURS))
    make.until(lambda: _answered(make))
    make.cluster.patch(Ref("v1", "Node", "", _ON), {"spec": {"unschedulable": None, "taints": None}})
    make.ready()


def _answered(make: Making) -> bool:
    """Whether the operator's webhook answers again, as its certificate is made at its start."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": BUSYBOX}]}}
    replicas = {"Worker": {"replicas": 1, "restartPolicy": "Never", "template": template}}
    job = obj("kubeflow.org/v1", "PyTorchJob", "default/asks", spec={"pytorchReplicaSpecs": replicas})
    try:
        make.cluster.create(job, dry_run=True)
    except ApiError:
        return False
    return True


def _rolled_out(live: Object) -> bool:
    status = live["status"]
    wanted = live["spec"]["replicas"]
    seen = status.get("observedGeneration") == live["metadata"]["generation"]
    counts = {status.get(f"{word}Replicas" if word else "replicas") for word in ("", "updated", "available")}
    return bool(seen and counts == {wanted})


def istio(make: Making) -> None:
    """An Istio of the platform team: by Helm, with a revision, native sidecars, strict and in every namespace."""
    meta = helm("istiod-1-24", "istio-system")
    labels = {"app": "istiod", "istio.io/rev": "1-24"}
    make.apply(
        node(_ON, labels={"pool": "mesh"}),
        namespace("istio-system"),
        namespace("istio-ingress", labels={"istio.io/rev": "1-24"}),
        crd("virtualservices", "VirtualService", "networking.istio.io", "v1", "v1beta1", "v1alpha3"),
        crd("gateways", "Gateway", "networking.istio.io", "v1", "v1beta1", "v1alpha3"),
        crd("peerauthentications", "PeerAuthentication", "security.istio.io", "v1", "v1beta1"),
        deployment(
            "istio-system/istiod-1-24",
            container("discovery", "istio/pilot:1.24.2"),
            on=_ON,
            replicas=2,
            pod_labels=labels,
            **meta,
        ),
        service("istio-system/istiod-1-24", labels, 15012, 443, **meta),
        deployment("istio-ingress/gateway", container("istio-proxy", "auto"), on=_ON, pod_labels={"istio": "ingress"}),
        service("istio-ingress/gateway", {"istio": "ingress"}, 80, 443),
    )
    make.ready()
    selected = {"matchLabels": {"istio.io/rev": "1-24"}}
    make.apply(
        hook(
            "Mutating",
            "istio-sidecar-injector-1-24",
            calls="istio-system/istiod-1-24",
            rules=[_PODS],
            namespaceSelector=selected,
            policy="Fail",
            labels=meta["labels"],
            annotations=meta["annotations"],
        ),
        hook(
            "Validating",
            "istio-validator-1-24-istio-system",
            calls="istio-system/istiod-1-24",
            policy="Fail",
            rules=[
                {
                    "apiGroups": ["networking.istio.io"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE"],
                    "resources": ["*"],
                }
            ],
        ),
        profile("ada", "ada@example.org", **{"istio.io/rev": "1-24"}),
        namespace("shop", labels={"istio.io/rev": "1-24"}),
    )
    native = {**container("istio-proxy", "istio/proxyv2:1.24.2"), "restartPolicy": "Always"}
    make.apply(
        deployment(
            "shop/cart", container("cart", "example/cart:7"), container("istio-proxy", "istio/proxyv2:1.24.2"), on=_ON
        ),
        service("shop/cart", {"app": "cart"}, 8080),
        pod(
            "ada/mnist-worker-0",
            container("pytorch", "example/mnist:1"),
            on=_ON,
            initContainers=[native],
            labels={
                "training.kubeflow.org/job-name": "mnist",
                "volcano.sh/job-name": "mnist",
                "sidecar.istio.io/inject": "true",
            },
        ),
    )
    make.until(
        lambda: (
            (make.cluster.get(Ref("v1", "Pod", "ada", "mnist-worker-0")) or {}).get("status", {}).get("phase")
            == "Running"
        )
    )
    make.ready()


RECIPES = {
    "linkerd-everywhere": Recipe(
        "Linkerd's control plane and webhooks; its proxy is the first container of Volcano's and the operator's pods.",
        "Written from Linkerd's chart and from what `linkerd inject` writes into pod templates, with a sleeping "
        "container as the proxy; webhooks are answered by a stub;",
        linkerd,
        {"profile": "training"},
    ),
    "istio-of-others": Recipe(
        "An Istio of the platform team, by Helm and with a revision, that injects native sidecars into jobs as well; "
        "Kubeflow's own Istio is not there.",
        "Written from Istio's charts (base, istiod with revision 1-24, gateway); webhooks are answered by a stub;",
        istio,
        {"profile": "training"},
    ),
}
