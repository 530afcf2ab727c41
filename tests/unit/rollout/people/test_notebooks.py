"""What notebooks are offered, in upstream's manifests of each release that is at hand, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.images.rename.rewrite import rewrite
from kubeflow_volcano.rollout.images.rename.rules import renamed
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.people.notebooks import PAGE
from kubeflow_volcano.rollout.plan.account import judge_culling
from kubeflow_volcano.rollout.plan.findings import Verdict
from kubeflow_volcano.rollout.settings.people.notebooks import CONTROLLER, WEB_APP
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.pages.blocks import blocks
from tests.places import ROOT
from tests.unit.releases import Upstream, WholeRelease

JUPYTER = ["registry.example.org/notebooks/torch:2.4", "registry.example.org/notebooks/ascend:2.3"]
VENDORS = {"nvidia.com/gpu": "NVIDIA", "amd.com/gpu": "AMD", "huawei.com/Ascend910": "Ascend"}
GIVEN: dict[str, Any] = {
    "images": {"jupyter": JUPYTER, "rstudio": ["rocker/rstudio:4.4"]},
    "custom_images": False,
    "cpu": {"request": 2, "limit_factor": "none"},
    "memory": {"request": "4Gi"},
    "workspace": {"size": "20Gi", "storage_class": "fast"},
    "gpus": {
        "vendors": [{"key": key, "name": name} for key, name in VENDORS.items()],
        "vendor": "huawei.com/Ascend910",
        "count": "2",
    },
    "affinities": [{"key": "one", "name": "One", "affinity": {"podAntiAffinity": {"x": [{"y": "z"}]}}}],
    "tolerations": [{"key": "npu", "name": "NPU", "tolerations": [{"operator": "Exists"}], "default": True}],
    "pod_defaults": [
        {"name": "pip", "title": "Mirror", "spec": {"env": [{"name": "A", "value": "b"}]}, "default": True},
        {"name": "s3", "title": "Store", "spec": {"envFrom": [{"secretRef": {"name": "s3"}}]}},
    ],
    "culling": {"idle_minutes": 60},
}


@pytest.fixture(scope="module", params=read.releases())
def upstream(request: pytest.FixtureRequest, whole_release: WholeRelease) -> Upstream:
    """Of each release in turn."""
    return whole_release(request.param).only((WEB_APP, CONTROLLER, "profiles", "user-namespace"))


def page_of(objects: Any) -> dict[str, Any]:
    (text,) = [obj["data"][PAGE] for obj in objects if PAGE in (obj.get("data") or {})]
    found: dict[str, Any] = yaml.safe_load(text)["spawnerFormDefaults"]
    return found


def settings(notebooks: Any, **more: Any) -> Settings:
    return parse({"kubeflow_profile": "full", "kubeflow_notebooks": notebooks, **more})


def test_the_page_of_every_release_offers_what_is_given_and_keeps_the_rest(upstream: Upstream) -> None:
    before = page_of(upstream.parts[WEB_APP])
    changed = upstream.changed(kubeflow_notebooks=GIVEN)
    page = page_of(changed[WEB_APP])
    assert page["image"] == {"value": JUPYTER[0], "options": JUPYTER}
    assert page["imageGroupTwo"]["options"] == ["rocker/rstudio:4.4"]
    assert page["imageGroupOne"] == before["imageGroupOne"]
    assert page["allowCustomImage"] is False
    assert page["cpu"] == {**before["cpu"], "value": "2", "limitFactor": "none"}
    assert page["memory"] == {**before["memory"], "value": "4Gi"}
    spec = page["workspaceVolume"]["value"]["newPvc"]["spec"]
    assert (spec["resources"]["requests"]["storage"], spec["storageClassName"]) == ("20Gi", "fast")
    vendors = [{"limitsKey": key, "uiName": name} for key, name in VENDORS.items()]
    assert page["gpus"]["value"] == {"num": "2", "vendors": vendors, "vendor": "huawei.com/Ascend910"}
    assert page["affinityConfig"]["options"] == [
        {"configKey": "one", "displayName": "One", "affinity": {"podAntiAffinity": {"x": [{"y": "z"}]}}}
    ]
    assert (page["tolerationGroup"]["value"], page["affinityConfig"]["value"]) == ("npu", "")
    assert page["configurations"]["value"] == ["pip"]
    assert page.keys() == before.keys()
    assert {key: set(item) - {"limitFactor"} for key, item in page.items() if isinstance(item, dict)} == {
        key: set(item) - {"limitFactor"} for key, item in before.items() if isinstance(item, dict)
    }


def test_without_the_variable_no_object_changes(upstream: Upstream) -> None:
    assert upstream.changed() == upstream.parts


def test_idle_notebooks_are_stopped_by_the_controller_of_every_release(upstream: Upstream) -> None:
    changed = upstream.changed(kubeflow_notebooks={"culling": {"idle_minutes": 60}})[CONTROLLER]
    (deployment,) = [obj for obj in changed if obj["kind"] == "Deployment"]
    (container,) = [item for item in deployment["spec"]["template"]["spec"]["containers"] if item["name"] == "manager"]
    env = {item["name"]: item.get("value") for item in container["env"]}
    assert len(env) == len(container["env"])
    assert (env["ENABLE_CULLING"], env["CULL_IDLE_TIME"], env["IDLENESS_CHECK_PERIOD"]) == ("true", "60", "1")
    assert "USE_ISTIO" in env


def test_images_of_notebooks_get_the_names_of_the_mirror(upstream: Upstream) -> None:
    given = upstream.settings(
        kubeflow_notebooks=GIVEN, image_mirror_mode="registry", image_mirror_registry="mirror.example.org/all"
    )
    objects = for_environment(WEB_APP, upstream.parts[WEB_APP], given)
    done = rewrite({WEB_APP: objects}, given.mirror)
    named = page_of(done.parts[WEB_APP])
    assert all(image.startswith("mirror.example.org/all/") for image in named["image"]["options"])
    assert named["image"]["value"] == named["image"]["options"][0]
    # J4 starts them by the same names.
    offered = {image for kind in ("image", "imageGroupOne", "imageGroupTwo") for image in named[kind]["options"]}
    tried = [renamed(image, given.mirror) for image in given.notebooks.offered]
    assert len(tried) == len({*JUPYTER}) + 1
    assert {*tried} <= offered


def test_pod_defaults_are_in_the_namespaces_of_profiles(upstream: Upstream) -> None:
    team = {"name": "vision", "owner": "ada@example.org"}
    given = upstream.settings(kubeflow_notebooks=GIVEN, kubeflow_profiles=[team])
    made = [obj for part in upstream.patched(given).values() for obj in part if obj["kind"] == "PodDefault"]
    places = {(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in made}
    assert places == {(space, name) for space in ("vision", given.user.namespace) for name in ("pip", "s3")}
    assert made[0]["spec"] == {
        "selector": {"matchLabels": {"pip": "true"}},
        "desc": "Mirror",
        "env": [{"name": "A", "value": "b"}],
    }
    yaml.safe_dump(made)


def test_the_plan_says_which_notebooks_are_stopped_in_use() -> None:
    (found,) = judge_culling(settings({"culling": {"idle_minutes": 60}}))
    assert (found.id, found.verdict) == ("culling", Verdict.WARN)
    assert "60 minutes after" in found.found
    assert [*judge_culling(settings({"cpu": {"request": "1"}}))] == []


def test_manifests_without_the_page_are_refused() -> None:
    other: Object = {"kind": "ConfigMap", "data": {}}
    with pytest.raises(InvalidInput, match=r"ConfigMap .*spawner_ui_config\.yaml"):
        for_environment(WEB_APP, [other], settings(GIVEN))
    empty: Object = {"kind": "ConfigMap", "data": {PAGE: "spawnerFormDefaults: {}"}}
    with pytest.raises(InvalidInput, match=r"has no spawnerFormDefaults\.cpu"):
        for_environment(WEB_APP, [empty], settings({"cpu": {"request": "1"}}))
    for text in ("", "[]", "spawnerFormDefaults:"):
        with pytest.raises(InvalidInput, match=r"has no spawnerFormDefaults\."):
            for_environment(WEB_APP, [{**empty, "data": {PAGE: text}}], settings({"custom_images": True}))


@pytest.mark.parametrize(
    ("notebooks", "more", "words"),
    [
        ({"images": {"jupyter": ["UPPER/Case"]}}, {}, "kubeflow_notebooks.images has 'UPPER/Case'"),
        ({"images": {"jupyter": []}}, {}, "kubeflow_notebooks.images.jupyter"),
        ({"images": {"zeppelin": ["a/b:1"]}}, {}, "kubeflow_notebooks.images"),
        ({"cpu": {"request": "many"}}, {}, "kubeflow_notebooks.cpu.request is many"),
        ({"memory": {"limit_factor": "0.5"}}, {}, "the limit would be below the request"),
        ({"gpus": {"vendors": [{"key": "gpu", "name": "G"}]}}, {}, "kubeflow_notebooks.gpus.vendors[0].key"),
        (
            {"gpus": {"vendors": [{"key": "nvidia.com/gpu", "name": "N"}], "vendor": "nvidia.com/gpus"}},
            {},
            "which no vendor has. Did you mean nvidia.com/gpu?",
        ),
        ({"tolerations": [{"key": "a", "name": "A", "tolerations": []}] * 2}, {}, "tolerations has a 2 times"),
        (
            {"affinities": [{"key": key, "name": key, "affinity": {}, "default": True} for key in "ab"]},
            {},
            "affinities has several with default",
        ),
        (
            {"pod_defaults": [{"name": "a", "title": "A", "spec": {"selector": {}}}]},
            {},
            "the spec of a has selector",
        ),
        (
            {"culling": {}},
            {"kubeflow_exclude": ["notebook-controller", "jupyter-web-app"]},
            "remove what is for it: culling",
        ),
    ],
)
def test_mistakes_are_refused(notebooks: Any, more: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        settings(notebooks, **more)
    assert words in str(caught.value)


def test_the_inventory_of_the_page_is_accepted() -> None:
    text, _ = [item.text for item in blocks(Path(ROOT, "docs/notebooks.md")) if item.language == "yaml"]
    found = parse(yaml.safe_load(text)).notebooks
    assert found.gpus is not None
    assert [item.key for item in found.gpus.vendors][-1] == found.gpus.vendor
    assert len(found.offered) == 3
