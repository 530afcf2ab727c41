"""Fragmentation as a figure, and the oracles of spreading and packing on watch histories written by hand."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from validators.scenarios.binpack import CASES, contradicted, fragmentation, manifest, whole, withheld
from validators.scenarios.testing import deleted, group, history, pod

JOB = "whole-nodes"
MEMBERS = (f"{JOB}-master-0", f"{JOB}-worker-0", f"{JOB}-worker-1")


def member(name: str, *, node: str = "", judged: bool = False) -> Object:
    return pod(name, node=node, judged=judged, job=JOB)


@pytest.mark.parametrize(
    ("free", "share"),
    [
        ([3, 3, 3, 3], 1.0),
        ([0, 4, 4, 4], 0.0),
        ([2, 2, 4, 4], pytest.approx(1 / 3)),
        ([0, 0, 0, 0], 0.0),
        ([], 0.0),
    ],
)
def test_fragmentation_is_the_share_of_free_gpus_that_a_member_cannot_use(free: list[int], share: float) -> None:
    assert fragmentation(free, 4) == share


def test_fragmentation_depends_on_what_is_asked_for() -> None:
    assert [fragmentation([1, 2, 3], asked) for asked in (1, 3, 4)] == [0.0, 0.5, 1.0]


def test_only_the_scheduler_of_the_small_pods_differs() -> None:
    spread, packed = (manifest("n", packed=packed) for packed in (False, True))

    assert {item["spec"]["schedulerName"] for item in spread[:-1]} == {"default-scheduler"}
    assert {item["spec"]["schedulerName"] for item in packed[:-1]} == {"volcano"}
    assert spread[-1] == packed[-1]
    assert {case.wiring for case in CASES} == {"volcano"}


def test_withheld_counts_only_when_every_member_and_the_group_were_judged() -> None:
    judged = [member(name, judged=True) for name in MEMBERS]

    assert withheld(history(group("Inqueue", 3, name=JOB), *judged))
    assert not withheld(history(group("Inqueue", 3, name=JOB, judged=False), *judged))
    assert not withheld(history(group("Inqueue", 3, name=JOB), *judged[:2], member(MEMBERS[2])))
    assert not withheld(history(group("Inqueue", 3, name=JOB), *judged[:2]))


def test_a_member_that_had_a_node_for_a_moment_contradicts_the_spread_case() -> None:
    bound = member(MEMBERS[0], node="gpu-1")
    seen = deleted(history(bound), bound)

    assert "1 of 3 members got a node" in contradicted(seen, packed=False)
    assert contradicted(seen, packed=True) == ""


def test_whole_when_all_three_have_a_node() -> None:
    gang, placed = group("Running", 3, name=JOB), [member(name, node="gpu-1") for name in MEMBERS]

    assert whole(history(gang, *placed))
    assert not whole(history(gang, *placed[:2], member(MEMBERS[2])))


def test_pods_that_belong_to_no_gang_are_no_whole_one() -> None:
    assert not whole(history(*(member(name, node="gpu-1") for name in MEMBERS)))


def test_members_that_stay_placed_in_part_contradict_the_packed_case() -> None:
    seen = history(member(MEMBERS[0], node="gpu-1"))
    seen.holdings = [(at - 10.0, names) for at, names in seen.holdings]

    assert "some of its nodes and not all for 10" in contradicted(seen, packed=True)


def test_the_name_of_the_gang_begins_no_other_name() -> None:
    *small, gang = manifest("n", packed=True)

    assert not [item for item in small if item["metadata"]["name"].startswith(gang["metadata"]["name"])]
