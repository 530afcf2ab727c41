"""What Volcano 1.15 alone can: gangs within a HyperNode, and room for a gang by whole gangs, on its real programs.

Two racks of two nodes are HyperNodes of tier 1, one by the names of its nodes and one by a label, and together of 2.
Rules, of v1.15.1: network-topology-aware (without this plugin `hard` restricts nothing, as HyperNodeGradientForJobFn of
pkg/scheduler/framework/session_plugins.go then returns all nodes), and actions/gangpreempt and gangreclaim, which take
bundles of victims that are whole gangs where a gang has no pod to spare (CreateJobBundles of actions/utils/bundle.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kubeflow_volcano.catalog.evictions.presets import with_preset
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.stages import explain
from tests.integration.breaking import made, space
from tests.integration.explaining import GPU, SIMULATED
from tests.integration.test_explain_eviction import is_open, priority_class, queue, vcjob
from tests.integration.test_presets import DESERVED
from tests.integration.volcanos import QUIET_SECONDS, Volcano, volcano
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

GENERATION, VERSION = "1.35", "1.15.1"
PLUGIN = {"name": "network-topology-aware"}
RACKS = {"a": ("gpu-1", "gpu-2"), "b": ("gpu-3", "gpu-4")}
LABEL = "example.org/rack"
TOPOLOGY = "topology.volcano.sh/v1alpha1"
PAUSE = "registry.k8s.io/pause:3.10"


@pytest.fixture(scope="module")
def stand() -> Iterator[Volcano]:
    with volcano(GENERATION) as found:
        found.installed()
        for node in RACKS["b"]:
            found.cluster.patch(Ref("v1", "Node", "", node), {"metadata": {"labels": {LABEL: "b"}}})
        for item in (
            hypernode("rack-a", 1, *(member("Node", exactMatch={"name": name}) for name in RACKS["a"])),
            hypernode("rack-b", 1, member("Node", labelMatch={"matchLabels": {LABEL: "b"}})),
            hypernode("room", 2, *(member("HyperNode", exactMatch={"name": f"rack-{name}"}) for name in RACKS)),
        ):
            found.cluster.create(item)
        yield found


def hypernode(name: str, tier: int, *members: Object) -> Object:
    return new_object(TOPOLOGY, "HyperNode", name, spec={"tier": tier, "members": list(members)})


def member(kind: str, **selector: Any) -> Object:
    return {"type": kind, "selector": selector}


def tiers(stand: Volcano, preset: str, *more: Object) -> dict[str, Any]:
    """Upstream's configuration with a preset, and further plugins behind its last one, as variables."""
    document = with_preset(preset, stand.upstream(), VERSION)
    document["tiers"][-1]["plugins"] += more
    return {"volcano_scheduler_tiers": document["tiers"]}


def explained(stand: Volcano, namespace: str, name: str) -> dict[str, str]:
    """The reasons of what `explain job` says, each with the last object that it names."""
    findings = explain(read_situation(stand.cluster, namespace, name)).findings
    return {item.reason: item.objects[-1].name if item.objects else "" for item in findings}


def within(tier: int, name: str, pods: int = 2) -> Object:
    """A gang of so many pods, of one GPU each, all of it within one HyperNode of that tier."""
    job = vcjob(name, pods, pods)
    job["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": tier}
    return job


@contextmanager
def taken(stand: Volcano, namespace: str, node: str) -> Iterator[None]:
    """The GPU of a node is in use as long as the block lasts."""
    container = {"name": "main", "image": PAUSE, **GPU}
    spec = {"nodeName": node, "tolerations": SIMULATED, "containers": [container], "terminationGracePeriodSeconds": 0}
    with made(stand.cluster, new_object("v1", "Pod", f"on-{node}", namespace, spec=spec)):
        yield


def lands(stand: Volcano, namespace: str, name: str, *nodes: str) -> None:
    until(lambda: stand.nodes(namespace, name) == [*nodes])


def removed(stand: Volcano, namespace: str, name: str) -> None:
    ref = Ref("batch.volcano.sh/v1alpha1", "Job", namespace, name)
    live = stand.cluster.get(ref)
    assert live is not None
    stand.cluster.delete(ref, uid=live["metadata"]["uid"], propagation="Foreground")
    until(lambda: stand.cluster.get(ref) is None)
    until(lambda: not stand.cluster.list("v1", "Pod", namespace=namespace, labels=f"volcano.sh/job-name={name}").items)


def test_a_gang_stays_within_a_hypernode_of_the_tier_that_it_allows(stand: Volcano) -> None:
    stand.installed(**tiers(stand, "upstream", PLUGIN))
    with space(stand.cluster) as namespace, taken(stand, namespace, "gpu-1"):
        with taken(stand, namespace, "gpu-3"):  # one node of each rack is free
            for job in (vcjob("anywhere", 2, 2), within(2, "room")):
                stand.create(namespace, job)
                lands(stand, namespace, job["metadata"]["name"], "gpu-2", "gpu-4")
                removed(stand, namespace, job["metadata"]["name"])
            stand.create(namespace, within(1, "rack"))
            assert at_last(lambda: stand.placed(namespace, "rack"), [2], QUIET_SECONDS, every=1) == [0]
            assert "TopologyFull" in explained(stand, namespace, "rack")
            stand.create(namespace, within(1, "wide", 3))
            until(lambda: "TopologyTooSmall" in explained(stand, namespace, "wide"))
            removed(stand, namespace, "wide")
        lands(stand, namespace, "rack", *RACKS["b"])
        assert explained(stand, namespace, "rack")["TopologyTier"] == "rack-b"


