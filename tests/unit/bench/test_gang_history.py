"""When a gang counts as placed in part, by what a watch tells of it."""

from __future__ import annotations

from typing import Literal

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from tests.bench.gang_history import GangHistory, brief

PODS = Subject("v1", "Pod")


def pod(number: int, node: str = "", gang: str = "member") -> Object:
    return {"kind": "Pod", "metadata": {"name": f"{gang}-{number}"}, "spec": {"nodeName": node} if node else {}}


def refused(number: int) -> Object:
    return pod(number) | {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}


def tell(found: GangHistory, at: float, obj: Object, kind: Literal["MODIFIED", "DELETED"] = "MODIFIED") -> None:
    found.take(Change(PODS, kind, (obj,), 100.0 + at))


def history(members: int, *news: tuple[float, Object]) -> GangHistory:
    found = GangHistory("member", members, 100.0)
    for at, obj in news:
        tell(found, at, obj)
    return found


def test_a_gang_that_is_bound_one_after_the_other_without_a_stop_is_whole() -> None:
    found = history(
        3, *((0.1, pod(number)) for number in range(3)), *((1 + number, pod(number, "n")) for number in range(3))
    )
    assert found.whole
    assert (found.seconds, found.span, found.pause, found.early) == (3.0, 2.0, 1.0, 0)
    assert found.after_last == pytest.approx(2.9)
    assert not found.partial


def test_a_member_that_has_a_node_before_all_exist_is_a_gang_in_part() -> None:
    found = history(2, (0.1, pod(0)), (0.2, pod(0, "n")), (0.3, pod(1)), (0.4, pod(1, "n")))
    assert (found.whole, found.early, found.partial) == (True, 1, True)


def test_a_gang_of_which_one_is_refused_while_another_has_a_node_was_placed_in_part() -> None:
    begin = ((0.0, pod(0)), (0.0, pod(1)))
    before = history(2, *begin, (1.0, refused(1)), (2.0, pod(0, "n")), (9.0, pod(1, "n")))
    assert (before.left_behind, before.partial, before.pause) == (0, False, 7.0)
    after = history(2, *begin, (2.0, pod(0, "n")), (3.0, refused(1)), (9.0, pod(1, "n")))
    assert (after.left_behind, after.partial) == (1, True)


def test_a_gang_that_never_becomes_whole_was_placed_in_part_unless_nobody_was() -> None:
    both = ((0.0, pod(0)), (0.0, pod(1)))
    assert history(2, *both, (1.0, pod(0, "n"))).partial
    found = history(2, *both)
    assert (found.partial, found.whole, found.seconds, found.span) == (False, False, 0.0, 0.0)


def test_it_is_judged_when_every_member_has_been_refused_once() -> None:
    found = history(2, (1.0, refused(0)))
    assert (found.judged, found.settled) == (None, False)
    tell(found, 2.0, refused(1))
    tell(found, 3.0, refused(0))
    assert (found.judged, found.settled, found.latest) == (2.0, True, 102.0)
    assert found.facts()["held"] == 0


def test_a_member_that_is_deleted_holds_its_node_no_longer() -> None:
    found = history(3, *((float(number), pod(number, "n")) for number in range(3)))
    assert (found.whole, found.held) == (True, 3)
    evicted = pod(0, "n")
    evicted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    tell(found, 4.0, evicted)
    tell(found, 5.0, pod(1, "n"), "DELETED")
    assert (found.whole, found.held, found.latest) == (True, 1, 105.0)


def test_pods_of_other_gangs_do_not_count() -> None:
    found = history(1, (1.0, pod(0, "n", gang="member-of-another")), (2.0, pod(0, "n", gang="other")))
    assert (found.seen, found.held) == ({}, 0)


def test_what_is_not_read_is_not_kept() -> None:
    obj = pod(0, "n") | {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    obj["metadata"] |= {"managedFields": [1]}
    brief(obj)
    assert obj == {
        "kind": "Pod",
        "metadata": {"name": "member-0"},
        "spec": {"nodeName": "n"},
        "status": {"conditions": []},
    }
