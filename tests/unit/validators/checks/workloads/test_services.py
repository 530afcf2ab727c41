"""C9 on literal facts: which Services nobody answers for, and who owns the cause."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.workloads import workloads as checks
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import deployment, facts, instant, obj, pod, ref

SELECTOR = {"app": "a"}
PODS_OF_ALL = {
    "clientConfig": {"url": "https://i.example.com"},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
}


def service(name: str = "kubeflow/a", *ports: Any, selector: Object | None = None, **rest: Any) -> Object:
    spec = {"selector": SELECTOR if selector is None else selector, "ports": list(ports) or [{"port": 80}]}
    return obj("Service", name, spec=spec, **rest)


def endpoints(name: str = "kubeflow/a", *ports: Any, ready: bool | None = True) -> Object:
    where, _, own = name.rpartition("/")
    return obj(
        "EndpointSlice",
        f"{where}/{own}-x",
        metadata={"labels": {"kubernetes.io/service-name": own}},
        addressType="IPv4",
        endpoints=[{"addresses": ["10.0.0.1"], "conditions": {} if ready is None else {"ready": ready}}],
        ports=list(ports) or [{"name": "", "port": 8080}],
    )


def ready_pod(name: str = "kubeflow/a-5d9-x", ago: float = 600) -> Object:
    made = pod(name, owner="a")
    made["status"]["conditions"][0]["lastTransitionTime"] = instant(ago)
    return made


def unready(name: str = "kubeflow/a-5d9-x") -> Object:
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    container = {"name": "main", "ready": False, "restartCount": 9, "state": state}
    placed = {"type": "PodScheduled", "status": "True"}
    return pod(name, owner="a", status={"phase": "Running", "conditions": [placed], "containerStatuses": [container]})


def test_a_service_with_a_ready_endpoint_on_each_port_passes() -> None:
    ports = ({"name": "http", "port": 80}, {"name": "grpc", "port": 81})
    known = facts(service("kubeflow/a", *ports), endpoints("kubeflow/a", *ports), ready_pod())
    outcome = checks.services_backed(known)
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["a"])


def test_a_load_balancer_that_gives_no_address_is_a_warning_and_no_failure() -> None:
    waits = service()
    waits["spec"]["type"] = "LoadBalancer"
    outcome = checks.services_backed(facts(waits, endpoints(), ready_pod()))
    assert (outcome.status, outcome.reason) == (Status.WARN, "NoAddress")
    assert "kubeflow_access" not in outcome.todo
    for more in ({"spec": {**waits["spec"], "externalIPs": ["192.0.2.1"]}}, {"metadata": young(waits)}):
        assert checks.services_backed(facts({**waits, **more}, endpoints(), ready_pod())).status is Status.PASS
    served = {**waits, "status": {"loadBalancer": {"ingress": [{"hostname": "lb.example.com"}]}}}
    assert checks.services_backed(facts(served, endpoints(), ready_pod())).status is Status.PASS


def young(item: Object) -> Object:
    return {**item["metadata"], "creationTimestamp": instant(1)}


def test_the_name_servers_of_the_cluster_are_not_meant_to_be_scaled_to_zero() -> None:
    labels = {"k8s-app": "kube-dns"}
    off = deployment("kube-system/coredns", replicas=0)
    quiet = service("kube-system/kube-dns", selector={"app": "coredns"})
    assert checks.services_backed(facts(quiet, off)).status is Status.PASS
    quiet["metadata"]["labels"] = labels
    outcome = checks.services_backed(facts(quiet, off))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.WARN, "ScaledToZero", ("E1",))
    assert outcome.refuted_by == ("E1",)  # which asks the name server of pods, whoever that is
    waits = service()
    waits["spec"]["type"] = "LoadBalancer"
    both = checks.services_backed(facts(quiet, off, waits, endpoints(), ready_pod()))
    assert (both.status, both.refuted_by) == (Status.WARN, ())
    assert outcome.changes == ("kubectl scale -n kube-system deployment/coredns --replicas=2",)


def test_an_endpoint_that_says_nothing_of_its_readiness_counts() -> None:
    assert checks.services_backed(facts(service(), endpoints(ready=None))).status is Status.PASS


def test_a_port_that_no_container_has_fails_although_the_pods_are_ready() -> None:
    ports = ({"name": "http", "port": 80}, {"name": "grpc", "port": 81})
    known = facts(
        service("kubeflow/a", *ports), endpoints("kubeflow/a", ports[0]), ready_pod(), deployment("kubeflow/a")
    )
    outcome = checks.services_backed(known)
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "PortNotServed", ())
    assert "grpc" in outcome.message


def test_a_pod_that_is_ready_for_a_moment_may_have_no_endpoint_yet() -> None:
    known = facts(service(), endpoints(ready=False), ready_pod(ago=30))
    assert checks.services_backed(known).status is Status.PASS
    assert checks.services_backed(facts(service(), endpoints(ready=False), ready_pod(ago=90))).status is Status.FAIL


def test_pods_that_are_not_ready_own_the_cause() -> None:
    known = facts(service(), endpoints(ready=False), unready(), deployment("kubeflow/a", available=0))
    outcome = checks.services_backed(known)
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "NoReadyPod", ("C7",))


def test_a_selector_that_finds_no_pod_fails_in_the_releases_namespaces_and_warns_elsewhere() -> None:
    lonely = service("kubeflow/b", selector={"app": "b"})
    ours = checks.services_backed(facts(service(), endpoints(), ready_pod(), lonely))
    assert (ours.status, ours.reason, ours.because) == (Status.FAIL, "NoPod", ())
    assert "app=b" in ours.message
    assert checks.services_backed(facts(service("mine/a"))).status is Status.WARN


def test_a_pod_that_has_all_labels_of_a_selector_but_one_is_named_with_it() -> None:
    changed = service("kubeflow/b", selector={**SELECTOR, "role": "manager"})
    outcome = checks.services_backed(facts(service(), endpoints(), ready_pod(), changed))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoPod")
    assert "has all but role" not in checks.services_backed(facts(service("kubeflow/b", selector={"app": "b"}))).message
    assert "role" in outcome.todo


def test_a_service_of_a_finished_job_or_of_an_idle_workload_is_left_alone() -> None:
    owned = {"ownerReferences": [{"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "j", "controller": True}]}
    assert checks.services_backed(facts(service("mine/a", metadata=owned))).status is Status.PASS
    ended = pod("mine/a-0", metadata={"labels": SELECTOR}, status={"phase": "Succeeded"})
    assert checks.services_backed(facts(service("mine/a"), ended)).status is Status.PASS
    assert checks.services_backed(facts(service("mine/a"), deployment("mine/a", replicas=0))).status is Status.PASS


def test_a_workload_of_the_release_that_is_absent_owns_the_cause() -> None:
    outcome = checks.services_backed(facts(service(), workloads=["kfp Deployment kubeflow/a"]))
    assert (outcome.reason, outcome.because) == ("NoPod", (frozenset({ref("Deployment", "kubeflow/a")}),))


def test_services_without_selector_and_young_ones_are_not_looked_at() -> None:
    assert checks.services_backed(facts(service("default/kubernetes", selector={}))).status is Status.SKIP
    young = service("kubeflow/a", metadata={"creationTimestamp": instant(30)})
    assert checks.services_backed(facts(young)).status is Status.PASS


@pytest.mark.parametrize(
    ("level", "text", "needed"),
    [
        ("restricted", "allowPrivilegeEscalation != false", "baseline"),
        ("restricted", 'unrestricted capabilities (container "istio-init" must not include "NET_ADMIN")', "privileged"),
        ("baseline", "hostPath volumes", "privileged"),
    ],
)
def test_pods_that_pod_security_refuses_are_one_cause_with_the_label_to_change(
    level: str, text: str, needed: str
) -> None:
    refusal = f'pods "a-1" is forbidden: violates PodSecurity "{level}:latest": {text}'
    own = deployment("kubeflow/a", available=0)
    own["spec"]["template"] = {"metadata": {"labels": SELECTOR}, "spec": {"containers": []}}
    own["status"]["conditions"] = [{"type": "ReplicaFailure", "status": "True", "message": refusal}]
    injector = obj("MutatingWebhookConfiguration", "i", webhooks=[{"name": "i.example.com", **PODS_OF_ALL}])
    known = facts(service(), own, injector)
    deployments = checks.deployments(known)
    assert (deployments.status, deployments.because) == (Status.FAIL, ())
    command = f"kubectl label namespace kubeflow pod-security.kubernetes.io/enforce={needed} --overwrite"
    assert deployments.changes == (command,)
    backed = checks.services_backed(known)
    assert (backed.reason, backed.because) == ("NoPod", ("C2",))


def test_nothing_advises_to_delete_a_service_of_the_release() -> None:
    lonely = checks.services_backed(facts(service("kubeflow/b", selector={"app": "b"})))
    assert (lonely.status, "delete" in lonely.todo) == (Status.FAIL, False)


def by_hand(
    address: str, *, family: str = "IPv4", ready: bool = True, service: str = "a", space: str = "kubeflow"
) -> Object:
    labels = {"kubernetes.io/service-name": service}
    ends = [{"addresses": [address], "conditions": {"ready": ready}}]
    return obj("EndpointSlice", f"{space}/by-hand", metadata={"labels": labels}, addressType=family, endpoints=ends)


def with_address(name: str, address: str = "10.0.0.1") -> Object:
    made = ready_pod(name) | {"metadata": {**ready_pod(name)["metadata"], "labels": SELECTOR}}
    made["status"]["podIP"] = address
    return made


def test_an_address_that_no_pod_of_the_service_has_is_a_warning_about_its_slice() -> None:
    found = facts(service(), endpoints(), by_hand("10.9.9.9"), with_address("kubeflow/a-5d9-x"))
    outcome = checks.services_backed(found)
    assert (outcome.status, outcome.reason, outcome.because) == (Status.WARN, "StrayEndpoint", ("B4",))
    assert [str(item) for item in outcome.objects] == ["EndpointSlice kubeflow/by-hand"]
    assert "10.9.9.9" in outcome.message


@pytest.mark.parametrize(
    "more",
    [
        by_hand("10.0.0.1"),  # the pod's own address once more
        by_hand("10.9.9.9", ready=False),
        by_hand("fd00::9", family="IPv6"),  # its pods show one address each
        by_hand("10.9.9.9", service="database"),
    ],
)
def test_slices_of_others_are_in_order_where_they_lead_nobody_astray(more: Object) -> None:
    database = service("kubeflow/database", selector={})
    found = facts(service(), endpoints(), database, more, with_address("kubeflow/a-5d9-x"))
    assert checks.services_backed(found).status is Status.PASS


def test_slices_of_a_mesh_for_services_of_others_are_in_order() -> None:
    remote = by_hand("10.9.9.9", space="mine")
    found = facts(service("mine/a"), endpoints("mine/a"), remote, with_address("mine/a-5d9-x"))
    assert checks.services_backed(found).status is Status.PASS
