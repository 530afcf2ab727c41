"""Services: which of them have no ready endpoint, and the checks that report the cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess, assess_pod
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Facts, Read
from kubeflow_volcano.validators.core.outcome import Cause, Status
from kubeflow_volcano.validators.core.resources import ENDPOINT_SLICES, PODS, SERVICES
from kubeflow_volcano.validators.subjects import pods, workloads
from kubeflow_volcano.validators.subjects.issues import Issue, age, judged
from kubeflow_volcano.validators.subjects.ownership import as_owned

READS: tuple[Read, ...] = (
    SERVICES,
    ENDPOINT_SLICES,
    *workloads.READS,
)
"""What `issues` reads."""

GATEWAY = Ref("v1", "Service", "istio-system", "istio-ingressgateway")
"""The Service of Kubeflow's gateway in every release."""
SERVICE_OF_SLICE = "kubernetes.io/service-name"
"""Label of an EndpointSlice: the name of its Service."""
_MANAGED_BY, _KUBERNETES = "endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"
"""Label of the slices that Kubernetes maintains for a Service with a selector."""
NO_NAME_SERVER = "ScaledToZero"
"""Reason where it is the Service of the cluster's DNS."""


def pod_behind(facts: Facts, service: Ref, port_of: Callable[[Object], Object]) -> tuple[Object, int] | None:
    """A ready pod behind a Service, no simulated one, and the number of a port there; None where there is none.

    `port_of` is given the Service and returns its port, or nothing.
    """
    found = facts.get(SERVICES, service.namespace, service.name)
    selector = (found or {}).get("spec", {}).get("selector")
    if found is None or not selector:
        return None
    port = port_of(found)
    target = port.get("targetPort", port.get("port"))
    simulated = {item["metadata"]["uid"] for item in facts.simulated_pods}
    for pod in facts.objects.get(PODS, ()):
        meta = pod["metadata"]
        ours = meta.get("namespace") == service.namespace and _selects(found, pod)
        if ours and conditions(pod).get("Ready", {}).get("status") == "True" and meta["uid"] not in simulated:
            ports = (item for one in pod["spec"]["containers"] for item in one.get("ports") or ())
            named = {item.get("name"): item["containerPort"] for item in ports}
            number = target if isinstance(target, int) else named.get(target)
            if number:
                return pod, number
    return None


@dataclass(frozen=True, slots=True)
class Stray:
    """A ready address that no pod of its Service has, in an EndpointSlice that Kubernetes does not maintain."""

    slice: Ref
    address: str

    @property
    def change(self) -> str:
        """The command that takes it away."""
        return f"kubectl -n {self.slice.namespace} delete endpointslice {self.slice.name}"


def strays(service: Object, facts: Facts) -> Iterator[Stray]:
    """Such addresses of a Service with a selector: connections go to those of all its slices alike.

    They need not be wrong: a mesh of clusters adds pods of other clusters. Without a selector each address is meant.
    """
    meta = service["metadata"]
    if not service["spec"].get("selector"):
        return
    addresses = {pod.get("status", {}).get("podIP") for pod in _pods(service, facts)}
    families = {_family(item) for item in addresses if item}
    for item in _slices_of(facts).get((meta["namespace"], meta["name"]), ()):
        if (item["metadata"].get("labels") or {}).get(_MANAGED_BY) != _KUBERNETES and item["addressType"] in families:
            for endpoint in _ends(item):
                if _is_ready(endpoint) and addresses.isdisjoint(endpoint["addresses"]):
                    yield Stray(Ref.of(item), endpoint["addresses"][0])


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def with_selector(facts: Facts) -> tuple[Object, ...]:
    """Judged Services whose endpoints Kubernetes maintains."""
    return tuple(
        item
        for item in judged(facts, SERVICES)
        if item["spec"].get("selector") and item["spec"].get("type") != "ExternalName"
    )


