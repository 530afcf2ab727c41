"""What the operator may do with PodGroups: granted once, beside upstream's role, and taken back."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.managers import MANAGER
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rollout.gang import pod_group_rights
from kubeflow_volcano.rollout.gang.pod_group_rights import PodGroupRights

RBAC, REVIEWS = "/apis/rbac.authorization.k8s.io/v1", "/apis/authorization.k8s.io/v1"
NAME = "kubeflow-volcano-podgroups-training-operator"
ROLE, BINDING = f"{RBAC}/clusterroles/{NAME}", f"{RBAC}/clusterrolebindings/{NAME}"
RIGHTS = PodGroupRights(
    "training-operator", "kubeflow", "training-operator", "scheduling.volcano.sh", ("create", "get", "watch")
)


class Rbac:
    """An API server that knows who may do what; `allowed` grows when a binding comes."""

    def __init__(self, api: Any, *allowed: str, knows: bool = True) -> None:
        self.api, self.allowed, self.knows = api, set(allowed), knows
        kinds = [("ClusterRole", "clusterroles"), ("ClusterRoleBinding", "clusterrolebindings")]
        listed = [{"kind": kind, "name": plural, "namespaced": False} for kind, plural in kinds]
        reviews = [{"kind": "SubjectAccessReview", "name": "subjectaccessreviews", "namespaced": False}]
        api.on("GET", RBAC, api.reply(body={"resources": listed}))
        api.on("GET", REVIEWS, api.reply(body={"resources": reviews}))
        api.on("POST", f"{REVIEWS}/subjectaccessreviews", self.review)
        api.on("PATCH", ROLE, lambda request: api.reply(body=with_uid(request.body)))
        api.on("PATCH", BINDING, self.bind)
        self.cluster = api.connect()

    def review(self, request: Any) -> Any:
        spec = request.body["spec"]
        assert spec["user"] == "system:serviceaccount:kubeflow:training-operator"
        assert spec["resourceAttributes"]["group"] == "scheduling.volcano.sh"
        allowed = spec["resourceAttributes"]["verb"] in self.allowed
        return self.api.reply(body={**request.body, "status": {"allowed": allowed}})

    def bind(self, request: Any) -> Any:
        if self.knows and "dryRun" not in request.query:
            self.allowed |= set(RIGHTS.verbs)
        return self.api.reply(body=with_uid(request.body))


def with_uid(obj: dict[str, Any], *managers: str) -> dict[str, Any]:
    fields = [{"manager": name, "operation": "Apply", "apiVersion": obj["apiVersion"]} for name in managers]
    return {**obj, "metadata": {**obj["metadata"], "uid": f"uid-{obj['kind']}", "managedFields": fields}}


def sent(api: Any, path: str) -> dict[str, Any]:
    (request,) = api.seen("PATCH", path)
    body: dict[str, Any] = request.body
    return body


def test_only_the_verbs_that_are_lacking_are_missing(api: Any) -> None:
    assert RIGHTS.missing(Rbac(api, "get").cluster) == ("create", "watch")
    assert RIGHTS.missing(Rbac(api, *RIGHTS.verbs).cluster) == ()


def test_the_rights_are_the_least_and_the_accounts_alone(api: Any) -> None:
    known = Rbac(api)
    outcomes = RIGHTS.grant(known.cluster, RIGHTS.verbs, check=False)
    assert [(item.ref.kind, item.action) for item in outcomes] == [
        ("ClusterRole", Action.CREATED),
        ("ClusterRoleBinding", Action.CREATED),
    ]
    assert sent(api, ROLE)["rules"] == [
        {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": ["create", "get", "watch"]}
    ]
    binding = sent(api, BINDING)
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "training-operator", "namespace": "kubeflow"}]
    assert RIGHTS.missing(known.cluster) == ()


def test_a_dry_run_grants_nothing_and_tells_what_it_would(api: Any) -> None:
    known = Rbac(api)
    outcomes = RIGHTS.grant(known.cluster, RIGHTS.verbs, check=True)
    assert [item.action for item in outcomes] == [Action.CREATED] * 2
    assert all(request.query["dryRun"] == "All" for request in api.requests if request.method == "PATCH")
    assert RIGHTS.missing(known.cluster) == RIGHTS.verbs


def test_who_may_not_grant_is_told_whom_to_ask_for_what(api: Any) -> None:
    known = Rbac(api)
    text = 'clusterroles "x" is forbidden: user "me" is attempting to grant RBAC permissions not currently held'
    api.on("PATCH", ROLE, api.status(403, "Forbidden", text))
    with pytest.raises(ProblemsError) as caught:
        RIGHTS.grant(known.cluster, ("create",), check=False)
    (problem,) = caught.value.problems
    assert "may not create podgroups.scheduling.volcano.sh, and you may not grant it" in problem.found
    assert "--verb=create,get,watch --resource=podgroups.scheduling.volcano.sh" in problem.todo
    assert f"--clusterrole={NAME} --serviceaccount=kubeflow:training-operator" in problem.todo
    assert not api.seen("PATCH", BINDING)


def test_another_refusal_is_not_taken_for_that(api: Any) -> None:
    known = Rbac(api)
    api.on("PATCH", ROLE, api.status(422, "Invalid", "no"))
    with pytest.raises(ApiError, match="no"):
        RIGHTS.grant(known.cluster, ("create",), check=False)


def test_an_api_server_that_refuses_all_the_same_is_told(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_group_rights, "_KNOWN_SECONDS", 0.0)
    with pytest.raises(ProblemsError, match="an API server that authorizes by RBAC"):
        RIGHTS.grant(Rbac(api, knows=False).cluster, RIGHTS.verbs, check=False)


def role(*managers: str) -> dict[str, Any]:
    obj = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": NAME}}
    return with_uid(obj, *managers)


def test_what_was_granted_goes_again_by_its_uid_and_nothing_else_does(api: Any) -> None:
    known = Rbac(api)
    api.on("GET", ROLE, api.reply(body=role(MANAGER)))
    api.on("DELETE", ROLE, api.reply(body={}))
    assert [item.ref.kind for item in RIGHTS.withdraw(known.cluster, check=True)] == ["ClusterRole"]
    assert not api.seen("DELETE", ROLE)
    (outcome,) = RIGHTS.withdraw(known.cluster, check=False)
    assert (outcome.action, outcome.after) == (Action.REMOVED, None)
    (request,) = api.seen("DELETE", ROLE)
    assert request.body["preconditions"] == {"uid": "uid-ClusterRole"}

    api.on("GET", ROLE, api.reply(body=role("kubectl-create")))
    assert RIGHTS.withdraw(known.cluster, check=False) == ()
