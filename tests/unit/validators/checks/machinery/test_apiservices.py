"""B2 on literal facts."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.machinery.served import apiservices_available
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import deployment, facts, instant, obj, pod

NAME = "v1beta1.metrics.k8s.io"
BACKEND = {"namespace": "kube-system", "name": "metrics"}


def apiservice(*, available: bool, **rest: Object) -> Object:
    condition = {"type": "Available", "status": str(available), "message": "cannot reach it"}
    return obj("APIService", NAME, **({"spec": {"service": BACKEND}, "status": {"conditions": [condition]}} | rest))


def service() -> Object:
    return obj("Service", "kube-system/metrics", spec={"ports": [{"port": 443}], "selector": {"app": "metrics"}})


def endpoints() -> Object:
    labels = {"kubernetes.io/service-name": "metrics"}
    ready = [{"conditions": {"ready": True}}]
    return obj("EndpointSlice", "kube-system/metrics-x", metadata={"labels": labels}, endpoints=ready)


def test_apiservices_that_are_available_pass_and_those_of_pods_are_counted() -> None:
    local = obj("APIService", "v1.apps", spec={}, status={"conditions": [{"type": "Available", "status": "True"}]})
    outcome = apiservices_available(facts(apiservice(available=True), local))
    assert (outcome.status, len(outcome.objects)) == (Status.PASS, 2)
    for word in ("2 APIServices", "1 of them"):
        assert word in outcome.message


def test_no_apiservice_at_all_is_no_pass() -> None:
    assert apiservices_available(facts()).reason == "NoObjects"


def test_one_without_service_names_it() -> None:
    outcome = apiservices_available(facts(apiservice(available=False)))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoService")
    assert NAME in outcome.message
    assert "Service kube-system/metrics" in outcome.message
    young = apiservice(available=False, metadata={"creationTimestamp": instant(5)})
    assert apiservices_available(facts(young)).status is Status.FAIL  # waiting makes no Service


def test_one_whose_pods_are_down_follows_what_keeps_them_down() -> None:
    bad = {"phase": "Pending", "containerStatuses": [{"name": "m", "state": {"waiting": {"reason": "ErrImagePull"}}}]}
    down = pod("kube-system/metrics-5d9-x", owner="metrics", status=bad)
    known = facts(apiservice(available=False), service(), deployment("kube-system/metrics", available=0), down)
    outcome = apiservices_available(known)
    assert (outcome.reason, outcome.because) == ("NoEndpoint", ("A6",))


def test_one_with_ready_pods_is_its_own_trouble_and_a_young_one_may_still_come() -> None:
    outcome = apiservices_available(facts(apiservice(available=False), service(), endpoints()))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "NotAvailable", ())
    young = apiservice(available=False, metadata={"creationTimestamp": instant(5)})
    assert apiservices_available(facts(young, service(), endpoints())).status is Status.WARN