def ready_ports(service: Ref, facts: Facts) -> frozenset[str]:
    """Names of the ports with a ready endpoint; a port without a name is ''.

    An endpoint without the condition `ready` counts as ready (discovery.k8s.io/v1, EndpointConditions).
    """
    return _ready_ports(facts).get((service.namespace, service.name), frozenset())


@lru_cache(maxsize=4)
def _ready_ports(facts: Facts) -> Mapping[tuple[str, str], frozenset[str]]:
    return {
        key: frozenset().union(*(_names(item.get("ports")) for item in slices if any(map(_is_ready, _ends(item)))))
        for key, slices in _slices_of(facts).items()
    }


@lru_cache(maxsize=4)
def _slices_of(facts: Facts) -> Mapping[tuple[str, str], Sequence[Object]]:
    """By namespace and name of their Service."""
    found: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for item in facts.all(ENDPOINT_SLICES):
        meta = item["metadata"]
        if name := (meta.get("labels") or {}).get(SERVICE_OF_SLICE):
            found[meta["namespace"], name].append(item)
    return found


def _ends(item: Object) -> Sequence[Object]:
    return item.get("endpoints") or ()


def _is_ready(endpoint: Object) -> bool:
    return (endpoint.get("conditions") or {}).get("ready") is not False


def backed(service: Object, facts: Facts) -> bool:
    """Whether every port of the Service has a ready endpoint."""
    return _wanted(service) <= ready_ports(Ref.of(service), facts)


def _wanted(service: Object) -> frozenset[str]:
    return _names(service["spec"].get("ports"))


def _names(ports: Sequence[Object] | None) -> frozenset[str]:
    """A headless Service may have no port; it counts as one port without a name."""
    return frozenset(port.get("name") or "" for port in ports or [{}])


def behind(service: Object, facts: Facts) -> tuple[Cause, ...]:
    """Why the Service has no ready pod: what its workloads and its pods lack, or the checks that report it."""
    namespace = service["metadata"]["namespace"]
    of_workloads = (
        # A cause by objects is only supposed: while nothing finds them broken, the workload itself is the cause.
        item.because if item.because and all(isinstance(cause, str) for cause in item.because) else (item.check,)
        for item in workloads.issues(facts)
        if item.ref.namespace == namespace
        and (obj := facts.get(workloads.RESOURCE_OF_KIND[item.ref.kind], namespace, item.ref.name))
        and _selects(service, obj["spec"]["template"])
    )
    selected = {Ref.of(pod) for pod in _pods(service, facts)}
    of_pods = (item.because or (item.check,) for item in pods.issues(facts) if item.ref in selected)
    causes = dict.fromkeys(cause for causes in (*of_workloads, *of_pods) for cause in causes)
    return tuple(causes) if selected or _workloads_of(service, facts) else ("C9",)


def scaled_to_zero(service: Object, facts: Facts) -> tuple[Ref, ...]:
    """The Deployments and StatefulSets behind the Service, if none of its workloads is to have a pod."""
    templates = _workloads_of(service, facts)
    if not all(assess(item).reason == "ScaledToZero" for item in templates):
        return ()
    return tuple(map(Ref.of, templates))


def _selects(service: Object, pod: Object) -> bool:
    selector = (service["spec"].get("selector") or {}).items()
    return selector <= ((pod.get("metadata") or {}).get("labels") or {}).items()


def _pods(service: Object, facts: Facts) -> list[Object]:
    return [pod for pod in _pods_of(facts).get(service["metadata"]["namespace"], ()) if _selects(service, pod)]


@lru_cache(maxsize=4)
def _pods_of(facts: Facts) -> Mapping[str, tuple[Object, ...]]:
    """Judged pods by namespace."""
    pods: dict[str, list[Object]] = defaultdict(list)
    for pod in judged(facts, PODS):
        pods[pod["metadata"]["namespace"]].append(pod)
    return {name: tuple(items) for name, items in pods.items()}


