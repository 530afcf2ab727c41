"""One pipeline from sources to objects, with every problem at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.desired import Desired, desired
from kubeflow_volcano.rollout.settings.ceded import Target
from kubeflow_volcano.rollout.settings.own_patches import OwnPatch
from kubeflow_volcano.rollout.settings.settings import Settings, parse

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shared}\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: shared}\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shared}
spec: {containers: [{name: c, image: "gcr.io/a/b:v1"}]}
"""

Write = Callable[..., tuple[Settings, Sequence[Component]]]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Settings and components for plain manifests by component name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def build(texts: dict[str, str], **variables: Any) -> tuple[Settings, Sequence[Component]]:
        settings = parse({"kubeflow_release": "1.9.1", **variables})
        model = settings.release.components["kubeflow-namespace"]
        sources = {}
        for name, text in texts.items():
            sources[name] = str(tmp_path / f"{name}.yaml")
            Path(sources[name]).write_text(text)
        settings = replace(settings, sources=sources)
        return settings, [replace(model, name=name, workloads=(), crds={}, webhooks=()) for name in texts]

    return build


def names(found: Desired) -> dict[str, list[str]]:
    return {name: [obj["metadata"]["name"] for obj in objects] for name, objects in found.parts.items()}


def test_what_two_components_bring_is_the_first_one_s_and_the_order_stays(write: Write) -> None:
    found = desired(*write({"b": f"{MAP % 'z'}---\n{NAMESPACE}", "a": f"{NAMESPACE}---\n{MAP % 'y'}"}), silent)
    assert names(found) == {"b": ["z", "shared"], "a": ["y"]}


def test_a_namespace_that_no_manifest_has_is_declared_whatever_the_cluster_has(write: Write) -> None:
    settings, (first, second) = write({"b": MAP % "z", "a": MAP % "y"}, kubeflow_namespace_labels={"team": "x"})
    parts = [replace(part, namespaces=("shared", "unused")) for part in (first, second)]
    found = desired(settings, parts, silent)
    assert names(found) == {"b": ["shared", "z"], "a": ["y"]}
    assert found.namespaces == (Ref("v1", "Namespace", "", "shared"),)
    assert found.parts["b"][0]["metadata"]["labels"] == {"team": "x"}


def test_a_namespace_that_an_excluded_component_would_make_is_left_to_others(write: Write) -> None:
    settings, (part,) = write({"a": MAP.replace("shared", "kubeflow") % "y"}, kubeflow_exclude=["kubeflow-namespace"])
    found = desired(settings, [replace(part, namespaces=("kubeflow",))], silent)
    assert (names(found), found.namespaces) == ({"a": ["y"]}, ())


@pytest.mark.parametrize("name", ["kube-system", "cert-manager"])
def test_a_namespace_of_kubernetes_or_of_an_existing_component_is_not_declared(write: Write, name: str) -> None:
    settings, (part,) = write({"a": MAP.replace("shared", name) % "y"}, kubeflow_existing=["cert-manager"])
    found = desired(settings, [replace(part, namespaces=(name,))], silent)
    assert names(found) == {"a": ["y"]}
    assert found.namespaces == ()


def test_components_that_disagree_about_an_object_are_refused(write: Write) -> None:
    other = NAMESPACE.replace("name: shared", "name: shared, labels: {x: y}")
    with pytest.raises(InvalidInput, match=r"b and a .*Namespace shared"):
        desired(*write({"b": NAMESPACE, "a": other}), silent)


def test_everything_that_is_wrong_with_sources_is_told_at_once(write: Write) -> None:
    settings, components = write({"good": NAMESPACE, "bad": "- 1\n", "twice": f"{NAMESPACE}---\n{NAMESPACE}"})
    settings = replace(settings, sources={**settings.sources, "absent": "/absent"})
    components = [*components, replace(components[0], name="absent")]
    with pytest.raises(InvalidInput) as caught:
        desired(settings, components, silent)
    text = str(caught.value)
    assert len(caught.value.problems) == 3
    for words in ("is a list", "has Namespace shared twice", "no /absent"):
        assert words in text


def test_what_the_catalog_expects_and_is_not_there_is_told(write: Write) -> None:
    settings, (part,) = write({"kserve": NAMESPACE})
    part = replace(part, workloads=(Ref("apps/v1", "Deployment", "n", "controller"),), crds={"xs.example.com": ()})
    with pytest.raises(InvalidInput) as caught:
        desired(settings, [part], silent)
    (problem,) = caught.value.problems
    assert "Deployment n/controller" in problem.found
    assert "CustomResourceDefinition xs.example.com" in problem.found
    assert "kubeflow_sources.kserve" in problem.todo


SCALER = """\
apiVersion: %s
kind: HorizontalPodAutoscaler
metadata: {name: h, namespace: n}
spec: {maxReplicas: 2}
"""


