"""Namespaces on clusters that admit none without a label of their own."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.namespaces import label_namespaces, refused_namespaces
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.state.store import ensure_namespace

LABELS = {"environment": "system"}
OF_PROFILES = """# a comment
katib.kubeflow.org/metrics-collector-injection: "enabled"
istio-injection: ""
"""


def namespace(name: str, **labels: str) -> dict[str, Any]:
    meta = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def of_profiles() -> dict[str, Any]:
    meta = {"name": "namespace-labels-data-4df5t8mdgf", "namespace": "kubeflow"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"namespace-labels.yaml": OF_PROFILES}}


def test_every_namespace_and_those_of_profiles_get_the_labels() -> None:
    objects = [namespace("kubeflow", control="plane"), namespace("auth"), of_profiles()]
    label_namespaces(objects, LABELS)
    assert objects[0]["metadata"]["labels"] == {"control": "plane", "environment": "system"}
    assert objects[1]["metadata"]["labels"] == LABELS
    assert yaml.safe_load(objects[2]["data"]["namespace-labels.yaml"]) == {
        "katib.kubeflow.org/metrics-collector-injection": "enabled",
        "istio-injection": "",
        "environment": "system",
    }
    again = copy.deepcopy(objects)
    label_namespaces(again, LABELS)
    assert again == objects


def test_without_labels_the_text_stays() -> None:
    objects = [namespace("auth"), of_profiles()]
    before = copy.deepcopy(objects)
    label_namespaces(objects, {})
    assert objects == before


def test_the_inventory_says_so_for_every_component() -> None:
    settings = parse({"kubeflow_namespace_labels": LABELS})
    for component in ("volcano", "kubeflow-namespace"):
        (done,) = patched([namespace("some")], component, settings)
        assert done["metadata"]["labels"] == LABELS


@pytest.mark.parametrize("labels", [{"a b": "c"}, {"a": "c d"}, {"a": 1}, {"a": "x" * 64}, {"-a": "b"}])
def test_labels_that_kubernetes_does_not_know_are_refused(labels: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="kubeflow_namespace_labels"):
        parse({"kubeflow_namespace_labels": labels})


def admission(api: Any, code: int, reason: str) -> None:
    """A cluster that admits only namespaces with LABELS; it has one namespace already."""

    def judge(request: Any) -> Any:
        if request.body["metadata"].get("labels", {}).items() >= LABELS.items():
            return api.reply(status=201, body=request.body)
        return api.status(code, reason, "namespaces need the label environment")

    api.on("GET", "/api/v1/namespaces/there", api.reply(body=namespace("there")))
    api.on("POST", "/api/v1/namespaces", judge)


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (422, "Invalid"), (400, "BadRequest")])
def test_namespaces_that_would_not_be_admitted_are_all_told_beforehand(api: Any, code: int, reason: str) -> None:
    admission(api, code, reason)
    settings = parse({"kubeflow_user_namespace": "team"})
    parts: dict[str, Any] = {
        "kubeflow-namespace": (namespace("kubeflow"), namespace("there")),
        "profiles": (of_profiles(),),
        "user-namespace": (),
    }
    found = list(refused_namespaces(api.connect(), parts, settings))
    told = [problem.found for problem in found]
    assert any("namespace kubeflow:" in text for text in told)
    assert any("namespace team:" in text for text in told)
    assert not any("namespace there:" in text for text in told)
    assert all("label environment" in text for text in told)
    assert all(request.query.get("dryRun") == "All" for request in api.seen("POST", "/api/v1/namespaces"))

    labelled = parse({"kubeflow_user_namespace": "team", "kubeflow_namespace_labels": LABELS})
    done = {name: patched(objects, name, labelled) for name, objects in parts.items()}
    assert list(refused_namespaces(api.connect(), done, labelled)) == []
    profile = api.seen("POST", "/api/v1/namespaces")[-1].body["metadata"]
    assert profile["name"] == "team"
    assert profile["annotations"] == {"owner": "user@example.com"}
    assert "istio-injection" not in profile["labels"]
    assert profile["labels"]["katib.kubeflow.org/metrics-collector-injection"] == "enabled"


def test_a_namespace_whose_component_is_left_out_must_be_there(api: Any) -> None:
    admission(api, 403, "Forbidden")
    settings = parse({"kubeflow_exclude": ["kubeflow-namespace"], "kubeflow_namespace_labels": LABELS})
    (problem,) = refused_namespaces(api.connect(), {}, settings)
    assert problem.found.startswith("namespace kubeflow ")
    assert list(refused_namespaces(api.connect(), {"own": (namespace("kubeflow", **LABELS),)}, settings)) == []


def test_an_api_server_that_cannot_answer_is_no_policy(api: Any) -> None:
    admission(api, 500, "InternalError")
    with pytest.raises(ApiError):
        list(refused_namespaces(api.connect(), {"x": (namespace("kubeflow"),)}, parse({})))


def test_the_projects_own_namespace_has_them_as_well(api: Any) -> None:
    admission(api, 403, "Forbidden")
    with pytest.raises(ApiError, match="need the label"):
        ensure_namespace(api.connect())
    ensure_namespace(api.connect(), LABELS)
    made = api.seen("POST", "/api/v1/namespaces")[-1]
    assert made.body["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "kubeflow-volcano"
    assert "dryRun" not in made.query
