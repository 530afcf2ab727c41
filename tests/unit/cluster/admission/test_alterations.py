"""What admission changes of a pod, and whether that may keep it from a node."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.alterations import Alteration, added, changed
from kubeflow_volcano.cluster.objects import Object

REQUESTS = {"cpu": "0", "memory": "16Mi"}
REQUIRED: Object = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
POD: Object = {
    "metadata": {"name": "a", "namespace": "lab"},
    "spec": {
        "schedulerName": "volcano",
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "containers": [{"name": "probe", "resources": {"requests": REQUESTS, "limits": {"cpu": "10m"}}}],
    },
}


def stored(**spec: Any) -> Object:
    """The pod as an API server without webhooks stores it, with more."""
    found = copy.deepcopy(POD)
    found["spec"]["tolerations"].append({"key": "node.kubernetes.io/not-ready", "operator": "Exists"})
    found["spec"] |= {"priority": 0, "dnsPolicy": "ClusterFirst", "volumes": []} | spec
    return found


def beside(name: str, **resources: Any) -> list[Object]:
    return [*POD["spec"]["containers"], {"name": name, "resources": resources}]


def test_defaults_and_containers_without_requests_keep_no_pod_from_a_node() -> None:
    assert changed(POD, stored()) == ()
    assert changed(POD, stored(containers=beside("agent"))) == ()


def test_what_is_only_preferred_keeps_no_pod_from_a_node() -> None:
    assert changed(POD, stored(affinity={"nodeAffinity": PREFERRED, "podAntiAffinity": PREFERRED})) == ()
    assert changed(POD, stored(topologySpreadConstraints=[{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}])) == ()


def test_an_amount_that_the_server_writes_in_another_way_is_no_change() -> None:
    sent = copy.deepcopy(POD)
    sent["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "0.5", "memory": "1024Mi"}}
    kept = [{"name": "probe", "resources": {"requests": {"cpu": "500m", "memory": "1Gi", "pods": "0"}}}]
    assert changed(sent, stored(containers=kept)) == ()


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "nodeSelector disk=ssd"),
        ({"schedulerName": "other"}, "schedulerName other in place of volcano"),
        ({"affinity": {"nodeAffinity": REQUIRED}}, "affinity, which it did not have"),
        ({"topologySpreadConstraints": [SPREAD]}, "topologySpreadConstraints, which it did not have"),
        ({"schedulingGates": [{"name": "a"}]}, "schedulingGates, which it did not have"),
        ({"tolerations": []}, "no toleration of gpu any more"),
        (
            {"containers": beside("agent", requests={"cpu": "2"})},
            "requests of cpu 2 by container agent, which it did not have",
        ),
        (
            {"containers": [{"name": "probe", "resources": {"requests": {**REQUESTS, "cpu": "4"}}}]},
            "requests of cpu 4 by container probe",
        ),
    ],
)
def test_what_decides_about_a_node_is_named(spec: dict[str, Any], told: str) -> None:
    assert changed(POD, stored(**spec)) == (told,)


def test_more_requests_are_why_where_the_scheduler_says_that_something_is_short() -> None:
    more, chosen = Alteration(("requests of cpu 2 by container a",)), Alteration(("nodeSelector disk=ssd",))
    assert more.explains("0/3 nodes are available: 3 Insufficient cpu.")
    assert not more.explains("0/3 nodes are available: 3 node(s) had untolerated taint.")
    assert chosen.explains("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.")


def test_a_group_that_is_taken_from_the_pod_is_told() -> None:
    sent = {**POD, "spec": POD["spec"] | {"schedulingGroup": {"podGroupName": "g"}}}
    (text,) = added(sent, {**stored(), "metadata": {}})
    assert re.fullmatch("schedulingGroup none .* g", text)
    assert changed(sent, stored()) == ()
    assert added(sent, {**stored(**sent["spec"]), "metadata": {}}) == ()


def test_what_was_added_beside_is_told_and_explains_no_missing_node() -> None:
    found = Alteration((), beside=("limits cpu 10m for container probe",))
    assert "limits cpu 10m" in str(found)
    assert not found.explains("0/1 nodes are available: 1 Insufficient cpu.")