@pytest.mark.parametrize(("release", "applied"), [("1.7.0", "autoscaling/v2"), ("1.6.1", "autoscaling/v2beta2")])
def test_an_api_that_is_gone_is_replaced_where_the_release_says_so(write: Write, release: str, applied: str) -> None:
    settings, (part, *_) = write(
        {"knative": SCALER % "autoscaling/v2beta2", "other": SCALER.replace("h,", "i,") % "x/v1"}
    )
    settings = replace(settings, release=read.load_release(release))
    found = desired(settings, [part, replace(part, name="other")], silent)
    assert [obj["apiVersion"] for objects in found.parts.values() for obj in objects] == [applied, "x/v1"]
    assert len(found.notes) == (applied == "autoscaling/v2")


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: n}
spec: {template: {spec: {containers: [{name: c, image: "REGISTRY/vc-scheduler:v1.10.0@sha256:DIGEST"}]}}}
"""


@pytest.mark.parametrize("registry", ["docker.io/volcanosh", "registry.lan:5000/x"])
def test_a_volcano_of_another_version_is_refused_by_the_tags_of_its_programs(write: Write, registry: str) -> None:
    settings, (part,) = write({"volcano": DEPLOYMENT.replace("REGISTRY", registry).replace("DIGEST", 64 * "0")})
    part = replace(part, title="Volcano", workloads=(Ref("apps/v1", "Deployment", "n", "d"),))
    with pytest.raises(InvalidInput) as caught:
        desired(settings, [replace(part, version="1.8.2")], silent)
    (problem,) = caught.value.problems
    assert re.fullmatch(r"volcano_source .*1\.10\.0, volcano_version .*1\.8\.2\.", problem.found)
    assert problem.todo.endswith('set volcano_version: "1.10.0".')
    assert names(desired(settings, [replace(part, version="1.10.0")], silent)) == {"volcano": ["d"]}


def test_images_are_rewritten_and_listed(write: Write) -> None:
    rules = {"image_mirror_mode": "rewrite", "image_mirror_rules": [{"source": "gcr.io", "prefix": "m.daocloud.io"}]}
    found = desired(*write({"a": POD}, **rules), silent)
    assert found.parts["a"][0]["spec"]["containers"][0]["image"] == "m.daocloud.io/gcr.io/a/b:v1"
    assert [(use.original, use.final) for use in found.images.images] == [
        ("gcr.io/a/b:v1", "m.daocloud.io/gcr.io/a/b:v1")
    ]


def test_storage_that_the_cluster_brings_is_a_component_without_objects(write: Write) -> None:
    settings, _ = write({}, local_path_storage_mode="existing")
    found = desired(settings, [settings.local_path], silent)
    assert names(found) == {"local-path": []}


OPERATOR = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: training-operator, namespace: shared}
spec: {template: {spec: {containers: [{name: training-operator, image: "kubeflow/training-operator:%s"}]}}}
"""
OLD, NEW = ["--enable-gang-scheduling=true"], ["--gang-scheduler-name=volcano"]


@pytest.mark.parametrize(
    ("release", "tag", "arguments", "notifier"),
    [("1.6.1", "v1-e1434f6", OLD, True), ("1.7.0", "v1-5a5f92d", NEW, False), ("1.9.1", "v1-04f9f13", NEW, False)],
)
def test_gang_scheduling_goes_off_and_on_again_in_every_era(
    write: Write, release: str, tag: str, arguments: list[str], *, notifier: bool
) -> None:
    seen = {}
    for turn, scheduler in enumerate(("volcano", "none", "volcano")):
        variables = {"kubeflow_release": release, "gang_scheduling_scheduler": scheduler}
        (obj,) = desired(*write({"training-operator": OPERATOR % tag}, **variables), silent).parts["training-operator"]
        seen[turn] = obj["spec"]["template"]["spec"]["containers"]
    on, off, again = seen.values()
    assert again == on
    assert [item["name"] for item in on] == ["training-operator", *(["notifier"] if notifier else [])]
    assert on[0]["args"] == arguments
    assert off == [{"name": "training-operator", "image": f"kubeflow/training-operator:{tag}", "args": []}]


def test_the_image_of_the_container_beside_an_old_operator_is_mirrored_as_any(write: Write) -> None:
    variables = {"kubeflow_release": "1.6.1", "image_mirror_mode": "rewrite", "image_mirror_preset": "daocloud"}
    found = desired(*write({"training-operator": OPERATOR % "v1-e1434f6"}, **variables), silent)
    (obj,) = found.parts["training-operator"]
    assert obj["spec"]["template"]["spec"]["containers"][1]["image"].startswith("m.daocloud.io/docker.io/volcanosh/")
    assert any("vc-webhook-manager" in str(item) for item in found.images.images)


def test_patches_of_the_inventory_come_before_new_names_of_images(write: Write, kustomize: Path) -> None:
    rules = {"image_mirror_mode": "rewrite", "image_mirror_rules": [{"source": "gcr.io", "prefix": "m.daocloud.io"}]}
    settings, components = write({"pods": POD}, **rules)
    more = {"spec": {"containers": [{"name": "d", "image": "gcr.io/x/y:v2"}]}}
    own = {"pods": (OwnPatch(Target("Pod", "p"), more),)}
    found = desired(replace(settings, kustomize=kustomize, own_kustomize=True, patches=own), components, silent)
    (pod,) = found.parts["pods"]
    assert {item["name"]: item["image"] for item in pod["spec"]["containers"]} == {
        "c": "m.daocloud.io/gcr.io/a/b:v1",
        "d": "m.daocloud.io/gcr.io/x/y:v2",
    }


def test_a_patch_and_a_variable_that_set_the_same_are_refused(write: Write, kustomize: Path) -> None:
    settings, components = write({"spaces": NAMESPACE}, kubeflow_namespace_labels={"team": "a"})
    patch = OwnPatch(Target("Namespace", "shared"), {"metadata": {"labels": {"team": "b", "more": "c"}}})
    settings = replace(settings, kustomize=kustomize, own_kustomize=True, patches={"spaces": (patch,)})
    with pytest.raises(InvalidInput, match=r"patches\.spaces\[0\] .*metadata\.labels\.team .*shared"):
        desired(settings, components, silent)
