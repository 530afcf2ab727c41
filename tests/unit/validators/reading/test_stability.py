"""What counts as a turn for the worse between two sights of a pod."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Literal

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.reading import stability
from kubeflow_volcano.validators.reading.stability import Turns, Watch
from tests.samples.facts import NOW, instant, pod

PODS = Subject("v1", "Pod")
NOT_READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}


class Kept(dict[str, Any]):
    """A pod that weak references can name."""


def turns(before: Object, after: Object, kind: Literal["RESET", "MODIFIED"] = "MODIFIED") -> tuple[int, int]:
    found = Turns()
    found.take(Change(PODS, "RESET", (before,), 0.0))
    found.take(Change(PODS, kind, (after,), 1.0))
    return found.flapped.total(), found.restarted.total()


def restarted(times: int) -> Object:
    found = pod("default/a")
    found["status"]["containerStatuses"][0]["restartCount"] = times
    return found


def test_ready_to_not_ready_is_a_turn_and_the_way_back_is_none() -> None:
    assert turns(pod("default/a"), pod("default/a", status=NOT_READY)) == (1, 0)
    assert turns(pod("default/a", status=NOT_READY), pod("default/a")) == (0, 0)
    assert turns(pod("default/a"), pod("default/a")) == (0, 0)


def test_a_turn_during_a_break_of_the_watch_is_seen_behind_it() -> None:
    assert turns(pod("default/a"), pod("default/a", status=NOT_READY), "RESET") == (1, 0)


def test_restarts_are_counted() -> None:
    assert turns(restarted(1), restarted(3)) == (0, 2)


@pytest.mark.parametrize(
    "after",
    [
        {"status": NOT_READY | {"phase": "Succeeded"}},
        {"status": NOT_READY, "metadata": {"deletionTimestamp": instant(1)}},
        {"status": NOT_READY, "owner": "Job/j"},
        {"status": NOT_READY, "metadata": {"labels": {"kfv.io/run": "1"}}},
        {"status": NOT_READY, "metadata": {"uid": "another pod of that name"}},
    ],
)
def test_an_end_on_purpose_and_pods_of_probes_do_not_count(after: dict[str, Any]) -> None:
    assert turns(pod("default/a"), pod("default/a", **after)) == (0, 0)


@pytest.mark.parametrize(("seconds", "late"), [(59, 1), (61, 0)])
def test_a_young_pod_that_is_not_ready_is_waited_for(seconds: float, late: int) -> None:
    found = Turns()
    young = pod("default/a", status=NOT_READY, metadata={"creationTimestamp": instant(seconds)})
    found.take(Change(PODS, "RESET", (young, pod("default/b")), 0.0))
    assert len(found.late(NOW, 60.0)) == late
    found.take(Change(PODS, "DELETED", (young,), 1.0))
    assert found.late(NOW, 60.0) == []


def ready(since: float) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": instant(since)}]}


def test_a_turn_there_and_back_that_nobody_saw_shows_by_its_time() -> None:
    assert turns(pod("default/a", status=ready(60)), pod("default/a", status=ready(2)), "RESET") == (1, 0)
    assert turns(pod("default/a", status=ready(60)), pod("default/a", status=ready(60)), "RESET") == (0, 0)


def test_the_window_is_as_long_as_everything_was_told() -> None:
    found = Turns()
    for kind, at in (("RESET", 100.0), ("MODIFIED", 104.0), ("CURRENT", 105.0), ("MODIFIED", 109.0)):
        found.take(Change(PODS, kind, (pod("default/a"),) if kind != "CURRENT" else (), at))  # type: ignore[arg-type]
    assert found.watched == 5.0
    found.take(Change(PODS, "RESET", (), 111.0))
    assert (found.watched, found.pods) == (11.0, {})


def test_while_pods_are_listed_again_only_what_is_compared_is_kept_of_the_old_ones() -> None:
    found, old = Turns(), pod("default/a", status=ready(60))
    left = weakref.ref(old_pod := Kept(old))
    found.take(Change(PODS, "RESET", (old_pod,), 0.0))
    del old_pod
    found.take(Change(PODS, "LOST", (), 1.0))
    gc.collect()
    assert (left(), found.pods, found.watched) == (None, {}, 0.0)
    found.take(Change(PODS, "LOST", (), 2.0))  # the list was tried and did not come
    found.take(Change(PODS, "RESET", (pod("default/a", status=ready(2)),), 3.0))
    assert found.flapped.total() == 1
    assert found.watched == 3.0


def test_pods_are_those_of_the_end() -> None:
    found = Turns()
    found.take(Change(PODS, "RESET", (pod("default/a"), pod("default/b")), 0.0))
    found.take(Change(PODS, "DELETED", (pod("default/a"),), 1.0))
    found.take(Change(PODS, "MODIFIED", (pod("default/b", status=NOT_READY),), 2.0))
    assert [(item["metadata"]["name"], item["status"]) for item in found.pods.values()] == [("b", NOT_READY)]


def test_a_list_in_many_slow_pages_has_the_time_that_it_takes(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stability, "_SILENT_SECONDS", 2.0)

    def serve(request: Any) -> Any:
        if "watch" in request.query:
            return api.reply(lines=[], hold=float(request.query["timeoutSeconds"]))
        api.stop.wait(0.6)
        number = int(request.query.get("continue", 0))
        meta = {"resourceVersion": "5"} | ({"continue": str(number + 1)} if number < 5 else {})
        return api.reply(body={"metadata": meta, "items": [pod(f"default/p{number}")]})

    api.on("GET", "/api/v1/pods", serve)
    with Watch(api.connect(), seconds=0.2, grace_seconds=0.0) as watch:
        _, pods = watch.seen(silent)
    assert len(pods) == 6
