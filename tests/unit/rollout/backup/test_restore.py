"""A restoration asks everything before it creates the first object."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.backup.admitted import Platform
from kubeflow_volcano.rollout.backup.choice import Choice
from kubeflow_volcano.rollout.backup.files import Backup, Origin
from kubeflow_volcano.rollout.backup.restore import restore
from kubeflow_volcano.rollout.settings.settings import parse

RBAC = "rbac.authorization.k8s.io"
ORIGIN = Origin("2026-01-02T03:04:05Z", "v1.30.2", {}, {}, ())
SETTINGS = parse({"kubeflow_release": "1.9.1"})
PLATFORM = Platform.of(SETTINGS.known_components, SETTINGS.volcano_namespace)


def made(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **rest}


QUEUE = made("scheduling.volcano.sh/v1beta1", "Queue", "research", spec={"weight": 1})
OWN = made("own.example/v1", "Thing", "a")
BACKUP = Backup(
    ORIGIN,
    (
        QUEUE,
        OWN,
        made("argoproj.io/v1alpha1", "Workflow", "a"),
        made("argoproj.io/v1alpha1", "Workflow", "b"),
        made("none.example/v1", "Relic", "a"),
        made("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "eve"),
    ),
)
LEFT_OUT = ("Workflow", "Relic.none.example", "ClusterRoleBinding eve")


@pytest.fixture
def cluster(api: Any) -> Any:
    """A cluster with Volcano, of which this project applied only the CRD of Things."""

    def serve(path: str, *kinds: tuple[str, str]) -> None:
        resources = [{"kind": kind, "name": plural, "namespaced": kind == "RoleBinding"} for kind, plural in kinds]
        api.on("GET", path, api.reply(body={"resources": resources}))

    serve("/apis/scheduling.volcano.sh/v1beta1", ("Queue", "queues"))
    serve("/apis/own.example/v1", ("Thing", "things"))
    serve("/apis/kubeflow.org/v1", ("Profile", "profiles"))
    serve(
        "/apis/rbac.authorization.k8s.io/v1",
        ("ClusterRoleBinding", "clusterrolebindings"),
        ("RoleBinding", "rolebindings"),
    )
    serve("/api/v1", ("Namespace", "namespaces"))
    spaces = [{"metadata": {"name": "argocd"}}, {"metadata": {"name": "team-a", "annotations": {"owner": "a"}}}]
    for path, items in (("/api/v1/namespaces", spaces), ("/apis/kubeflow.org/v1/profiles", [])):
        api.on("GET", path, api.reply(body={"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items}))
    meta = {
        "name": "things.own.example",
        "managedFields": [{"manager": "kubeflow-volcano", "operation": "Apply", "fieldsV1": {}}],
    }
    crds = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": [{"metadata": meta}]}
    api.on("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", api.reply(body=crds))
    return api.connect()


def test_everything_that_cannot_be_restored_is_named_at_once_with_the_words_that_leave_it_out(
    api: Any, cluster: Any
) -> None:
    choice = Choice(only=("Queues",), exclude=("Workflo",))
    with pytest.raises(InvalidInput) as caught:
        restore(cluster, BACKUP, PLATFORM, choice, check=False, progress=silent)
    assert len(caught.value.problems) == 2
    with pytest.raises(InvalidInput) as caught:
        restore(cluster, BACKUP, PLATFORM, Choice(), check=False, progress=silent)
    unserved, refused = caught.value.problems
    assert re.search(r"Workflow .*argoproj\.io/v1alpha1 \(2 .*Relic .*none\.example/v1 \(1 ", unserved.found)
    assert unserved.todo.startswith("install pipelines first")
    assert "restore_exclude: [Relic.none.example, Workflow.argoproj.io]" in unserved.todo
    assert "ClusterRoleBinding eve" in refused.found
    assert {request.method for request in api.requests} == {"GET"}


def test_no_profile_gets_rights_in_a_namespace_that_is_none_of_its(cluster: Any) -> None:
    def sharing(space: str) -> tuple[Object, Object]:
        owner = {"kind": "User", "name": "eve@example.com"}
        binding = made(f"{RBAC}/v1", "RoleBinding", "eve", subjects=[owner])
        binding["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "kubeflow-edit"}
        binding["metadata"] |= {"namespace": space, "annotations": {"role": "edit", "user": "eve@example.com"}}
        return made("kubeflow.org/v1", "Profile", space, spec={"owner": owner}), binding

    backup = Backup(ORIGIN, (*sharing("argocd"), *sharing("team-a"), *sharing("team-new")))
    with pytest.raises(InvalidInput) as caught:
        restore(cluster, backup, PLATFORM, Choice(), check=True, progress=silent)
    assert [problem.found.rpartition(": ")[2] for problem in caught.value.problems] == [
        "Profile argocd.",
        "RoleBinding argocd/eve.",
    ]


def test_the_rest_is_restored(cluster: Any) -> None:
    done = restore(cluster, BACKUP, PLATFORM, Choice(exclude=LEFT_OUT), check=True, progress=silent)
    assert {str(item.ref): item.action for item in done.outcomes} == {
        "Queue research": Action.CREATED,
        "Thing a": Action.CREATED,
    }
