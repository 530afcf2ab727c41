"""Gangs with a networkTopology on a real Volcano that knows HyperNodes (1.12 and later): what explain says holds."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.explain.scheduling.topology import API
from tests.integration.breaking import patched, space
from tests.integration.explaining import GPU, SIMULATED, Jobs
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long]

CONFIGURATION = Ref("v1", "ConfigMap", "volcano-system", "volcano-scheduler-configmap")
KEY = "volcano-scheduler.conf"
MARK = secrets.token_hex(3)
LEAVES = {f"a-{MARK}": "^gpu-[12]$", f"b-{MARK}": "^gpu-[34]$"}
SPINE = f"spine-{MARK}"


def hyper(name: str, tier: int, *members: Object) -> Object:
    return new_object(API, "HyperNode", name, spec={"tier": tier, "members": list(members)})


@pytest.fixture(scope="module")
def topology(cluster: Cluster) -> Iterator[None]:
    """Two HyperNodes of two simulated nodes each below a third one, and the plugin that applies them."""
    if "HyperNode" not in cluster.kinds(API):
        pytest.skip("this Volcano knows no HyperNodes")
    leaves = [
        hyper(name, 1, {"type": "Node", "selector": {"regexMatch": {"pattern": nodes}}})
        for name, nodes in LEAVES.items()
    ]
    spine = hyper(SPINE, 2, *({"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in LEAVES))
    made = [cluster.create(item) for item in (*leaves, spine)]
    text = (cluster.get(CONFIGURATION) or {})["data"][KEY]
    try:
        with patched(cluster, CONFIGURATION) as patch:
            if "network-topology-aware" not in text:
                more = text.replace("- name: predicates", "- name: network-topology-aware\n  - name: predicates", 1)
                assert more != text
                patch({"data": {KEY: more}})
            yield
    finally:
        for item in made:
            cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])


@pytest.fixture
def jobs(cluster: Cluster, topology: None) -> Iterator[Jobs]:  # noqa: ARG001
    with space(cluster) as home:
        found = Jobs(cluster, home)
        yield found
        found.remove_all()


def gang(name: str, pods: int, tier: int) -> Object:
    """A job of Volcano with a GPU for each pod, as each simulated node has one."""
    pod: dict[str, Any] = {"terminationGracePeriodSeconds": 0, "tolerations": SIMULATED}
    pod["containers"] = [{"name": "c", "image": PAUSE, **GPU}]
    spec = {
        "minAvailable": pods,
        "schedulerName": "volcano",
        "networkTopology": {"mode": "hard", "highestTierAllowed": tier},
        "tasks": [{"name": "w", "replicas": pods, "template": {"spec": pod}}],
    }
    return new_object("batch.volcano.sh/v1alpha1", "Job", name, spec=spec)


def test_a_gang_gets_one_hypernode_and_a_larger_one_needs_a_higher_tier(jobs: Jobs) -> None:
    jobs.create(gang("near", 2, 1))
    jobs.starts("near")
    tier = next(item for item in jobs.explained("near").findings if item.reason == "TopologyTier")
    assert tier.objects[-1].name in LEAVES
    jobs.delete("near")

    jobs.create(gang("wide", 3, 1))
    until(lambda: len(jobs.of_job("wide")) == 3)
    found = jobs.cause("wide", "TopologyTooSmall")
    assert {ref.name for ref in found.objects} >= set(LEAVES)
    jobs.stays("wide")
    jobs.delete("wide")
    jobs.create(gang("wide", 3, 2))
    jobs.starts("wide")
    tier = next(item for item in jobs.explained("wide").findings if item.reason == "TopologyTier")
    assert tier.objects[-1].name == SPINE


def test_what_others_hold_of_a_hypernode_is_waited_for(jobs: Jobs) -> None:
    for name in ("first", "second"):
        jobs.create(gang(name, 1, 1))
        jobs.starts(name)
    jobs.create(gang("third", 2, 1))
    until(lambda: len(jobs.of_job("third")) == 2)
    reasons = {item.reason for item in jobs.explained("third").findings}
    started = "TopologyTier" in reasons  # the first two share a HyperNode
    if not started:
        jobs.cause("third", "TopologyFull")
        jobs.delete("first")
    jobs.starts("third")
