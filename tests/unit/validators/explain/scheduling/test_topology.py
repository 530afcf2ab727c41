"""Gangs with a networkTopology, against HyperNodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.explain.model import Explanation
from kubeflow_volcano.validators.explain.scheduling.topology import HYPERNODES
from tests.samples.jobs import configured, explained, group, member, node, tfjob
from tests.unit.validators.explain.placement.test_device_claims import volcano

CONFIGURATION = """
actions: enqueue, allocate
tiers: [{plugins: [{name: gang}, {name: predicates}, {name: proportion}, {name: network-topology-aware}]}]
"""
HARD = {"mode": "hard", "highestTierAllowed": 1}
EXACT = {"exactMatch": {"name": "n1"}}


def hyper(name: str, tier: int, *members: Object, **spec: Any) -> Object:
    meta = {"name": name, "uid": f"uid-{name}"}
    spec = {"tier": tier, "members": list(members), **spec}
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": meta, "spec": spec}


def of_nodes(**selector: Any) -> Object:
    return {"type": "Node", "selector": selector}


def below(name: str) -> Object:
    return {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}}


LEAVES = [hyper("s1", 1, of_nodes(exactMatch={"name": "n1"})), hyper("s2", 1, of_nodes(regexMatch={"pattern": "^n2$"}))]
SPINE = hyper("spine", 2, below("s1"), below("s2"))


def answer(
    policy: Object, *around: Object, workers: int = 2, on: str = "", version: str = "v1.15.1", **how: Any
) -> Explanation:
    """A gang whose pods of 3 CPUs need a node of 4 each."""
    job = tfjob(workers=workers, cpu="3")
    pods = [member(job, number, cpu="3", on=on if number == 0 else "") for number in range(workers)]
    gang = group(job, workers, phase="Inqueue", networkTopology=policy)
    return explained(job, gang, *pods, volcano(version), configured(CONFIGURATION), *around, **how)


def told(found: Explanation) -> list[tuple[str, bool]]:
    return [(item.reason, item.blocks) for item in found.findings if item.reason.startswith("Topology")]


@pytest.mark.parametrize("version", ["v1.12.2", "v1.15.1"])
def test_a_gang_that_needs_more_than_any_hypernode_of_its_tier_never_starts(version: str) -> None:
    found = answer(HARD, *LEAVES, SPINE, version=version)
    assert told(found) == [("TopologyTooSmall", True)]
    first = next(item for item in found.findings if item.reason == "TopologyTooSmall")
    assert {ref.name for ref in first.objects} >= {"s1", "s2"}
    assert "spine" not in {ref.name for ref in first.objects}
    assert [line.rpartition(" ")[2] for line in first.details] == ["1", "1"]
    assert told(answer({**HARD, "highestTierAllowed": 2}, *LEAVES, SPINE, version=version)) == []
    assert told(answer({**HARD, "mode": "soft"}, *LEAVES, SPINE, version=version)) == []


def test_other_pods_in_the_hypernode_are_waited_for() -> None:
    other = tfjob("other", workers=1)
    held = member(other, cpu="3", on="n1")
    both = hyper("s1", 1, of_nodes(regexMatch={"pattern": "n[12]"}))
    spare = [node("n3"), hyper("s3", 1, of_nodes(exactMatch={"name": "n3"})), hyper("top", 2, below("s1"), below("s3"))]
    assert told(answer(HARD, both, *spare, held, group(other, 1))) == [("TopologyFull", True)]
    assert told(answer(HARD, both, *spare)) == []


def test_a_full_cluster_does_not_hide_that_waiting_is_in_vain() -> None:
    other = tfjob("other", workers=1)
    full = answer(HARD, *LEAVES, SPINE, member(other, cpu="3", on="n1"), group(other, 1))
    assert {item.reason for item in full.findings if item.blocks} == {"GangDoesNotFit", "TopologyTooSmall"}
    assert told(answer(HARD, *LEAVES, SPINE, workers=3)) == []  # the cluster never has room for three


def test_what_is_placed_already_says_where_the_rest_goes() -> None:
    roomy = [node("big", cpu="64"), hyper("s3", 1, of_nodes(exactMatch={"name": "big"}))]
    assert told(answer(HARD, *LEAVES, SPINE, *roomy)) == []
    assert told(answer(HARD, *LEAVES, SPINE, *roomy, on="n1")) == [("TopologyTooSmall", True)]


@pytest.mark.parametrize(
    ("members", "room"),
    [
        ([of_nodes(labelMatch={"matchLabels": {"rack": "a"}})], "2"),
        ([of_nodes(labelMatch={"matchExpressions": [{"key": "rack", "operator": "Exists"}]})], "2"),
        ([of_nodes(labelMatch={})], "0"),
        ([of_nodes(regexMatch={"pattern": "[12]"})], "2"),
        ([of_nodes(exactMatch={"name": "gone"}), of_nodes(exactMatch={"name": "n1"})], "1"),
        ([below("s"), below("gone"), {"type": "HyperNode", "selector": {"regexMatch": {"pattern": ".*"}}}], "0"),
        ([{}, {"type": "Node"}, {"selector": "x"}], "0"),
    ],
)
def test_members_are_named_matched_by_pattern_or_by_labels(members: list[Object], room: str) -> None:
    labelled = [node(name, labels={"rack": "a"}) for name in ("n1", "n2")]
    more = [node("n3"), node("n4"), hyper("t", 2, below("s"))]
    found = answer(HARD, hyper("s", 1, *members), *labelled, *more, workers=3)
    first = next(item for item in found.findings if item.reason.startswith("Topology"))
    assert first.details[0].endswith(f"room for {room}")


def test_a_placed_gang_has_the_lowest_hypernode_of_all_its_pods() -> None:
    job = tfjob(workers=2)
    gang = group(job, 2, phase="Running", networkTopology={**HARD, "highestTierAllowed": 2})
    pods = [member(job, number, on=f"n{number + 1}") for number in range(2)]
    found = explained(job, gang, *pods, *LEAVES, SPINE)
    (tier,) = [item for item in found.findings if item.reason == "TopologyTier"]
    assert (tier.blocks, [ref.name for ref in tier.objects][-1]) == (False, "spine")
    assert "TopologyTier" not in [item.reason for item in explained(job, group(job, 2), *pods, *LEAVES, SPINE).findings]


@pytest.mark.parametrize(
    ("policy", "configuration"),
    [
        (HARD, CONFIGURATION.replace(", {name: network-topology-aware}", "")),
        ({"mode": "hard", "highestTierName": "rack"}, CONFIGURATION),
        ({"mode": "hard"}, CONFIGURATION),
    ],
)
def test_a_topology_that_volcano_leaves_out_is_told_and_blocks_nothing(policy: Object, configuration: str) -> None:
    assert told(answer(policy, *LEAVES, SPINE, configured(configuration))) == [("TopologyIgnored", False)]


def test_a_tier_has_a_name_from_1_14_on() -> None:
    named = [{**item, "spec": {**item["spec"], "tierName": "leaf"}} for item in LEAVES]
    assert told(answer({"highestTierName": "leaf"}, *named, SPINE)) == [("TopologyTooSmall", True)]


def test_without_hypernodes_the_cluster_is_the_only_tier_from_1_14_on() -> None:
    assert told(answer(HARD)) == []
    assert told(answer(HARD, version="v1.13.3")) == [("TopologyTooSmall", True)]


def test_what_may_not_be_read_or_is_not_understood_is_no_verdict() -> None:
    denied = Unread("Forbidden", "you may not list hypernodes.", "ask.")
    found = answer(HARD, unread={HYPERNODES: denied})
    assert told(found) == []
    assert denied in found.unread
    assert told(answer(HARD, hyper("s", 1, of_nodes(regexMatch={"pattern": "(?<n"})), SPINE)) == []
