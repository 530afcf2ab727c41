"""When a gang counts as placed in part, by what a watch tells of it."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from tests.bench.gang_history import GangHistory, brief

PODS, GROUPS = Subject("v1", "Pod"), Subject("scheduling.volcano.sh/v1beta1", "PodGroup")


def pod(number: int, node: str = "") -> Object:
    return {"kind": "Pod", "metadata": {"name": f"member-{number}"}, "spec": {"nodeName": node} if node else {}}


def history(members: int, *news: tuple[float, Object]) -> GangHistory:
    found = GangHistory(members, 100.0)
    for at, obj in news:
        subject = PODS if obj["kind"] == "Pod" else GROUPS
        found.take(Change(subject, "MODIFIED", (obj,), 100.0 + at))
    return found


def test_a_gang_that_is_bound_one_after_the_other_without_a_stop_is_whole() -> None:
    found = history(
        3, *((0.1, pod(number)) for number in range(3)), *((1 + number, pod(number, "n")) for number in range(3))
    )
    assert found.whole
    assert (found.seconds, found.span, found.stall, found.early) == (3.0, 2.0, 1.0, 0)
    assert found.after_last == pytest.approx(2.9)
    assert not found.partial


def test_a_member_that_has_a_node_before_all_exist_is_a_gang_in_part() -> None:
    found = history(2, (0.1, pod(0)), (0.2, pod(0, "n")), (0.3, pod(1)), (0.4, pod(1, "n")))
    assert (found.whole, found.early, found.partial) == (True, 1, True)


def test_a_gang_of_which_one_is_refused_while_another_has_a_node_was_placed_in_part() -> None:
    refused = pod(1) | {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
    begin = ((0.0, pod(0)), (0.0, pod(1)))
    before = history(2, *begin, (1.0, refused), (2.0, pod(0, "n")), (9.0, pod(1, "n")))
    assert (before.left_behind, before.partial, before.stall) == (0, False, 7.0)
    after = history(2, *begin, (2.0, pod(0, "n")), (3.0, refused), (9.0, pod(1, "n")))
    assert (after.left_behind, after.partial) == (1, True)


def test_a_gang_that_never_becomes_whole_was_placed_in_part_unless_nobody_was() -> None:
    both = ((0.0, pod(0)), (0.0, pod(1)))
    assert history(2, *both, (1.0, pod(0, "n"))).partial
    found = history(2, *both)
    assert (found.partial, found.whole, found.seconds, found.span) == (False, False, 0.0, 0.0)


@pytest.mark.parametrize(("tasks", "judged"), [(2, 102.0), (1, None), (12, None)])
def test_it_is_judged_when_there_is_no_room_for_the_whole(tasks: int, judged: float | None) -> None:
    message = f"1/{tasks} tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable"
    group: Object = {"kind": "PodGroup", "metadata": {"name": "gang"}, "spec": {}}
    group["status"] = {"conditions": [{"type": "Unschedulable", "status": "True", "message": message}]}
    found = history(2, (2.0, group), (3.0, group))
    assert found.judged == judged
    assert found.facts()["bound"] == 0


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