@lru_cache(maxsize=4)
def issues(facts: Facts) -> tuple[Issue, ...]:
    """Every Service with a port without a ready endpoint, by name."""
    issues = (
        (item, issue)
        for item in with_selector(facts)
        for issue in (_issue(item, facts), _pending(item, facts), *_astray(item, facts))
    )
    owned = (as_owned(issue, item, facts) for item, issue in issues if issue)
    return tuple(sorted(owned, key=lambda item: item.ref))


def _issue(service: Object, facts: Facts) -> Issue | None:
    if (
        backed(service, facts)
        or age(service, facts) < facts.timing.grace_seconds
        or "deletionTimestamp" in service["metadata"]
    ):
        return None
    ref = Ref.of(service)
    selected = _pods(service, facts)
    live = [pod for pod in selected if assess_pod(pod).state is not State.SKIP and not pods.waits_for_gang(pod)]
    ready = [pod for pod in live if assess_pod(pod).ready]
    if any(_just_ready(pod, facts) for pod in ready):
        return None
    if not live:
        return _without_pods(service, ref, facts) if not selected else None
    missing = ", ".join(sorted(name or "its port" for name in _wanted(service) - ready_ports(ref, facts)))
    if ready:
        text = f"{ref} has no endpoint for {missing}, although it selects {counted(len(ready), 'ready pod')}."
        todo = "compare its targetPort with the container ports of its pods."
        return Issue("C9", Status.FAIL, ref, "PortNotServed", text, todo)
    text = f"{ref} has no ready endpoint for {missing}: none of its {counted(len(live), 'pod')} is ready."
    return Issue("C9", Status.FAIL, ref, "NoReadyPod", text, "see why its pods are not ready.", behind(service, facts))


def _pending(service: Object, facts: Facts) -> Issue | None:
    """A Service of type LoadBalancer that has waited for its address for a while."""
    status = service.get("status", {}).get("loadBalancer") or {}
    if service["spec"].get("type") != "LoadBalancer" or status.get("ingress") or service["spec"].get("externalIPs"):
        return None
    since = age(service, facts)
    if since < facts.timing.grace_seconds or "deletionTimestamp" in service["metadata"]:
        return None
    ref, wanted = Ref.of(service), service["spec"].get("loadBalancerClass") or ""
    is_gateway = ref == GATEWAY and ref.namespace in facts.expectations.namespaces
    other = (
        "publish the Service by node ports (kubeflow_access: node-port)"
        if is_gateway
        else "change its type, where nothing outside needs it"
    )
    return Issue(
        "C9",
        Status.WARN,
        ref,
        "NoAddress",
        f"{ref} is of type LoadBalancer, and nothing has given it an address in {since:.0f} s: EXTERNAL-IP is pending. "
        f"No load balancer{f' of class {wanted}' if wanted else ''} serves it.",
        "install a load balancer for the cluster, such as MetalLB or that of the cloud, or see its controller; or "
        f"{other}.",
    )


def _astray(service: Object, facts: Facts) -> Iterator[Issue]:
    """Addresses of others for a Service of the release, from which pods and the API server take any at random.

    That webhooks behind it answer (B4) disproves nothing: the API server keeps its connections to them.
    """
    if service["metadata"]["namespace"] in facts.expectations.namespaces:
        for item in strays(service, facts):
            text = (
                f"{item.slice} leads connections to {Ref.of(service)} to {item.address}, which is no address of its "
                "pods and which Kubernetes does not maintain."
            )
            todo = f"see that something answers there as the pods do; if nothing does: {item.change}"
            yield Issue("C9", Status.WARN, item.slice, "StrayEndpoint", text, todo, ("B4",))


