"""Patches of the inventory: merged by kustomize, and refused where they fit nothing or a variable sets the same."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests.kustomize_binary import UnknownProgramError
from kubeflow_volcano.rollout.patches.own import overruled, with_own_patches
from kubeflow_volcano.rollout.settings.settings import Settings, parse

NAME = "katib"
ARGUMENTS = "/spec/template/spec/containers/0/args"


def deployment(name: str = "katib-ui", namespace: str = "kubeflow") -> Object:
    containers = [
        {"name": "ui", "image": "a:1", "args": ["--port=80"], "env": [{"name": "A", "value": "1"}]},
        {"name": "side", "image": "b:1"},
    ]
    return new_object(
        "apps/v1",
        "Deployment",
        name,
        namespace,
        meta={"labels": {"app": name}},
        spec={"replicas": 1, "template": {"spec": {"containers": containers}}},
    )


CONFIG: Object = new_object("v1", "ConfigMap", "katib.config", "kubeflow", data={"a": "1"})
OBJECTS = (deployment(), deployment("katib-db"), CONFIG)


@pytest.fixture(params=["kustomize", "kustomize_3"])
def program(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def settings(program: Path, cache: Path, *patches: dict[str, Any]) -> Settings:
    parsed = parse({"kubeflow_profile": "full", "kubeflow_patches": {NAME: list(patches)}})
    return replace(parsed, kustomize=program, own_kustomize=True, cache_directory=cache)


def target(kind: str = "Deployment", name: str = "katib-ui", **more: str) -> dict[str, str]:
    return {"kind": kind, "name": name, **more}


def test_a_mapping_is_merged_strategically_and_a_list_is_done_step_by_step(program: Path, tmp_path: Path) -> None:
    container = {"name": "ui", "env": [{"name": "B", "value": "2"}], "resources": {"limits": {"cpu": "1"}}}
    merged = {
        "metadata": {"labels": {"team": "ml"}},
        "spec": {"replicas": 2, "template": {"spec": {"nodeSelector": {"disk": "ssd"}, "containers": [container]}}},
    }
    steps = [{"op": "add", "path": "/data/b", "value": "2"}, {"op": "remove", "path": "/data/a"}]
    wanted = settings(
        program,
        tmp_path,
        {"target": target(), "patch": merged},
        {"target": target("ConfigMap", "katib.config", namespace="kubeflow"), "patch": steps},
        {
            "target": target(),
            "patch": [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "-v"}],
        },
    )
    before = copy.deepcopy(OBJECTS)
    said: list[str] = []
    first, second, config = with_own_patches(NAME, OBJECTS, wanted, said.append)
    assert before == OBJECTS
    assert second is OBJECTS[1]
    assert config["data"] == {"b": "2"}
    assert first["metadata"]["labels"] == {"app": "katib-ui", "team": "ml"}
    pod = first["spec"]["template"]["spec"]
    assert (first["spec"]["replicas"], pod["nodeSelector"]) == (2, {"disk": "ssd"})
    containers = {item["name"]: item for item in pod["containers"]}
    assert containers["side"] == {"name": "side", "image": "b:1"}
    assert containers["ui"]["args"] == ["--port=80", "-v"]
    assert {item["name"]: item["value"] for item in containers["ui"]["env"]} == {"A": "1", "B": "2"}
    assert [line.split(" is patched")[0] for line in said] == [
        "note: Deployment kubeflow/katib-ui",
        "note: ConfigMap kubeflow/katib.config",
    ]


def test_patches_that_fit_nothing_are_refused_together(kustomize: Path, tmp_path: Path) -> None:
    wanted = settings(
        kustomize,
        tmp_path,
        {"target": target(name="katib-iu"), "patch": {"spec": {"replicas": 2}}},
        {"target": target(namespace="default"), "patch": {"spec": {"replicas": 2}}},
    )
    with pytest.raises(InvalidInput) as caught:
        with_own_patches(NAME, OBJECTS, wanted, silent)
    first, second = caught.value.problems
    assert re.search(r"kubeflow_patches\.katib\[0\] .*Deployment katib-iu, .* mean katib-ui\?", first.found)
    assert re.search(r"kubeflow_patches\.katib\[1\] .*Deployment default/katib-ui", second.found)
    assert "katib-db, katib-ui" in second.todo


def test_a_name_in_two_namespaces_needs_one_of_them(kustomize: Path, tmp_path: Path) -> None:
    twice = (deployment(), deployment(namespace="auth"))
    patch = {"spec": {"replicas": 2}}
    with pytest.raises(InvalidInput, match="have 2"):
        with_own_patches(NAME, twice, settings(kustomize, tmp_path, {"target": target(), "patch": patch}), silent)
    wanted = settings(kustomize, tmp_path, {"target": target(namespace="auth"), "patch": patch})
    assert [obj["spec"]["replicas"] for obj in with_own_patches(NAME, twice, wanted, silent)] == [1, 2]


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "replace", "path": "/spec/absent/deep", "value": 1}],
        [{"op": "test", "path": "/spec/replicas", "value": 7}],
    ],
)
def test_an_operation_that_does_not_fit_is_refused_in_its_words(program: Path, tmp_path: Path, patch: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        with_own_patches(NAME, OBJECTS, settings(program, tmp_path, {"target": target(), "patch": patch}), silent)
    (problem,) = caught.value.problems
    assert problem.found.startswith("kubeflow_patches.katib[0] does not fit")
    assert "kubeflow-volcano-patches" not in problem.found


def test_an_object_keeps_its_name(kustomize: Path, tmp_path: Path) -> None:
    renaming = [{"op": "replace", "path": "/metadata/name", "value": "other"}]
    with pytest.raises(InvalidInput, match="another kind"):
        with_own_patches(NAME, OBJECTS, settings(kustomize, tmp_path, {"target": target(), "patch": renaming}), silent)


@pytest.mark.parametrize(
    ("patch", "fields"),
    [
        ({"spec": {"replicas": 2}}, "spec.replicas"),
        ([{"op": "replace", "path": "/spec/replicas", "value": 2}], "spec.replicas"),
        ({"spec": {"template": {"spec": {"containers": [{"name": "ui", "args": ["x"]}]}}}}, "containers.ui.args"),
        ([{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "x"}], "containers.0.args.-"),
        ({"spec": {"paused": True}}, ""),
    ],
)
def test_what_a_variable_sets_as_well_is_refused(kustomize: Path, tmp_path: Path, patch: Any, fields: str) -> None:
    wanted = settings(kustomize, tmp_path, {"target": target(), "patch": patch})
    before = with_own_patches(NAME, OBJECTS, wanted, silent)
    after = copy.deepcopy(before)
    after[0]["spec"]["replicas"] = 3
    after[0]["spec"]["template"]["spec"]["containers"][0]["args"] = ["of", "ours"]
    found = list(overruled(NAME, wanted, before, after))
    assert [fields in problem.found for problem in found] == ([True] if fields else [])
    assert not list(overruled(NAME, wanted, before, before))


@pytest.mark.parametrize(
    ("patches", "word"),
    [
        ({"katbi": [{"target": target(), "patch": {"spec": {}}}]}, "Did you mean katib?"),
        ({NAME: [{"target": {"kind": "Deployment"}, "patch": {"spec": {}}}]}, "kubeflow_patches"),
        ({NAME: [{"target": target(), "patch": {"kind": "Pod"}}]}, "kubeflow_patches"),
        ({NAME: [{"target": target(), "patch": {}}]}, "kubeflow_patches"),
        ({NAME: [{"target": target(), "patch": [{"op": "put", "path": "/a"}]}]}, "kubeflow_patches"),
        ({NAME: []}, "kubeflow_patches"),
    ],
)
def test_the_variable_is_checked(patches: Any, word: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse({"kubeflow_profile": "full", "kubeflow_patches": patches})
    assert word in str(caught.value)


def test_a_program_that_is_not_the_known_one_is_no_fault_of_a_patch(kustomize: Path, tmp_path: Path) -> None:
    wanted = settings(kustomize, tmp_path, {"target": target(), "patch": {"metadata": {"labels": {"a": "b"}}}})
    with pytest.raises(UnknownProgramError, match="sha256"):
        with_own_patches(NAME, OBJECTS, replace(wanted, kustomize_sum="0" * 64), silent)
