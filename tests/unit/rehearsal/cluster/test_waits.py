"""When a node or a pod counts as ready, on objects as the API server gives them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubeflow_volcano.rehearsal.cluster import waits
from kubeflow_volcano.rehearsal.cluster.waits import exists, nodes_ready, pods_ready

START = datetime(2026, 1, 2, 3, 4, 5, 600000, tzinfo=UTC).timestamp()
BEFORE, AT, AFTER = "2026-01-02T03:04:04Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:09Z"


def node(name: str, ready: str, heartbeat: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat}
    return {"metadata": {"name": name}, "status": {"conditions": [condition]}}


def pod(ready: str, state: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p"} | meta,
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": "c", "state": state}],
        },
    }


@pytest.mark.parametrize(
    ("ready", "heartbeat", "missing"),
    [
        ("True", AFTER, ""),
        ("True", AT, ""),
        ("True", BEFORE, "node a to become Ready"),
        ("False", AFTER, "node a to become Ready"),
    ],
)
def test_a_node_is_ready_when_it_said_so_since_the_start(ready: str, heartbeat: str, missing: str) -> None:
    assert nodes_ready(["a"], START)({"a": node("a", ready, heartbeat)}) == missing


def test_every_node_must_be_there_and_long_lists_are_cut() -> None:
    missing = nodes_ready([f"n{number}" for number in range(9)], 0)({"n0": node("n0", "True", BEFORE)})

    assert missing.startswith("nodes n1, n2, n3, n4, n5 and 3 more ")
    assert nodes_ready([], 0)({}) == ""


def test_a_pod_is_ready_when_its_containers_started_since() -> None:
    ready = pods_ready("it", START)

    assert ready({"p": pod("True", {"running": {"startedAt": AFTER}})}) == ""
    assert ready({"p": pod("True", {"running": {"startedAt": BEFORE}})}).startswith("it ")
    assert ready({}).startswith("it ")


def test_a_waiting_pod_tells_why_and_one_that_goes_does_not_count() -> None:
    ready = pods_ready("it", 0)
    waiting = pod("False", {"waiting": {"reason": "ImagePullBackOff"}})
    fine = pod("True", {"running": {"startedAt": AFTER}})

    assert ready({"a": waiting}).endswith("(ImagePullBackOff)")
    assert ready({"a": fine, "b": waiting | {"metadata": {"name": "b", "deletionTimestamp": AFTER}}}) == ""


def test_existence() -> None:
    assert exists("the account")({}).startswith("the account ")
    assert exists("the account")({"default": {}}) == ""


def test_a_heartbeat_is_no_progress_but_a_condition_and_a_container_are() -> None:
    signs = {
        waits._signs({"a": obj})  # noqa: SLF001  what it tells apart decides when `up` gives up
        for obj in (
            node("a", "False", BEFORE),
            node("a", "False", AFTER),
            node("a", "True", AFTER),
            pod("False", {"waiting": {}}),
            pod("False", {"running": {}}),
        )
    }
    assert len(signs) == 4


def test_restarts_are_no_progress_for_ever() -> None:
    def restarted(times: int) -> dict[str, Any]:
        obj = pod("False", {"running": {}})
        obj["status"]["containerStatuses"][0]["restartCount"] = times
        return obj

    assert len({waits._signs({"a": restarted(times)}) for times in range(9)}) == 4  # noqa: SLF001  as above
