"""What is said about single hosts is judged for all of them at once, and each mistake is told once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.rollout.settings.hosts import (
    node_name,
    node_paths,
    validate_groups,
    validate_hosts,
    validate_node_paths,
)

BASE = "local_path_base_directory"


def fifty(**variables: Any) -> dict[str, dict[str, Any]]:
    return {f"node-{number:02}": dict(variables) for number in range(1, 51)}


def test_nothing_is_wrong_with_hosts_of_which_nothing_is_said() -> None:
    assert validate_hosts({}, fifty(ansible_user="ops")) == []


def test_a_path_of_its_own_for_a_group_of_hosts_is_fine() -> None:
    assert validate_hosts({}, {"a": {"local_path_base_directory": "/data"}, "b": {}}) == []


def test_the_same_mistake_on_fifty_hosts_is_one_line() -> None:
    (problem,) = validate_hosts({}, fifty(local_path_base_dir="/data"))
    assert problem.found.startswith("on all 50 hosts: ")
    assert re.search(r"local_path_base_dir,.* mean local_path_base_directory\?", problem.found)


def test_some_hosts_are_named_and_the_others_counted() -> None:
    hosts = fifty()
    for host in list(hosts)[:7]:
        hosts[host] = {"local_path_base_directory": "data"}
    (problem,) = validate_hosts({}, hosts)
    assert re.match("on node-01, node-02, node-03, node-04, node-05 and 2 .*: local_path_base_direct", problem.found)


def test_different_mistakes_are_all_told() -> None:
    found = validate_hosts({}, {"a": {"image_mirror_mode": 7}, "b": {"image_miror_mode": "x", "local_path_versio": 1}})
    assert [problem.found.partition(":")[0] for problem in found] == ["on a", "on b", "on b"]
    assert re.search(r"image_mirror_mode .*\b7\b", found[0].found)


def test_what_is_wrong_for_the_whole_cluster_is_not_told_again_for_each_host() -> None:
    wrong = {"volcano_verison": "1.10.0"}
    assert validate_hosts(wrong, fifty(**wrong)) == []


@pytest.mark.parametrize(
    ("name", "value"), [("kubeflow_release", "1.8.1"), ("validation_strict", True), ("volcano_version", "1.8.2")]
)
def test_a_setting_of_the_cluster_in_the_variables_of_a_group_is_told_as_having_no_effect(
    name: str, value: object
) -> None:
    (problem,) = validate_hosts({}, {"a": {name: value}, "b": {}})
    assert re.match(f"on a: .* {name} .* localhost", problem.found)
    assert "group_vars/all" in problem.todo


def test_the_same_setting_for_all_is_fine() -> None:
    assert validate_hosts({"kubeflow_release": "1.8.1"}, fifty(kubeflow_release="1.8.1")) == []


def test_a_password_is_not_repeated() -> None:
    (problem,) = validate_hosts({}, {"a": {"kubeflow_user_password": "hunter2-hunter2"}})
    assert "hunter2" not in str(problem)


def test_a_host_is_the_node_of_its_name_unless_it_says_otherwise() -> None:
    assert node_name("host-1", {}) == "host-1"
    assert node_name("host-1", {"kubeflow_node_name": "worker-1.example.org"}) == "worker-1.example.org"


def test_two_hosts_cannot_be_one_node() -> None:
    (problem,) = validate_hosts({}, {"a": {"kubeflow_node_name": "n"}, "n": {}, "c": {"kubeflow_node_name": "d"}})
    assert re.fullmatch(r"a, n .* Node n\.", problem.found)


def test_a_name_for_all_hosts_is_refused_once() -> None:
    (problem,) = validate_hosts({"kubeflow_node_name": "n"}, fifty(kubeflow_node_name="n"))
    assert re.fullmatch(r"kubeflow_node_name .* all hosts\.", problem.found)


def test_a_name_that_no_node_can_have_is_refused() -> None:
    (problem,) = validate_hosts({}, {"a": {"kubeflow_node_name": "Node_1"}})
    assert re.fullmatch(r'on a: kubeflow_node_name .*"Node_1"\.', problem.found)


def test_only_hosts_with_a_directory_of_their_own_are_named() -> None:
    hosts = {"a": {BASE: "/data"}, "b": {BASE: "/fast"}, "c": {}}
    assert node_paths({BASE: "/data"}, hosts) == {"b": "/fast"}


def test_the_name_is_that_of_the_node() -> None:
    assert node_paths({}, {"a": {BASE: "/data", "kubeflow_node_name": "node-a"}}) == {"node-a": "/data"}


def test_nodes_outside_of_the_inventory_keep_what_is_said_of_them() -> None:
    cluster = {"local_path_node_paths": {"far": "/far"}}
    assert node_paths(cluster, {"a": {BASE: "/data"}}) == {"a": "/data", "far": "/far"}
    assert list(validate_node_paths(cluster, {"a": {BASE: "/data"}})) == []


def test_two_directories_for_one_node_are_refused() -> None:
    cluster = {"local_path_node_paths": {"a": "/one"}}
    (problem,) = validate_node_paths(cluster, {"a": {BASE: "/two"}, "b": {BASE: "/two"}})
    for word in ("local_path_base_directory of a is /two", "local_path_node_paths.a is /one"):
        assert word in problem.found


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
    (problem,) = validate_hosts({}, {"a": {name: value}, "b": {}})
    assert re.search(f"{name} .* localhost", problem.found)
    assert validate_hosts({name: value}, {"a": {name: value}, "b": {}}) == []


CLUSTERS = {"clusters": ["eu", "us"], "nodes": ["worker-1"], "control_plane": []}


@pytest.mark.parametrize("of_hosts", [True, False])
@pytest.mark.parametrize(
    "groups", [{"nodes": ["worker-1"]}, {"clusters": ["localhost"], "nodes": []}, {"clusters": []}]
)
def test_an_inventory_of_one_cluster_is_fine(groups: dict[str, list[str]], *, of_hosts: bool) -> None:
    assert list(validate_groups(groups, of_hosts=of_hosts)) == []


def test_hosts_beside_several_clusters_are_refused_where_hosts_are_set_up() -> None:
    (problem,) = validate_groups(CLUSTERS, of_hosts=True)
    for word in ("(worker-1)", "(eu, us)"):
        assert word in problem.found
    assert list(validate_groups({**CLUSTERS, "nodes": []}, of_hosts=True)) == []


def test_several_clusters_are_refused_by_playbooks_that_work_on_one() -> None:
    (problem,) = validate_groups(CLUSTERS, of_hosts=False)
    assert "eu, us in " in problem.found


KUBESPRAY = {
    "all": ["m", "w"],
    "kube_control_plane": ["m"],
    "etcd": ["m"],
    "kube_node": ["w"],
    "k8s_cluster": ["m", "w"],
}
OEDEPLOY = {"all": ["localhost", "m", "w"], "masters": ["m"], "workers": ["w"]}


@pytest.mark.parametrize(
    ("groups", "ini"),
    [
        (KUBESPRAY, "[control_plane:children] kube_control_plane; [nodes:children] kube_node"),
        (OEDEPLOY, "[control_plane:children] masters; [nodes:children] workers"),
        # It has the group nodes for other reasons, or as somebody who only began.
        ({**KUBESPRAY, "nodes": []}, "[control_plane:children] kube_control_plane; [nodes:children] kube_node"),
    ],
)
def test_groups_of_other_tools_are_known_by_name_and_told_with_what_to_write(
    groups: dict[str, list[str]], ini: str
) -> None:
    (problem,) = validate_groups(groups, of_hosts=True)
    assert ini in problem.todo
    written = re.search(r"As YAML: (.*)\.$", problem.todo)
    assert written
    added = foreign.parse(written[1].encode(), "advice")[0]
    assert added == {
        own: {"children": {name: {}}} for own, name in (item[1:].split(":children] ") for item in ini.split("; "))
    }
    assert list(validate_groups(groups, of_hosts=False)) == []


@pytest.mark.parametrize(
    ("groups", "asked", "refused"),
    [
        ({"all": ["localhost"]}, {"of_hosts": True, "needed": True}, 0),
        ({"all": ["db"], "databases": ["db"]}, {"of_hosts": True}, 1),
        ({"all": ["db"], "databases": ["db"], "nodes": []}, {"of_hosts": True}, 0),
        ({"all": ["db"], "databases": ["db"], "nodes": []}, {"of_hosts": True, "needed": True}, 1),
        ({"all": ["db", "w"], "workers": ["db"], "nodes": ["w"]}, {"of_hosts": True, "needed": True}, 0),
        ({"all": ["db"]}, {"of_hosts": False}, 0),
    ],
)
def test_an_inventory_with_hosts_none_of_which_is_the_clusters_is_refused_unless_it_says_so(
    groups: dict[str, list[str]], asked: dict[str, bool], refused: int
) -> None:
    assert len(list(validate_groups(groups, **asked))) == refused
