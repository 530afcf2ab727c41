"""Room that Volcano keeps for gangs that it admitted, and minResources that it never admits."""

from __future__ import annotations

import re

from tests.samples.jobs import configured, explained, group, member, reasons, tfjob


def test_room_that_an_admitted_gang_keeps_is_named() -> None:
    other, job = tfjob("other"), tfjob(workers=2)
    kept = group(other, 1, phase="Inqueue", cpu="8")
    (found,) = explained(job, group(job, 2, cpu="2"), kept).findings
    assert (found.reason, found.blocks) == ("ReservedByOthers", True)
    assert found.details == ("PodGroup team-a/other: 8 cpu",)
    assert reasons(explained(job, group(job, 2, cpu="2"), group(other, 1, phase="Inqueue", cpu="7"))) == ["Unexplained"]


def test_room_that_an_admitted_gang_keeps_is_named_beside_a_lack_of_room() -> None:
    other, busy, job = tfjob("other"), tfjob("busy"), tfjob(workers=2, cpu="3")
    around = [
        group(other, 1, phase="Inqueue", cpu="6"),
        group(busy, 1, phase="Running"),
        member(busy, on="n1", cpu="3"),
    ]
    found = explained(job, group(job, 2, cpu="6"), *around).findings
    assert [(item.reason, item.blocks) for item in found] == [("GangDoesNotFit", True), ("ReservedByOthers", False)]


def test_resources_that_the_cluster_does_not_have_are_reserved_by_nobody() -> None:
    other, job = tfjob("other"), tfjob(workers=2)
    waits = group(other, 1, phase="Inqueue", cpu="4")
    for around in ([], [waits]):
        (found,) = explained(job, group(job, 2, cpu="1000"), *around).findings
        assert found.reason == "MinResourcesTooHigh"
        assert re.search(r"1000 cpu of 9\.6 \(.* 2\)", found.problem.found)
        assert "wait" not in found.problem.todo


def test_resources_that_pods_of_others_hold_come_free() -> None:
    busy, job = tfjob("busy"), tfjob(workers=2)
    around = [group(busy, 1, phase="Running"), member(busy, on="n1", cpu="3")]
    (found,) = explained(job, group(job, 2, cpu="8"), *around).findings
    assert found.reason == "MinResourcesNotFree"
    assert re.search(r"8 cpu of 6\.6 \(.* 2\)", found.problem.found)
    assert "wait" in found.problem.todo
    assert reasons(explained(job, group(job, 2, cpu="8"))) == ["Unexplained"]


def test_a_gang_without_min_resources_is_admitted_whatever_is_kept_for_others() -> None:
    other, job = tfjob("other"), tfjob(workers=2)
    assert "ReservedByOthers" not in reasons(explained(job, group(job, 2), group(other, 1, phase="Inqueue", cpu="8")))


def test_without_action_enqueue_no_gang_keeps_room_that_it_does_not_use() -> None:
    other, job = tfjob("other"), tfjob(workers=2)
    kept = group(other, 1, phase="Inqueue", cpu="8")
    text = """
        actions: allocate, backfill
        tiers: [{plugins: [{name: gang}, {name: overcommit}, {name: predicates}, {name: proportion}]}]
    """
    assert reasons(explained(job, group(job, 2, cpu="2"), kept, configured(text))) == ["Unexplained"]
