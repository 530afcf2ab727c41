"""Whose cluster it is that gets simulated nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rehearsal.cluster.simulated_nodes import (
    PLATFORM_NODE,
    device_node,
    platform_node,
    require_rehearsal_cluster,
    sync,
)
from kubeflow_volcano.rehearsal.inside.placement import SIMULATED_LABEL
from kubeflow_volcano.rehearsal.spec import NodeKind, RehearsalSpec

VERSION = "v1.30.2"
NODE = f"/api/v1/nodes/{PLATFORM_NODE}"


def answered(api: Any, **labels: str) -> None:
    api.on("GET", "/api/v1", api.reply(200, {"resources": [{"kind": "Node", "name": "nodes", "namespaced": False}]}))
    meta = {"name": PLATFORM_NODE, "labels": labels}
    api.on("GET", NODE, api.reply(200, {"metadata": meta}))


def test_a_rehearsal_cluster_is_known_by_its_simulated_node(api: Any) -> None:
    answered(api, **{SIMULATED_LABEL: "true"})
    require_rehearsal_cluster(api.connect())


@pytest.mark.parametrize("there", [True, False])
def test_any_other_is_refused_before_it_gets_nodes_that_nobody_runs(api: Any, *, there: bool) -> None:
    answered(api)
    if not there:
        api.on("GET", NODE, api.status(404, "NotFound", "no such node"))
    with pytest.raises(InvalidInput, match=f"simulated node {PLATFORM_NODE}"):
        require_rehearsal_cluster(api.connect())
    assert {item.method for item in api.requests} == {"GET"}


def test_nodes_become_what_their_kind_describes_and_keep_what_others_gave_them(api: Any) -> None:
    answered(api)
    former = NodeKind("npu", 1, {"huawei.com/Ascend910": 8, "huawei.com/npu-core": 4}, {"servertype": "a", "old": "1"})
    node = device_node("npu-1", former, VERSION)
    node["metadata"]["labels"]["rack"] = "b"
    node["status"]["capacity"]["example.org/of-others"] = "1"
    live = [platform_node(VERSION), node, device_node("gpu-1", NodeKind("gpu", 1, {"nvidia.com/gpu": 1}), VERSION)]
    api.on("GET", "/api/v1/nodes", api.reply(200, {"items": live, "metadata": {"resourceVersion": "1"}}))
    api.on("GET", "/version", api.reply(200, {"gitVersion": VERSION}))
    for path in ("/api/v1/nodes/npu-1", "/api/v1/nodes/npu-1/status"):
        api.on("PATCH", path, api.reply(200, {}))
    kinds = (NodeKind("npu", 1, {"huawei.com/Ascend910": 4}, {"servertype": "b"}),)

    done = sync(api.connect(), RehearsalSpec(gpu_nodes=1, nodes=kinds))

    assert len(done) == 1
    meta, status = (item.body for item in api.requests if item.method == "PATCH")
    assert meta["metadata"]["labels"] == {"old": None, "servertype": "b"}
    changes = {"huawei.com/npu-core": None, "huawei.com/Ascend910": "4"}
    assert status["status"] == {"capacity": changes, "allocatable": changes}
