"""What the recorder makes of watch events, on literal ones: breaks, late news and evictions cannot be had on cue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster, Listing
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.experiment.record import Member, Recorder

PODS = Subject("v1", "Pod", "ns", "kfv.io/run=0a1b2c3d")
GROUPS = Subject("scheduling.volcano.sh/v1beta1", "PodGroup", "ns", "kfv.io/run=0a1b2c3d")


class Server:
    """Stands in for the one request that the recorder makes itself."""

    def __init__(self) -> None:
        self.pods: tuple[Object, ...] = ()

    def list(self, *_: str, **__: str) -> Listing:
        return Listing(self.pods, "9")


def recorder(changes: Sequence[Change | None] = (), server: Server | None = None) -> Recorder:
    return Recorder(cast("Cluster", server or Server()), "ns", PODS.labels, iter(changes))


def pod(name: str, *, node: str = "", since: str = "", reason: str = "Unschedulable", **status: Any) -> Object:
    conditions = []
    if node or since:
        said = {"type": "PodScheduled", "status": "True" if node else "False", "lastTransitionTime": since}
        conditions.append(said if node else said | {"reason": reason, "message": "no node"})
    conditions += status.pop("conditions", [])
    meta = {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:05Z"}
    spec = {"schedulerName": "volcano"} | ({"nodeName": node} if node else {})
    return {"metadata": meta, "spec": spec, "status": {"phase": "Pending", "conditions": conditions, **status}}


def group(*, phase: str = "", transition: str = "") -> Object:
    condition = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "transitionID": transition}
    status = ({"phase": phase} if phase else {}) | ({"conditions": [condition]} if transition else {})
    return {"metadata": {"name": "g", "uid": "uid-g"}, "spec": {"minMember": 3}, "status": status}


def news(kind: Any, *objects: Object, subject: Subject = PODS) -> Change:
    return Change(subject, kind, objects, 0.0)


def seen(record: Recorder, name: str = "a") -> Member:
    return record.members[f"uid-{name}"]


def test_a_binding_is_kept_with_its_node_and_time() -> None:
    record = recorder()
    record.take(news("ADDED", pod("a")))
    record.take(news("MODIFIED", pod("a", node="n1", since="2026-01-01T00:00:06Z")))
    assert (record.bound(), seen(record).node) == (("a",), "n1")
    assert seen(record).bound_at.endswith("Z")
    assert seen(record).bound_at != "2026-01-01T00:00:06Z"
    assert "n1" in record.timeline[1].what
    assert [item.event for item in record.timeline] == ["created", "bound"]


def test_a_binding_that_a_break_in_the_watch_hid_is_dated_by_the_server() -> None:
    record = recorder()
    record.take(news("RESET", pod("a")))
    record.take(news("RESET", pod("a", node="n1", since="2026-01-01T00:00:06Z")))
    assert seen(record).bound_at == "2026-01-01T00:00:06Z"


def test_a_pod_that_was_bound_stays_so_in_the_record_when_it_goes() -> None:
    record = recorder()
    record.take(news("ADDED", pod("a", node="n1")))
    record.take(news("DELETED", pod("a", node="n1")))
    assert (seen(record).node, record.bound()) == ("n1", ())


@pytest.mark.parametrize(
    ("condition", "judged"),
    [
        ({"since": "2026-01-01T00:00:05Z"}, True),
        ({"since": "2026-01-01T00:00:06Z", "reason": "Undetermined"}, True),
        ({"since": "2026-01-01T00:00:06Z", "reason": "SchedulingGated"}, False),
        ({"since": "2026-01-01T00:00:04Z"}, False),
        ({}, False),
    ],
    ids=["same second", "any reason", "gated by the server", "older than the pod", "no condition"],
)
def test_judged_is_what_a_scheduler_wrote_after_the_creation(condition: dict[str, str], *, judged: bool) -> None:
    record = recorder()
    record.take(news("ADDED", pod("a", since=condition.get("since", ""), reason=condition.get("reason", "x"))))
    assert bool(seen(record).judged) is judged


@pytest.mark.parametrize(
    ("status", "judged"),
    [
        (group(phase="Inqueue", transition="7f"), True),
        (group(phase="Inqueue"), False),
        (group(transition="7f"), False),
        (group(), False),
    ],
)
def test_a_group_is_judged_with_a_phase_and_a_condition_with_an_id(status: Object, *, judged: bool) -> None:
    record = recorder()
    record.take(news("ADDED", status, subject=GROUPS))
    assert bool(record.groups["uid-g"].judged) is judged


def test_a_group_that_ran_meanwhile_was_still_judged() -> None:
    record = recorder()
    record.take(news("ADDED", group(phase="Inqueue", transition="7f"), subject=GROUPS))
    record.take(news("MODIFIED", group(phase="Running"), subject=GROUPS))
    assert record.groups["uid-g"].judged
    assert record.groups["uid-g"].phase == "Running"


def test_a_pod_that_another_client_deletes_is_lost() -> None:
    record = recorder()
    record.take(news("ADDED", pod("a")))
    record.take(news("DELETED", pod("a")))
    assert "another client" in seen(record).lost


def test_a_pod_that_the_probe_deletes_is_not_lost() -> None:
    record = recorder()
    record.take(news("ADDED", pod("a")))
    record.expect(pod("a"))
    record.take(news("DELETED", pod("a", phase="Failed")))
    assert (seen(record).lost, seen(record).gone) == ("", True)


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Failed", "reason": "Evicted"},
        {"conditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ],
)
def test_an_evicted_pod_is_lost(status: dict[str, Any]) -> None:
    record = recorder()
    record.take(news("ADDED", pod("a", node="n1")))
    record.take(news("MODIFIED", pod("a", node="n1", **status)))
    assert seen(record).lost


def test_a_pod_that_vanished_in_a_break_is_lost() -> None:
    record = recorder()
    record.take(news("RESET", pod("a")))
    record.take(news("RESET"))
    assert "vanished" in seen(record).lost


def test_a_pod_that_only_the_last_look_has_seen_does_not_vanish_by_an_older_list() -> None:
    server = Server()
    server.pods = (pod("a", node="n1"),)
    record = recorder(server=server)
    record.look()
    record.take(news("RESET"))
    assert (seen(record).lost, record.bound()) == ("", ("a",))


def test_the_last_look_finds_a_binding_that_the_watch_has_not_told() -> None:
    server = Server()
    record = recorder(server=server)
    record.take(news("RESET", pod("a")))
    server.pods = (pod("a", node="n1"),)
    record.look()
    assert record.bound() == ("a",)


def test_every_set_of_bound_names_is_kept_in_order() -> None:
    record = recorder()
    record.take(news("RESET", pod("a"), pod("b")))
    record.take(news("MODIFIED", pod("b", node="n1")))
    record.take(news("MODIFIED", pod("b", node="n1")))
    record.take(news("MODIFIED", pod("a", node="n1")))
    assert record.states == [(), ("b",), ("a", "b")]


def test_waiting_follows_events_until_the_condition_holds() -> None:
    record = recorder([None, news("ADDED", pod("a")), news("MODIFIED", pod("a", node="n1")), news("ADDED", pod("b"))])
    assert record.until(lambda: bool(record.bound()), 5)
    assert len(record.members) == 1


def test_waiting_ends_at_its_limit() -> None:
    def ticks() -> Iterator[None]:
        while True:
            yield None

    record = recorder()
    record.changes = ticks()
    assert not record.until(lambda: False, 0.05)


@pytest.mark.parametrize(("subject", "taken"), [(PODS, 12), (GROUPS, 3)])
def test_news_of_pods_renews_a_wait_up_to_five_times(
    subject: Subject, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)

    def changes() -> Iterator[Change]:
        nonlocal now
        for _ in range(20):
            now += 5.0
            yield news("MODIFIED", subject=subject)

    record = recorder()
    record.changes = changes()
    assert not record.wait_for(lambda: False, 12.0)
    assert now == 5.0 * taken


def test_the_end_of_the_stream_is_no_verdict() -> None:
    with pytest.raises(TimeoutError, match="common time limit"):
        recorder([None]).until(lambda: False, 5)


def test_a_new_step_forgets_what_is_gone() -> None:
    record = recorder()
    record.take(news("RESET", pod("a"), pod("b")))
    record.expect(pod("a"))
    record.take(news("DELETED", pod("a")))
    record.begin()
    assert list(record.members) == ["uid-b"]
    assert (record.timeline, record.states) == ([], [])


def test_a_pod_that_has_succeeded_has_ended_and_is_still_there() -> None:
    record = recorder()
    record.take(news("ADDED", pod("a", node="n1")))
    for _ in range(2):
        record.take(news("MODIFIED", pod("a", node="n1", phase="Succeeded")))
    assert (bool(seen(record).ended), seen(record).gone, seen(record).lost) == (True, False, "")
    assert [item.event for item in record.timeline] == ["created", "bound", "ended"]


def test_a_list_of_one_namespace_says_nothing_of_the_pods_and_groups_of_another() -> None:
    other_pods, other_groups = (replace(item, namespace="other") for item in (PODS, GROUPS))
    record = recorder()
    record.take(news("RESET", pod("a")))
    record.take(news("RESET", group(phase="Inqueue"), subject=GROUPS))
    record.take(news("RESET", pod("b"), subject=other_pods))
    record.take(news("RESET", subject=other_groups))
    assert [item.gone for item in record.members.values()] == [False, False]
    assert [item.gone for item in record.groups.values()] == [False]
    record.take(news("RESET"))
    assert (seen(record).gone, seen(record, "b").gone) == (True, False)
