"""Probe objects within the bounds of LimitRanges, and what they tolerate."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.fitting import Bounds, bounds, fitted, tolerations
from kubeflow_volcano.experiment.pods import RESOURCES, SCRIPT_RESOURCES, on_node, probe_pod
from tests.samples.facts import node


def limit_range(**limits: Any) -> Object:
    return {"spec": {"limits": [{"type": "Container", **limits}]}}


def resources(obj: Object) -> Any:
    return obj["spec"]["containers"][0]["resources"]


def a_pod(**container: Any) -> Object:
    return probe_pod("p", "mine", {"image": "pause", **container})


def test_without_bounds_and_taints_an_object_stays_what_it_is() -> None:
    pod = a_pod()
    assert fitted(pod, Bounds()) is pod


def test_requests_rise_to_the_least_and_their_limits_with_them() -> None:
    within = bounds([limit_range(min={"cpu": "50m", "memory": "32Mi"})])
    pod = a_pod()
    found = resources(fitted(pod, within))
    assert found == {"requests": {"cpu": "50m", "memory": "33554432"}, "limits": {"cpu": "50m", "memory": "33554432"}}
    assert resources(pod) == RESOURCES, "what was given is left alone"


def test_limits_come_down_to_the_most_and_to_the_ratio() -> None:
    script = a_pod(resources=SCRIPT_RESOURCES)
    assert resources(fitted(script, bounds([limit_range(max={"cpu": "200m"})])))["limits"]["cpu"] == "200m"
    by_ratio = resources(fitted(script, bounds([limit_range(maxLimitRequestRatio={"cpu": "4"})])))
    assert (by_ratio["requests"]["cpu"], by_ratio["limits"]["cpu"]) == ("10m", "40m")


def test_a_ratio_wants_a_request_above_0() -> None:
    found = resources(fitted(a_pod(), bounds([limit_range(maxLimitRequestRatio={"cpu": "5"})])))
    assert (found["requests"]["cpu"], found["limits"]["cpu"]) == ("2m", "10m")


def test_of_several_ranges_the_strictest_holds() -> None:
    ranges = [limit_range(min={"cpu": "20m"}, max={"cpu": "1"}), limit_range(min={"cpu": "30m"}, max={"cpu": "100m"})]
    found = resources(fitted(a_pod(resources=SCRIPT_RESOURCES), bounds(ranges)))
    assert (found["requests"]["cpu"], found["limits"]["cpu"]) == ("30m", "100m")


def test_a_request_beyond_the_most_asks_for_the_most() -> None:
    found = resources(fitted(a_pod(), bounds([limit_range(max={"memory": "8Mi"})])))
    assert found["requests"]["memory"] == found["limits"]["memory"] == str(8 << 20)


def test_claims_and_templates_in_jobs_fit_too() -> None:
    claim = {"kind": "PersistentVolumeClaim", "spec": {"resources": {"requests": {"storage": "64Mi"}}}}
    within = bounds([{"spec": {"limits": [{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}]}}])
    assert fitted(claim, within)["spec"]["resources"]["requests"] == {"storage": str(1 << 30)}
    job = {"kind": "TFJob", "spec": {"tfReplicaSpecs": {"Worker": {"template": {"spec": a_pod()["spec"]}}}}}
    taint = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
    spec = fitted(job, bounds([limit_range(min={"cpu": "1"})]), [taint])["spec"]["tfReplicaSpecs"]["Worker"]
    assert spec["template"]["spec"]["tolerations"] == [taint]
    assert spec["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1000m"


def tainted(name: str, *taints: str, **rest: Any) -> Object:
    """A node with taints 'key=value:effect'."""
    parsed = []
    for text in taints:
        key, _, effect = text.rpartition(":")
        key, _, value = key.partition("=")
        parsed.append({"key": key, "effect": effect} | ({"value": value} if value else {}))
    return node(name, spec={"taints": parsed, **rest})


TEAM = {"key": "dedicated", "operator": "Equal", "value": "team", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([tainted("a", "dedicated=team:NoSchedule"), node("b")], ()),
        ([tainted("a", "dedicated=team:NoSchedule")], (TEAM,)),
        ([tainted("a", "dedicated=team:PreferNoSchedule")], ()),
        ([tainted("a", "gpu:NoExecute")], ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"},)),
        (
            [
                tainted("a", "node-role.kubernetes.io/control-plane:NoSchedule"),
                tainted("b", "dedicated=team:NoSchedule"),
            ],
            (TEAM,),
        ),
        ([tainted("a", "dedicated=team:NoSchedule"), tainted("b", unschedulable=True)], (TEAM,)),
        ([tainted("a", "node.kubernetes.io/disk-pressure:NoSchedule", "dedicated=team:NoSchedule")], ()),
    ],
)
def test_only_what_keeps_all_nodes_closed_is_tolerated(nodes: list[Object], expected: tuple[Object, ...]) -> None:
    assert tolerations(nodes) == expected


def test_a_pod_of_one_node_tolerates_everything_and_is_given_nothing_more() -> None:
    pod = probe_pod("p", "mine", {"image": "busybox"}, spec=on_node("n1"))
    spec = fitted(pod, bounds([limit_range(min={"cpu": "1"})]), [TEAM])["spec"]
    assert (spec["nodeName"], spec["tolerations"]) == ("n1", [{"operator": "Exists"}])
