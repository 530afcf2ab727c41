"""A watch has no gaps: whatever ends the stream, the next thing told is the whole state."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline

MAPS = "/api/v1/namespaces/ns/configmaps"
SUBJECT = Subject("v1", "ConfigMap", "ns")


def item(name: str, version: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": version}}


def listing(version: str, *names: str) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version}, "items": [item(name, version) for name in names]}


def event(kind: str, name: str, version: str) -> dict[str, Any]:
    return {"type": kind, "object": item(name, version)}


def script(api: Any, *steps: Any) -> None:
    """Answer the list and watch requests of MAPS in turn: a dict is a list, a list of events is a stream that ends."""
    answers: Iterator[Any] = iter(steps)

    def serve(request: Any) -> Any:
        step = next(answers, None)
        if step is None:
            return api.reply(lines=[], hold=3600.0) if "watch" in request.query else api.reply(body=listing("99"))
        if isinstance(step, list):
            assert "watch" in request.query
            return api.reply(lines=step)
        return step if not isinstance(step, dict) else api.reply(body=step)

    api.on("GET", MAPS, serve)


def told(api: Any, count: int, seconds: float = 60.0) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    with Observer(api.connect(), [SUBJECT], Deadline(seconds)) as observer:
        for change in observer.changes(tick=0.2):
            if change:
                found.append((change.type, [obj["metadata"]["name"] for obj in change.objects]))
            if len(found) == count:
                break
    return found


def test_changes_follow_the_list(api: Any) -> None:
    script(api, listing("5", "a"), [event("ADDED", "b", "6"), event("MODIFIED", "a", "7"), event("DELETED", "b", "8")])
    assert told(api, 4) == [("RESET", ["a"]), ("ADDED", ["b"]), ("MODIFIED", ["a"]), ("DELETED", ["b"])]


def test_a_stream_that_ends_goes_on_from_where_it_was(api: Any) -> None:
    script(api, listing("5", "a"), [event("ADDED", "b", "6")], [event("ADDED", "c", "7")])
    assert told(api, 3) == [("RESET", ["a"]), ("ADDED", ["b"]), ("ADDED", ["c"])]
    versions = [request.query["resourceVersion"] for request in api.seen("GET", MAPS) if "watch" in request.query]
    assert versions[:2] == ["5", "6"]


def test_bookmarks_move_on_without_being_told(api: Any) -> None:
    script(api, listing("5", "a"), [event("BOOKMARK", "", "9")], [event("ADDED", "c", "10")])
    assert told(api, 2) == [("RESET", ["a"]), ("ADDED", ["c"])]
    versions = [request.query["resourceVersion"] for request in api.seen("GET", MAPS) if "watch" in request.query]
    assert versions[:2] == ["5", "9"]


def test_history_that_is_gone_brings_a_new_list(api: Any) -> None:
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}
    script(api, listing("5", "a"), [gone], listing("50", "b"))
    assert told(api, 2) == [("RESET", ["a"]), ("RESET", ["b"])]


def test_refused_watch_with_410_brings_a_new_list(api: Any) -> None:
    script(api, listing("5", "a"), api.status(410, "Expired", "too old"), listing("50", "b"))
    assert told(api, 2) == [("RESET", ["a"]), ("RESET", ["b"])]


def test_a_stream_that_is_cut_in_the_middle_brings_a_new_list(api: Any) -> None:
    cut = api.reply(lines=[event("ADDED", "b", "6")], cut=True)
    script(api, listing("5", "a"), cut, listing("50", "b"))
    assert told(api, 3) == [("RESET", ["a"]), ("ADDED", ["b"]), ("RESET", ["b"])]


def test_connection_that_is_cut_brings_a_new_list(api: Any) -> None:
    script(api, listing("5", "a"), api.reply(reset=True), listing("50", "b"))
    assert told(api, 2) == [("RESET", ["a"]), ("RESET", ["b"])]


def test_a_server_that_is_away_for_a_moment_is_asked_again(api: Any) -> None:
    script(api, api.status(503, "ServiceUnavailable", "starting"), listing("5", "a"))
    assert told(api, 1) == [("RESET", ["a"])]


def test_what_may_not_be_read_ends_the_iteration(api: Any) -> None:
    script(api, api.status(403, "Forbidden", "may not list"))
    with pytest.raises(ApiError, match="may not list"):
        told(api, 1)


def test_a_kind_that_is_not_served_is_empty_until_it_is(api: Any) -> None:
    subject = Subject("kubeflow.org/v1", "TFJob", "ns")
    found: list[int] = []
    with Observer(api.connect(), [subject], Deadline(60)) as observer:
        for change in observer.changes(tick=0.2):
            if change:
                found.append(len(change.objects))
                resources = [{"kind": "TFJob", "name": "tfjobs", "namespaced": True}]
                api.on("GET", "/apis/kubeflow.org/v1", api.reply(body={"resources": resources}))
                api.on("GET", "/apis/kubeflow.org/v1/namespaces/ns/tfjobs", api.reply(body=listing("5", "job")))
            if found and found[-1]:
                break
    assert found == [0, 1]


def test_the_end_does_not_wait_for_open_streams(api: Any) -> None:
    script(api, listing("5", "a"))
    with Observer(api.connect(), [SUBJECT], Deadline(60)) as observer:
        assert next(observer.changes()) is not None
    api.stop.set()


def test_changes_end_at_the_deadline(api: Any) -> None:
    script(api, listing("5", "a"))
    assert told(api, 99, seconds=0.6) == [("RESET", ["a"])]


def test_what_hangs_counts_as_a_break(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._LATE_SECONDS", 0.2)
    monkeypatch.setattr("kubeflow_volcano.cluster.watch.observer._STRETCH_SECONDS", 1.0)
    hung = api.reply(lines=[event("ADDED", "b", "6")], hold=3600.0)
    script(api, listing("5", "a"), hung, listing("50", "c"))
    found = told(api, 3)
    api.stop.set()
    assert found == [("RESET", ["a"]), ("ADDED", ["b"]), ("RESET", ["c"])]


def dear(api: Any, count: int) -> list[tuple[str, list[str]]]:
    """What a caller that sets `stretch` receives."""
    with Observer(api.connect(), [SUBJECT], Deadline(60), stretch=1.0) as observer:
        changes = (item for item in observer.changes(tick=0.2) if item)
        return [
            (item.type, [obj["metadata"]["name"] for obj in item.objects]) for item in itertools.islice(changes, count)
        ]


def test_what_is_dear_to_list_is_watched_on_after_a_break_from_what_was_told_last(api: Any) -> None:
    cut = api.reply(lines=[event("ADDED", "b", "6")], cut=True)
    busy = api.status(429, "TooManyRequests", "slow down")
    script(api, listing("5", "a"), cut, busy, [event("ADDED", "c", "7")])
    assert dear(api, 4) == [("RESET", ["a"]), ("ADDED", ["b"]), ("ADDED", ["c"]), ("CURRENT", [])]
    watched = [request.query["resourceVersion"] for request in api.seen("GET", MAPS) if "watch" in request.query]
    assert watched[:3] == ["5", "6", "6"]


def test_a_watch_that_is_broken_time_and_again_is_replaced_by_a_list(api: Any) -> None:
    script(api, listing("5", "a"), *[api.reply(reset=True)] * 4, listing("50", "b"))
    assert dear(api, 3) == [("RESET", ["a"]), ("LOST", []), ("RESET", ["b"])]


@pytest.mark.parametrize("status", [200, 410])
def test_before_a_new_list_it_is_told_that_the_old_one_is_outdated(api: Any, status: int) -> None:
    gone = [{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}]
    script(api, listing("5", "a"), gone if status == 200 else api.status(status, "Expired", "old"), listing("50", "b"))
    assert dear(api, 3) == [("RESET", ["a"]), ("LOST", []), ("RESET", ["b"])]


def test_the_end_of_a_stream_says_that_everything_was_told_where_somebody_asks_for_it(api: Any) -> None:
    script(api, listing("5", "a"), [event("ADDED", "b", "6")], [])
    with Observer(api.connect(), [SUBJECT], Deadline(60), stretch=2.0) as observer:
        changes = (item for item in observer.changes(tick=0.2) if item)
        found = [item.type for item in itertools.islice(changes, 4)]
    assert found == ["RESET", "ADDED", "CURRENT", "CURRENT"]
    streams = [request.query for request in api.seen("GET", MAPS) if "watch" in request.query]
    assert {query["timeoutSeconds"] for query in streams} == {"2"}


def test_objects_are_trimmed_as_they_come(api: Any) -> None:
    script(api, listing("5", "a"), [event("ADDED", "b", "6")])

    def trim(obj: dict[str, Any]) -> None:
        obj["metadata"].pop("resourceVersion")

    with Observer(api.connect(), [SUBJECT], Deadline(60), trim=trim) as observer:
        changes = (item for item in observer.changes(tick=0.2) if item)
        found = [sorted(item.objects[0]["metadata"]) for item in itertools.islice(changes, 2)]
    assert found == [["name"], ["name"]]


def test_a_server_that_asks_for_time_gets_it(api: Any) -> None:
    busy = api.status(429, "TooManyRequests", "slow down", Retry_After="1")
    script(api, listing("5", "a"), busy, listing("50", "b"))
    started = time.monotonic()
    assert told(api, 2) == [("RESET", ["a"]), ("RESET", ["b"])]
    assert time.monotonic() - started >= 1.0


def test_a_token_that_expires_between_two_streams_is_loaded_anew(api: Any) -> None:
    def answers(request: Any) -> Any:
        if request.headers["authorization"] == "Bearer first" and "watch" in request.query:
            api.write_kubeconfig("second")
            return api.status(401, "Unauthorized", "expired")
        return api.reply(lines=[event("ADDED", "b", "6")]) if "watch" in request.query else api.reply(body=listing("5"))

    api.on("GET", MAPS, answers)
    assert told(api, 2) == [("RESET", []), ("ADDED", ["b"])]


def test_a_list_of_another_shape_reaches_the_caller_at_once(api: Any) -> None:
    script(api, {"metadata": {}, "items": []})
    with pytest.raises(ApiError, match="another shape"):
        told(api, 1, 3600)