def test_without_the_plugin_of_topologies_hard_restricts_nothing(stand: Volcano) -> None:
    stand.installed()
    with (
        space(stand.cluster) as namespace,
        taken(stand, namespace, "gpu-1"),
        taken(stand, namespace, "gpu-3"),
    ):
        stand.create(namespace, within(1, "rack"))
        lands(stand, namespace, "rack", "gpu-2", "gpu-4")
        told = explained(stand, namespace, "rack")
        assert (told["TopologyTier"], "TopologyIgnored" in told) == ("room", True)


@pytest.mark.parametrize("action", ["", "gangpreempt"])
def test_an_urgent_gang_replaces_as_many_whole_gangs_as_it_needs(stand: Volcano, action: str) -> None:
    """The preset without its own action admits the gang and evicts nothing."""
    actions = [*filter(None, ("enqueue", "allocate", action, "backfill"))]
    stand.installed(volcano_scheduler_actions=actions, **tiers(stand, "preemption"))
    with space(stand.cluster) as namespace:
        low, high = f"{namespace}-low", f"{namespace}-high"
        with made(stand.cluster, priority_class(low, 5), priority_class(high, 5000)):
            for name in ("first", "second"):
                stand.create(namespace, vcjob(name, 2, 2, priorityClassName=low))
            until(lambda: stand.placed(namespace, "first", "second") == [2, 2])
            stand.create(namespace, vcjob("urgent", 2, 2, priorityClassName=high))

            assert evicted(stand, namespace, "urgent") == (bool(action), [2, 2 - 2 * bool(action)])


@pytest.mark.parametrize("action", ["", "gangreclaim"])
def test_a_queue_takes_back_what_it_deserves_by_whole_gangs(stand: Volcano, action: str) -> None:
    actions = [*filter(None, ("enqueue", "allocate", action, "backfill"))]
    stand.installed(volcano_scheduler_actions=actions, **tiers(stand, "reclaim-by-deserved"))
    with space(stand.cluster) as namespace:
        rich, owed = f"{namespace}-rich", f"{namespace}-owed"
        for name in (rich, owed):  # they go with the cluster
            stand.cluster.create(queue(name, **DESERVED))
        until(lambda: all(is_open(stand.cluster, name) for name in (rich, owed)))
        for name in ("first", "second"):
            stand.create(namespace, vcjob(name, 2, 2, rich))
        until(lambda: stand.placed(namespace, "first", "second") == [2, 2])
        stand.create(namespace, vcjob("late", 2, 2, owed))

        assert evicted(stand, namespace, "late") == (bool(action), [2, 2 - 2 * bool(action)])


def test_queues_of_one_parent_have_no_more_than_its_capability_between_them(stand: Volcano) -> None:
    document = stand.upstream()
    for tier in document["tiers"]:
        tier["plugins"] = [item for item in tier["plugins"] if item["name"] not in {"proportion", "overcommit"}]
    document["tiers"][-1]["plugins"].append({"name": "capacity", "enableHierarchy": True})
    queues = [
        {"name": "department", "capability": {"nvidia.com/gpu": 2}},
        *({"name": name, "parent": "department"} for name in ("vision", "speech")),
    ]
    stand.installed(volcano_scheduler_tiers=document["tiers"], volcano_queues=queues)
    with space(stand.cluster) as namespace:
        stand.create(namespace, vcjob("wide", 3, 3, "speech"))
        stand.create(namespace, vcjob("first", 2, 2, "vision"))
        until(lambda: stand.placed(namespace, "first") == [2])
        stand.create(namespace, vcjob("second", 1, 1, "speech"))
        assert at_last(lambda: stand.placed(namespace, "second", "wide"), [1, 3], QUIET_SECONDS, every=1) == [0, 0]
        assert explained(stand, namespace, "wide")["OverCapability"] == "department"
        assert explained(stand, namespace, "second")["QueueFull"] == "department"
        removed(stand, namespace, "first")
        until(lambda: stand.placed(namespace, "second", "wide") == [1, 0])


def evicted(stand: Volcano, namespace: str, newer: str) -> tuple[bool, list[int]]:
    """Whether the newer gang is placed as a whole in the end, and how many pods the two others have left."""

    def now() -> tuple[bool, list[int]]:
        *others, placed = stand.placed(namespace, "first", "second", newer)
        return placed == 2, sorted(others, reverse=True)

    at_last(lambda: now()[0], wanted=True, seconds=QUIET_SECONDS * 3, every=1)
    return now()
