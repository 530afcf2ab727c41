"""What a person and a program read at the end."""

from __future__ import annotations

from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.uninstall.account import Uninstalled, describe_going
from kubeflow_volcano.rollout.uninstall.plan import Kept

ROLE = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r")
CLASS = Ref("storage.k8s.io/v1", "StorageClass", "", "fast")
CLAIM = Ref("v1", "PersistentVolumeClaim", "kubeflow", "mysql")
KEPT = Kept(CLAIM, "data", "it may hold people's work", 'uninstall_data: ["x"]')
DONE = (
    ObjectOutcome(ROLE, Action.REMOVED, {}, None, component="katib"),
    ObjectOutcome(CLASS, Action.CHANGED, {}, {}, component="local-path"),
)


def test_the_account_counts_what_was_removed_what_stays_and_what_failed() -> None:
    problem = Problem("ConfigMap n/a is held.", "its controller.", "start it.")
    done = Uninstalled(DONE, (KEPT,), (problem,), ("note: x",), 3.04)
    found = done.as_dict()
    first, *rest = found["msg"].splitlines()
    assert first == ("1 object removed, 1 given back to those who made them, 1 kept (1 data), 1 failed, 3.0 s")
    assert rest[:2] == [
        'kept PersistentVolumeClaim kubeflow/mysql: it may hold people\'s work. To remove it: uninstall_data: ["x"]',
        "note: x",
    ]
    assert "ConfigMap n/a is held." in rest[2]
    assert (found["changed"], found["failed"]) == (True, True)
    assert found["objects"] == []


def test_every_object_is_listed_with_what_was_done_and_every_kept_one_with_its_reason() -> None:
    found = Uninstalled(DONE, (KEPT,)).as_dict()
    assert found["objects"][0] == {"object": str(ROLE), "action": "removed", "component": "katib"}
    assert found["kept"] == [{"object": str(CLAIM), "why": KEPT.why, "todo": KEPT.todo}]


def test_nothing_to_do_is_no_change() -> None:
    found = Uninstalled((), (KEPT,)).as_dict()
    assert (found["changed"], found["failed"]) == (False, False)


def test_the_difference_names_what_is_there_before_and_after() -> None:
    (diff,) = Uninstalled(DONE, (KEPT,), check=True).diff()
    assert diff["before"] == "ClusterRole r\nPersistentVolumeClaim kubeflow/mysql\n"
    assert diff["after"] == "PersistentVolumeClaim kubeflow/mysql\n"


def test_the_plan_names_every_object_by_step_and_kind() -> None:
    things = {Ref("example.org/v1", "Thing", "n", name): "part" for name in "ab"}
    lines = list(describe_going({ROLE: "part", **things}, ["example.org"]))
    assert lines == [
        "step 1: custom resources, 2 objects",
        "  Thing (2): n/a, n/b",
        "step 2: Services, RBAC, configuration, 1 object",
        "  ClusterRole (1): r",
    ]
