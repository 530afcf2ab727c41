"""Which object goes next, and what never goes when another fails."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.apply.graph import Graph, Needs
from kubeflow_volcano.apply.ready_queue import ReadyQueue
from kubeflow_volcano.cluster.objects import Ref


def ref(name: str) -> Ref:
    return Ref("v1", "ConfigMap", "n", name)


def order(needs: Mapping[str, tuple[str, str]]) -> Graph:
    """Object to the objects that must be applied and ready before it, each a word of letters."""
    return Graph(
        {ref(name): Needs(set(map(ref, applied)), set(map(ref, ready))) for name, (applied, ready) in needs.items()}, {}
    )


def taken(queue: ReadyQueue) -> str:
    found = ""
    while one := queue.take():
        found += one.name
    return found


def test_what_needs_nothing_goes_in_the_order_of_the_text() -> None:
    queue = ReadyQueue(order({"b": ("", ""), "a": ("", ""), "c": ("", "")}), ())
    assert taken(queue) == "bac"
    assert queue.waiting == 0


def test_the_longest_chain_goes_first() -> None:
    queue = ReadyQueue(order({"x": ("", ""), "a": ("", ""), "c": ("", ""), "b": ("c", ""), "d": ("", "b")}), ())
    assert taken(queue) == "cxa"
    queue.mark_applied(ref("c"))
    assert taken(queue) == "b"


def test_workloads_that_nobody_waits_for_go_last() -> None:
    names = {"b": "Deployment", "d": "Deployment", "m": "ConfigMap", "n": "Namespace", "x": "ConfigMap"}
    refs = {name: Ref("v1", kind, "n", name) for name, kind in names.items()}
    needs = {refs[name]: Needs() for name in "dbmn"} | {refs["x"]: Needs(set(), {refs["b"]})}
    queue = ReadyQueue(Graph(needs, {}), ())
    assert [queue.take(quietly=True) for _ in range(4)] == [refs["n"], refs["b"], refs["m"], None]
    assert taken(queue) == "d"


def test_services_that_no_backend_needs_go_just_before_workloads() -> None:
    kinds = {"a": "Service", "b": "Deployment", "c": "Service", "d": "Deployment", "e": "ConfigMap"}
    refs = {name: Ref("v1", kind, "n", name) for name, kind in kinds.items()}
    needs = {one: Needs() for one in refs.values()}
    needs[refs["b"]] = Needs({refs["a"]})
    needs[refs["d"]] = Needs({refs["c"]})
    needs[Ref("v1", "ConfigMap", "n", "x")] = Needs(set(), {refs["d"]})  # such as what its webhook intercepts
    queue = ReadyQueue(Graph(needs, {}), ())
    assert [queue.take(quietly=True) for _ in range(3)] == [refs["c"], refs["e"], None]
    queue.mark_applied(refs["c"])
    assert taken(queue) == "da"


def test_crds_can_be_held_up_and_what_comes_after_them_with_them() -> None:
    kinds = {"a": "ConfigMap", "b": "ClusterRole", "c": "CustomResourceDefinition", "n": "Namespace"}
    refs = {name: Ref("v1", kind, "", name) for name, kind in kinds.items()}
    queue = ReadyQueue(Graph({one: Needs() for one in refs.values()}, {}), ())
    assert [queue.take(crds=False) for _ in range(3)] == [refs["n"], refs["b"], None]
    assert taken(queue) == "ca"


def test_cluster_roles_go_together_and_before_what_takes_long() -> None:
    kinds = {"a": "ConfigMap", "b": "ClusterRole", "c": "ConfigMap", "d": "ClusterRole"}
    kinds |= {"e": "CustomResourceDefinition", "n": "Namespace"}
    refs = {name: Ref("v1", kind, "", name) for name, kind in kinds.items()}
    needs = {one: Needs() for one in refs.values()}
    needs[Ref("v1", "ConfigMap", "", "x")] = Needs({refs["a"]})  # even what others wait for comes after them
    assert taken(ReadyQueue(Graph(needs, {}), ())) == "nbdeac"


def test_a_cluster_role_that_gathers_others_comes_after_them() -> None:
    kinds = {"a": "CustomResourceDefinition", "b": "ClusterRole", "c": "ClusterRole", "d": "ClusterRole"}
    refs = {name: Ref("v1", kind, "", name) for name, kind in kinds.items()}
    needs = {one: Needs() for one in refs.values()}
    needs[Ref("v1", "ConfigMap", "", "x")] = Needs({refs["b"]})  # however much waits for it
    assert taken(ReadyQueue(Graph(needs, {}, frozenset({refs["b"]})), ())) == "cdba"


def test_an_object_goes_when_all_that_it_needs_is_there() -> None:
    queue = ReadyQueue(order({"a": ("", ""), "b": ("", ""), "c": ("a", "b")}), ())
    assert taken(queue) == "ba"
    assert queue.awaited == {ref("b")}
    for step in (queue.mark_applied, queue.mark_applied):
        step(ref("a"))
        assert taken(queue) == ""
    queue.mark_applied(ref("b"))
    assert taken(queue) == ""
    queue.mark_ready(ref("b"))
    assert taken(queue) == "c"
    assert queue.awaited == set()


def test_settled_objects_are_applied_but_not_known_to_be_ready() -> None:
    queue = ReadyQueue(order({"a": ("", ""), "b": ("a", ""), "c": ("", "a")}), {ref("a")})
    assert taken(queue) == "b"
    assert queue.awaited == {ref("a")}
    queue.mark_ready(ref("a"))
    assert taken(queue) == "c"


def test_what_a_failure_holds_up_is_told_once_and_nothing_else_stays() -> None:
    queue = ReadyQueue(order({"a": ("", ""), "b": ("a", ""), "c": ("", "b"), "d": ("ab", ""), "e": ("", "")}), ())
    assert taken(queue) == "ae"
    assert sorted(item.name for item in queue.drop_dependents(ref("a"))) == ["b", "c", "d"]
    assert queue.waiting == 0
    assert taken(queue) == ""
