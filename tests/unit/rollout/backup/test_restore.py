"""A restoration asks everything before it creates the first object."""

from __future__ import annotations

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
        resources = [{"kind": kind, "name": plural, "namespaced": False} for kind, plural in kinds]
        api.on("GET", path, api.reply(body={"resources": resources}))

    serve("/apis/scheduling.volcano.sh/v1beta1", ("Queue", "queues"))
    serve("/apis/own.example/v1", ("Thing", "things"))
    serve("/apis/rbac.authorization.k8s.io/v1", ("ClusterRoleBinding", "clusterrolebindings"))
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
    assert "Workflow of argoproj.io/v1alpha1 (2 objects); Relic of none.example/v1 (1 object)" in unserved.found
    assert unserved.todo.startswith("install pipelines first")
    assert "restore_exclude: [Relic.none.example, Workflow.argoproj.io]" in unserved.todo
    assert "ClusterRoleBinding eve" in refused.found
    assert {request.method for request in api.requests} == {"GET"}


def test_the_rest_is_restored(cluster: Any) -> None:
    done = restore(cluster, BACKUP, PLATFORM, Choice(exclude=LEFT_OUT), check=True, progress=silent)
    assert {str(item.ref): item.action for item in done.outcomes} == {
        "Queue research": Action.CREATED,
        "Thing a": Action.CREATED,
    }
