"""An operator without rights to PodGroups is named before the first change, with what grants them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.gang.rights import VERBS, missing_rights
from kubeflow_volcano.rollout.settings.settings import parse

REVIEWS = "/apis/authorization.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"
NAME = "training-operator"
ALL = VERBS[NAME]


def cluster(api: Any, *allowed: str) -> Any:
    """A cluster on which the operator's account has these rights."""

    def review(request: Any) -> Any:
        spec = request.body["spec"]
        assert spec["user"] == "system:serviceaccount:kubeflow:training-operator"
        assert spec["resourceAttributes"]["group"] == "scheduling.volcano.sh"
        return api.reply(body={**request.body, "status": {"allowed": spec["resourceAttributes"]["verb"] in allowed}})

    kinds = [{"kind": "SubjectAccessReview", "name": "subjectaccessreviews", "namespaced": False}]
    api.on("GET", REVIEWS, api.reply(body={"resources": kinds}))
    api.on("POST", f"{REVIEWS}/subjectaccessreviews", review)
    return api.connect()


def manifests(*verbs: str, group: str = "scheduling.volcano.sh", binding: str = "ClusterRoleBinding") -> list[Any]:
    """An operator whose role grants these verbs on PodGroups."""
    meta = {"name": NAME, "namespace": "kubeflow"}
    rules = [{"apiGroups": [group], "resources": ["podgroups"], "verbs": list(verbs)}]
    subject = {"kind": "ServiceAccount", **meta}
    pod = {"serviceAccountName": NAME, "containers": []}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": rules},
        {
            "apiVersion": RBAC,
            "kind": binding,
            "metadata": {"name": NAME, "namespace": "kubeflow"} if binding == "RoleBinding" else {"name": NAME},
            "roleRef": {"kind": "ClusterRole", "name": NAME},
            "subjects": [subject],
        },
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"template": {"spec": pod}}},
    ]


def found(api: Any, objects: list[Any], *allowed: str, whole: bool = True) -> list[Problem]:
    part = parse({}).component(NAME)
    return list(missing_rights(cluster(api, *allowed), part, objects, VOLCANO, whole=whole))


@pytest.mark.parametrize("verbs", [ALL, ("*",)])
def test_manifests_that_grant_them_are_enough_on_an_empty_cluster(api: Any, verbs: tuple[str, ...]) -> None:
    assert found(api, manifests(*verbs)) == []


@pytest.mark.parametrize(
    "objects",
    [manifests(), manifests(*ALL, group="scheduling.k8s.io"), manifests(*ALL, binding="RoleBinding")],
    ids=["none", "another group", "in one namespace only"],
)
def test_manifests_that_do_not_are_refused_with_what_grants_them(api: Any, objects: list[Any]) -> None:
    (problem,) = found(api, objects)

    assert "kubeflow/training-operator" in problem.found
    assert ", ".join(ALL) in problem.found
    assert "kubectl create clusterrole podgroups-training-operator" in problem.todo
    assert "--serviceaccount=kubeflow:training-operator" in problem.todo


def test_rights_that_the_cluster_grants_beside_the_manifests_count(api: Any) -> None:
    assert found(api, manifests("get", "list"), *ALL) == []
    (problem,) = found(api, manifests("get", "list"), "watch")
    lacking = ", ".join(verb for verb in ALL if verb not in {"get", "list", "watch"})
    assert f" {lacking} podgroups" in problem.found


def test_a_role_that_is_not_among_the_manifests_is_not_judged_before_it_exists(api: Any) -> None:
    objects = [obj for obj in manifests() if obj["kind"] in {"ServiceAccount", "ClusterRoleBinding", "Deployment"}]

    assert found(api, objects) == []


def test_a_run_that_does_not_apply_the_role_asks_the_cluster_and_says_which_run_does(api: Any) -> None:
    assert found(api, manifests("*"), *ALL, whole=False) == []
    (problem,) = found(api, manifests("*"), "get", whole=False)
    assert "without --tags" in problem.todo
