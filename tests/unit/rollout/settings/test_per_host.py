"""What is said about single hosts is judged for all of them at once, and each mistake is told once."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.rollout.settings.per_host import judged, node_name


def fifty(**variables: Any) -> dict[str, dict[str, Any]]:
    return {f"node-{number:02}": dict(variables) for number in range(1, 51)}


def test_nothing_is_wrong_with_hosts_of_which_nothing_is_said() -> None:
    assert judged({}, fifty(ansible_user="ops")) == []


def test_a_path_of_its_own_for_a_group_of_hosts_is_fine() -> None:
    assert judged({}, {"a": {"local_path_base_directory": "/data"}, "b": {}}) == []


def test_the_same_mistake_on_fifty_hosts_is_one_line() -> None:
    (problem,) = judged({}, fifty(local_path_base_dir="/data"))
    assert problem.found.startswith("on all 50 hosts: the variable local_path_base_dir, which nothing reads.")
    assert "Did you mean local_path_base_directory?" in problem.found


def test_some_hosts_are_named_and_the_others_counted() -> None:
    hosts = fifty()
    for host in list(hosts)[:7]:
        hosts[host] = {"local_path_base_directory": "data"}
    (problem,) = judged({}, hosts)
    assert problem.found.startswith("on node-01, node-02, node-03, node-04, node-05 and 2 more: local_path_base_direct")


def test_different_mistakes_are_all_told() -> None:
    found = judged({}, {"a": {"kustomize_directory": 7}, "b": {"kustomise_directory": "/x", "local_path_x": 1}})
    assert [problem.found.partition(":")[0] for problem in found] == ["on a", "on b"]
    assert "kustomize_directory is the number 7" in found[0].found


def test_what_is_wrong_for_the_whole_cluster_is_not_told_again_for_each_host() -> None:
    wrong = {"volcano_verison": "1.10.0"}
    assert judged(wrong, fifty(**wrong)) == []


@pytest.mark.parametrize(
    ("name", "value"), [("kubeflow_release", "1.8.1"), ("validation_strict", True), ("volcano_version", "1.8.2")]
)
def test_a_setting_of_the_cluster_in_the_variables_of_a_group_is_told_as_having_no_effect(
    name: str, value: object
) -> None:
    (problem,) = judged({}, {"a": {name: value}, "b": {}})
    assert problem.found == f"on a: the variable {name} has another value than on localhost, where it is read."
    assert "group_vars/all" in problem.todo


def test_the_same_setting_for_all_is_fine() -> None:
    assert judged({"kubeflow_release": "1.8.1"}, fifty(kubeflow_release="1.8.1")) == []


def test_a_password_is_not_repeated() -> None:
    (problem,) = judged({}, {"a": {"kubeflow_user_password": "hunter2-hunter2"}})
    assert "hunter2" not in str(problem)


def test_a_host_is_the_node_of_its_name_unless_it_says_otherwise() -> None:
    assert node_name("host-1", {}) == "host-1"
    assert node_name("host-1", {"kubeflow_node_name": "worker-1.example.org"}) == "worker-1.example.org"


def test_two_hosts_cannot_be_one_node() -> None:
    (problem,) = judged({}, {"a": {"kubeflow_node_name": "n"}, "n": {}, "c": {"kubeflow_node_name": "d"}})
    assert problem.found == "a, n are all the Node n."


def test_a_name_for_all_hosts_is_refused_once() -> None:
    (problem,) = judged({"kubeflow_node_name": "n"}, fifty(kubeflow_node_name="n"))
    assert problem.found == "kubeflow_node_name is set for all hosts."


def test_a_name_that_no_node_can_have_is_refused() -> None:
    (problem,) = judged({}, {"a": {"kubeflow_node_name": "Node_1"}})
    assert problem.found == 'on a: kubeflow_node_name is the text "Node_1".'
