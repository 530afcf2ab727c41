"""A Node is ready when its condition says so and its kubelet still does."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.hosts.node_ready import has_cluster, transient_pods, unready, wait_until_ready

NODE, LEASE = "/api/v1/nodes/n", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n"
AT = datetime(2026, 11, 22, 1, 0, tzinfo=UTC)
SINCE = AT.timestamp()


@pytest.fixture
def cluster(api: Any) -> Any:
    """A cluster that serves Nodes and Leases."""
    for path, kind, plural in (
        ("/api/v1", ("Node", "Pod"), ("nodes", "pods")),
        ("/apis/coordination.k8s.io/v1", ("Lease",), ("leases",)),
    ):
        resources = [
            {"name": name, "kind": each, "namespaced": each != "Node", "verbs": ["get", "list"]}
            for each, name in zip(kind, plural, strict=True)
        ]
        api.on("GET", path, api.reply(body={"kind": "APIResourceList", "resources": resources}))
    return api.connect()


def node(status: str = "True", message: str = "") -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": status, "message": message}] if status else []
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"conditions": conditions}}


def lease(seconds_later: float) -> dict[str, Any]:
    renewed = datetime.fromtimestamp(SINCE + seconds_later, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"metadata": {"name": "n"}, "spec": {"renewTime": renewed}}


def test_a_node_that_says_ready_and_whose_lease_is_newer_is_ready(api: Any, cluster: Any) -> None:
    api.on("GET", NODE, api.reply(body=node()))
    api.on("GET", LEASE, api.reply(body=lease(0.5)))
    assert unready(cluster, "n", SINCE) == ""


def test_a_condition_that_nobody_renewed_is_not_believed(api: Any, cluster: Any) -> None:
    api.on("GET", NODE, api.reply(body=node()))
    api.on("GET", LEASE, api.reply(body=lease(-7)))
    assert re.search("Lease .*7 s", unready(cluster, "n", SINCE) or "")
    assert unready(cluster, "n") == ""


def test_a_node_without_a_lease_is_not_ready(api: Any, cluster: Any) -> None:
    api.on("GET", NODE, api.reply(body=node()))
    assert "no Lease" in (unready(cluster, "n", SINCE) or "")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (node("False", "runtime is down"), "its condition Ready is False (runtime is down)"),
        (node("Unknown", "stopped posting"), "its condition Ready is Unknown (stopped posting)"),
        (node(""), "it has no condition Ready"),
    ],
)
def test_a_node_that_is_not_ready_is_told_with_its_reason(api: Any, cluster: Any, found: Any, told: str) -> None:
    api.on("GET", NODE, api.reply(body=found))
    assert unready(cluster, "n", SINCE) == told


def test_a_host_that_is_no_node_is_told_apart(cluster: Any) -> None:
    assert unready(cluster, "n", SINCE) is None


def test_a_wait_ends_when_the_kubelet_is_back(api: Any, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.hosts.node_ready._LOOK_SECONDS", 0.01)
    api.on("GET", NODE, api.reply(body=node("False", "x")), api.reply(body=node()))
    api.on("GET", LEASE, api.reply(body=lease(-1)), api.reply(body=lease(3)))
    assert wait_until_ready(cluster, "n", SINCE, 20) == ""


def test_a_wait_that_is_over_tells_what_was_missing(api: Any, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.hosts.node_ready._LOOK_SECONDS", 0.01)
    api.on("GET", NODE, api.reply(body=node()))
    api.on("GET", LEASE, api.reply(body=lease(-5)))
    assert re.search("Lease .*5 s", wait_until_ready(cluster, "n", SINCE, 0.05))


def test_pods_that_a_restart_would_meet_on_their_way_are_told(api: Any, cluster: Any) -> None:
    def pod(name: str, phase: str, **metadata: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "namespace": "ns", **metadata}, "status": {"phase": phase}}

    pods = [
        pod("steady", "Running"),
        pod("done", "Succeeded"),
        pod("new", "Pending"),
        pod("going", "Running", deletionTimestamp="2026-11-22T01:00:00Z"),
    ]
    api.on("GET", "/api/v1/pods", api.reply(body={"metadata": {"resourceVersion": "1"}, "items": pods}))
    assert transient_pods(cluster, "n") == ("ns/going", "ns/new")
    assert api.seen("GET", "/api/v1/pods")[0].query["fieldSelector"] == "spec.nodeName=n"


def test_a_cluster_is_where_something_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert not has_cluster(None)
    assert has_cluster(tmp_path / "named")
    file = tmp_path / "mine"
    file.touch()
    monkeypatch.setenv("KUBECONFIG", f"/nowhere:{file}")
    assert has_cluster(None)
