"""The directory of each node: from the variables of hosts, and of nodes that are no hosts of the inventory."""

from __future__ import annotations

import pytest

from kubeflow_volcano.rollout.settings.node_paths import contradictions, node_paths
from kubeflow_volcano.rollout.settings.per_host import judged

BASE = "local_path_base_directory"


def test_only_hosts_with_a_directory_of_their_own_are_named() -> None:
    hosts = {"a": {BASE: "/data"}, "b": {BASE: "/fast"}, "c": {}}
    assert node_paths({BASE: "/data"}, hosts) == {"b": "/fast"}


def test_the_name_is_that_of_the_node() -> None:
    assert node_paths({}, {"a": {BASE: "/data", "kubeflow_node_name": "node-a"}}) == {"node-a": "/data"}


def test_nodes_outside_of_the_inventory_keep_what_is_said_of_them() -> None:
    cluster = {"local_path_node_paths": {"far": "/far"}}
    assert node_paths(cluster, {"a": {BASE: "/data"}}) == {"a": "/data", "far": "/far"}
    assert list(contradictions(cluster, {"a": {BASE: "/data"}})) == []


def test_two_directories_for_one_node_are_refused() -> None:
    cluster = {"local_path_node_paths": {"a": "/one"}}
    (problem,) = contradictions(cluster, {"a": {BASE: "/two"}, "b": {BASE: "/two"}})
    assert "local_path_base_directory of a is /two, and local_path_node_paths.a is /one" in problem.found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("local_path_storage_mode", "static"),
        ("local_path_static_node", "a"),
        ("local_path_node_paths", {"a": "/data"}),
        ("local_path_version", "0.0.37"),
    ],
)
def test_what_is_decided_for_the_whole_cluster_is_refused_for_a_single_host(name: str, value: object) -> None:
    (problem,) = judged({}, {"a": {name: value}, "b": {}})
    assert f"the variable {name} has another value than on localhost" in problem.found
    assert judged({name: value}, {"a": {name: value}, "b": {}}) == []
