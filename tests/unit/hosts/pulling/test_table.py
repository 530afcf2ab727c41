"""However many nodes there are, a person reads one table and each trouble once."""

from __future__ import annotations

import re
from typing import Any

from kubeflow_volcano.hosts.pulling.node import Pulled
from kubeflow_volcano.hosts.pulling.table import beginning, problems, progress_of, table, warnings


def result(node: str, **changes: Any) -> dict[str, Any]:
    return Pulled(node, **changes).as_dict()


def test_the_table_has_a_line_for_each_node_and_dashes_for_one_without_a_result() -> None:
    nodes = {
        "node-10": None,
        "node-2": result("node-2"),
        "node-1": result("node-1", present=3, pulled=["a"], refused={"b": ""}, bytes=2_160_000, seconds=4.06),
    }
    assert table(nodes).splitlines() == [
        "node     pulled  present  refused  failed  left   MB  seconds",
        "node-1        1        3        1       0     0  2.2      4.1",
        "node-2        0        0        0       0     0  0.0      0.0",
        "node-10       -        -        -       -     -    -        -",
    ]


def test_fifty_nodes_with_the_same_trouble_are_told_once() -> None:
    nodes = {f"node-{number:02}": result("", left={"q.io/a:1": "used up to 90 %"}) for number in range(50)}
    (found,) = problems(nodes, {}, "")
    assert re.search("node-00, node-01, node-02, node-03, node-04 and 45 more: used up", found.found)
    assert "make room" in found.todo


def test_refusals_are_listed_with_their_answers_and_not_once_more_for_each_node() -> None:
    nodes = {f"node-{number}": result("", refused={"q.io/a:1": "403"}) for number in range(3)}
    (found,) = problems(nodes, {"q.io/a:1": "403"}, "")
    assert re.fullmatch(r"1 image .*: q\.io/a:1 \(403\)\.", found.found)


def test_all_well_is_no_problem_and_a_node_without_a_result_is_one() -> None:
    assert list(problems({"node-1": result("node-1", pulled=["a"])}, {}, "")) == []
    (found,) = problems({"node-1": None}, {}, "")
    assert "node-1 ended" in found.found


def test_what_was_known_beforehand_is_a_warning() -> None:
    nodes = {"node-1": result("", skipped={"q.io/b:1": "not built for arm64", "q.io/a:1": "not built for arm64"})}
    (found,) = warnings(nodes)
    assert re.fullmatch(r"2 images .*arm64: q\.io/a:1, q\.io/b:1\.", found.found)


def test_progress_names_nodes_while_they_are_few_and_the_slowest_when_they_are_many() -> None:
    few = {"node-1": {"done": 2, "total": 9}, "node-2": {"done": 9, "total": 9}}
    assert progress_of({"nodes": few, "refused": {}}) == "pulled 11 of 18 images, 1 of 2 nodes done: node-1 2/9"
    many = {f"node-{number:02}": {"done": number % 10, "total": 10} for number in range(50)}
    text = progress_of({"nodes": many, "refused": {"q.io/a:1": ""}})
    assert text.startswith("pulled 225 of 500 images, 0 of 50 nodes done: node-00 0/10, node-10 0/10, ")
    assert text.endswith(" and 44 more; 1 refused")


def test_a_check_says_what_would_be() -> None:
    assert beginning({"node-1": 2, "node-2": 0}, check=True) == "would pull 2 images on 1 of 2 nodes"
