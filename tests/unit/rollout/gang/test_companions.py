"""What stood beside Deployments of several pods goes, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.rollout.gang.replicas import COMPANION_LABELS, delete_unused_companions
from tests.unit.rollout.queues.queue_stand import Run

POLICY, RBAC = "/apis/policy/v1", "/apis/rbac.authorization.k8s.io/v1"
SCHEDULER = new_object("apps/v1", "Deployment", "volcano-scheduler", "volcano-system")
OPERATOR = {**SCHEDULER, "metadata": {"name": "training-operator", "namespace": "kubeflow"}}
OTHER = {**SCHEDULER, "metadata": {"name": "katib-controller", "namespace": "kubeflow"}}


def budget(name: str, namespace: str = "volcano-system", manager: str = FIELD_MANAGER) -> dict[str, Any]:
    fields = [{"manager": manager, "operation": "Apply", "apiVersion": "policy/v1"}]
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "labels": COMPANION_LABELS,
        "managedFields": fields,
    }
    return {"metadata": meta, "spec": {"maxUnavailable": 1}}


@pytest.fixture
def cluster(api: Any) -> Any:
    kinds = {
        POLICY: [("PodDisruptionBudget", "poddisruptionbudgets")],
        RBAC: [("Role", "roles"), ("RoleBinding", "rolebindings")],
    }
    for path, listed in kinds.items():
        resources = [{"kind": kind, "name": plural, "namespaced": True} for kind, plural in listed]
        api.on("GET", path, api.reply(body={"resources": resources}))
        for _, plural in listed:
            api.on("GET", f"{path}/{plural}", api.reply(body={"metadata": {"resourceVersion": "1"}, "items": []}))
    return api.connect()


def retired(cluster: Any, *objects: dict[str, Any], check: bool = False) -> list[ObjectOutcome]:
    run: Any = Run(cluster, check=check)
    delete_unused_companions(run, objects)
    assert run.problems == []
    found: list[ObjectOutcome] = run.outcomes
    return found


def path_of(name: str, namespace: str = "volcano-system") -> str:
    return f"{POLICY}/namespaces/{namespace}/poddisruptionbudgets/{name}"


def on_cluster(api: Any, *budgets: dict[str, Any]) -> None:
    api.on(
        "GET",
        f"{POLICY}/poddisruptionbudgets",
        api.reply(body={"metadata": {"resourceVersion": "1"}, "items": list(budgets)}),
    )
    for item in budgets:
        meta = item["metadata"]
        api.on("DELETE", path_of(meta["name"], meta["namespace"]), api.reply(body={}))


def test_what_is_no_longer_declared_goes_by_its_uid(api: Any, cluster: Any) -> None:
    on_cluster(api, budget("volcano-scheduler"))
    told = retired(cluster, SCHEDULER, check=True)
    assert [(item.ref.name, item.action, item.after) for item in told] == [("volcano-scheduler", Action.REMOVED, None)]
    assert not api.seen("DELETE", path_of("volcano-scheduler"))

    assert len(retired(cluster, SCHEDULER)) == 1
    (request,) = api.seen("DELETE", path_of("volcano-scheduler"))
    assert request.body["preconditions"] == {"uid": "uid-volcano-scheduler"}


@pytest.mark.parametrize(
    "kept",
    [
        budget("volcano-scheduler", manager="kubectl"),
        budget("volcano-scheduler", "elsewhere"),
        budget("volcano-admission"),
        budget("katib-controller", "kubeflow"),
    ],
    ids=["somebody else's", "another namespace", "of what is not rolled out", "of another component"],
)
def test_what_is_somebody_elses_or_of_something_else_stays(api: Any, cluster: Any, kept: dict[str, Any]) -> None:
    on_cluster(api, kept)
    assert retired(cluster, SCHEDULER, OTHER) == []


def test_what_is_declared_stays(api: Any, cluster: Any) -> None:
    on_cluster(api, budget("volcano-scheduler"))
    declared = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **budget("volcano-scheduler")}
    assert retired(cluster, SCHEDULER, declared) == []


def test_the_operators_right_to_its_lease_goes_with_its_pods(api: Any, cluster: Any) -> None:
    for plural in ("roles", "rolebindings"):
        item = budget("training-operator-leader-election", "kubeflow")
        api.on("GET", f"{RBAC}/{plural}", api.reply(body={"metadata": {"resourceVersion": "1"}, "items": [item]}))
        name = item["metadata"]["name"]
        api.on("DELETE", f"{RBAC}/namespaces/kubeflow/{plural}/{name}", api.reply(body={}))
    assert [item.ref.kind for item in retired(cluster, OPERATOR)] == ["Role", "RoleBinding"]


def test_without_such_a_deployment_nobody_is_asked(api: Any, cluster: Any) -> None:
    asked = len(api.requests)
    assert retired(cluster, OTHER) == []
    assert len(api.requests) == asked


def test_what_is_gone_by_then_is_not_told_as_removed(api: Any, cluster: Any) -> None:
    on_cluster(api, budget("volcano-scheduler"))
    api.on("DELETE", path_of("volcano-scheduler"), api.status(404, "NotFound", "gone"))
    assert retired(cluster, SCHEDULER) == []


@pytest.mark.parametrize("check", [True, False])
def test_a_refusal_is_a_problem_of_the_run(api: Any, cluster: Any, check: bool) -> None:  # noqa: FBT001  a column of the table
    api.on("GET", f"{POLICY}/poddisruptionbudgets", api.status(403, "Forbidden", "you may not list budgets"))
    run: Any = Run(cluster, check=check)
    delete_unused_companions(run, [SCHEDULER])
    (problem,) = run.problems
    assert "list budgets" in problem.found
