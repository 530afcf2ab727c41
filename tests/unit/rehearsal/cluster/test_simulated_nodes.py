"""Whose cluster it is that gets simulated nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rehearsal.cluster.simulated_nodes import PLATFORM_NODE, require_rehearsal_cluster
from kubeflow_volcano.rehearsal.inside.placement import SIMULATED_LABEL

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