def _without_pods(service: Object, ref: Ref, facts: Facts) -> Issue | None:
    """A Service that selects no pod; expected if its workload is scaled to zero or its owner deletes it."""
    ours = ref.namespace in facts.expectations.namespaces
    templates = _workloads_of(service, facts)
    because = behind(service, facts) if templates else _absent(ref.namespace, facts)
    if templates and not because and all(assess(item).state is State.SKIP for item in templates):
        return _without_name_server(service, ref, facts) if is_of_dns(service) else None
    if not ours and (service["metadata"].get("ownerReferences") or because):
        return None
    selector = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
    text = f"{ref} has no endpoint: no pod has the labels {selector}."
    todo = "install the workload that it selects." if ours else "install the workload that it selects, or delete it."
    if templates:
        todo = f"see why {Ref.of(templates[0])} has no pod."
    elif near := next(_nearly(service, facts), None):
        pod, key = near
        has = (pod["metadata"].get("labels") or {}).get(key)
        text += f" {Ref.of(pod)} has all but {key}, {f'which is {has} there' if has else 'which it lacks'}."
        todo = f"see who changed the selector of the Service, or the labels of the pods, and correct {key}" + (
            ": a roll-out of its component does (playbooks/install.yml)." if ours else "."
        )
    return Issue("C9", Status.FAIL if ours else Status.WARN, ref, "NoPod", text, todo, because)


def _nearly(service: Object, facts: Facts) -> Iterator[tuple[Object, str]]:
    """Pods that lack one of several labels of the selector, each with its key."""
    selector = (service["spec"].get("selector") or {}).items()
    for pod in _pods_of(facts).get(service["metadata"]["namespace"], ()):
        lacking = selector - (pod["metadata"].get("labels") or {}).items()
        if len(lacking) == 1 < len(selector):
            yield pod, next(iter(lacking))[0]


def is_of_dns(service: Object) -> bool:
    """Whether it is the Service of the cluster's DNS, by the label that addons of all distributions have."""
    return (service["metadata"].get("labels") or {}).get("k8s-app") == "kube-dns"


def _without_name_server(service: Object, ref: Ref, facts: Facts) -> Issue:
    """The cluster's DNS is scaled to zero, as where another one answers, of a cloud for instance; E1 finds that out."""
    off = scaled_to_zero(service, facts)
    text = (
        f"{ref} has no endpoint: {few([str(item) for item in off])} is scaled to 0 replicas, so no pod finds names, "
        "unless another name server answers."
    )
    return Issue("C9", Status.WARN, ref, NO_NAME_SERVER, text, "scale it up.", ("E1",), changes=scale_up(off))


def scale_up(off: Sequence[Ref]) -> tuple[str, ...]:
    """Commands that give each of these workloads pods again."""
    return tuple(f"kubectl scale -n {item.namespace} {item.kind.lower()}/{item.name} --replicas=2" for item in off)


def _workloads_of(service: Object, facts: Facts) -> list[Object]:
    """The workloads whose pods the Service selects."""
    own = _workloads(service["metadata"]["namespace"], facts)
    return [item for item in own if _selects(service, item["spec"]["template"])]


def _workloads(namespace: str, facts: Facts) -> Iterator[Object]:
    for kind, resource in workloads.RESOURCE_OF_KIND.items():
        for item in judged(facts, resource):
            if kind != "Job" and item["metadata"]["namespace"] == namespace:
                yield item


def _absent(namespace: str, facts: Facts) -> tuple[Cause, ...]:
    """The missing workloads of this namespace, each of which may be the Service's."""
    issues = (item for item in workloads.issues(facts) if item.ref.namespace == namespace)
    missing = frozenset(item.ref for item in issues if item.reason == "Missing")
    return (missing,) if missing else ()


def _just_ready(pod: Object, facts: Facts) -> bool:
    """Whether kube-controller-manager, which may first elect a leader, may not have written its endpoint yet."""
    since = pods.ready_since(pod)
    return since is not None and facts.taken - since < facts.timing.grace_seconds
