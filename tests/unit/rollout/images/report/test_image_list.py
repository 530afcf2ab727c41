"""The list of images: judged without asking anybody, in the formats that tools take."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog.images.lost import whole_releases
from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.images.rename.rewrite import rewrite
from kubeflow_volcano.rollout.images.rename.rules import renamed
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport, report
from kubeflow_volcano.rollout.settings.settings import Settings, parse

pytestmark = pytest.mark.usefixtures("small_catalog")

Make = Callable[..., dict[str, Any]]

DIGEST = "sha256:" + "0a" * 32


def listed(objects: tuple[dict[str, Any], ...], **variables: Any) -> ImagesReport:
    settings: Settings = parse({"kubeflow_release": "1.9.1", **variables})
    return report(rewrite({"part": objects}, settings.mirror), settings)


@pytest.fixture
def objects(deployment: Make) -> tuple[dict[str, Any], ...]:
    return (
        deployment("a", image="mysql:8.0.29"),
        deployment("b", image=f"gcr.io/knative-releases/x@{DIGEST}"),
        deployment("c", image="gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0"),
        deployment("d", image="docker.io/seldonio/mlserver:1.5.0"),
        deployment("e", image="gcr.io/ml-pipeline/api-server:2.0.5"),
        deployment("f", image="ghcr.io/kubeflow/kfp-frontend:2.15.0"),
    )


REWRITE = {"image_mirror_mode": "rewrite", "image_mirror_preset": "daocloud"}


def test_plain_text_is_what_nodes_pull(objects: tuple[dict[str, Any], ...]) -> None:
    assert listed(objects, **REWRITE).text().splitlines() == [
        "m.daocloud.io/docker.io/library/busybox:1.36",
        "m.daocloud.io/docker.io/library/mysql:8.0.29",
        "m.daocloud.io/docker.io/seldonio/mlserver:1.5.0",
        f"m.daocloud.io/gcr.io/knative-releases/x@{DIGEST}",
        "m.daocloud.io/gcr.io/ml-pipeline/api-server:2.0.5",
        "m.daocloud.io/ghcr.io/kubeflow/kfp-frontend:2.15.0",
        "m.daocloud.io/quay.io/brancz/kube-rbac-proxy:v0.8.0",
        "m.daocloud.io/registry.k8s.io/pause:3.10",
    ]


def test_skopeo_gets_sources_by_registry(objects: tuple[dict[str, Any], ...]) -> None:
    assert yaml.safe_load(listed(objects, **REWRITE).skopeo()) == {
        "docker.io": {
            "images": {"library/busybox": ["1.36"], "library/mysql": ["8.0.29"], "seldonio/mlserver": ["1.5.0"]}
        },
        "gcr.io": {"images": {"knative-releases/x": [DIGEST], "ml-pipeline/api-server": ["2.0.5"]}},
        "ghcr.io": {"images": {"kubeflow/kfp-frontend": ["2.15.0"]}},
        "quay.io": {"images": {"brancz/kube-rbac-proxy": ["v0.8.0"]}},
        "registry.k8s.io": {"images": {"pause": ["3.10"]}},
    }


def test_crane_gets_pairs(objects: tuple[dict[str, Any], ...]) -> None:
    rules = [{"source": "*", "registry": "registry.lan:5000/kf"}]
    lines = listed(objects[:3], image_mirror_mode="rewrite", image_mirror_rules=rules).crane().splitlines()
    assert lines == [
        "docker.io/library/busybox:1.36 registry.lan:5000/kf/library/busybox:1.36",
        "docker.io/library/mysql:8.0.29 registry.lan:5000/kf/library/mysql:8.0.29",
        f"gcr.io/knative-releases/x@{DIGEST} registry.lan:5000/kf/knative-releases/x@{DIGEST}",
        "quay.io/brancz/kube-rbac-proxy:v0.8.0 registry.lan:5000/kf/brancz/kube-rbac-proxy:v0.8.0",
        "registry.k8s.io/pause:3.10 registry.lan:5000/kf/pause:3.10",
    ]
    assert listed(objects).crane() == ""


def test_json_says_all_that_is_known(objects: tuple[dict[str, Any], ...]) -> None:
    data = json.loads(json.dumps(listed(objects, **REWRITE, plan_architectures=["amd64", "arm64"]).as_dict()))
    assert (data["count"], data["covered"]) == (8, 8)
    by_name = {item["original"]: item for item in data["images"]}
    proxy = by_name["gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0"]
    assert (proxy["override"], proxy["served"], proxy["gone"]) == ("quay.io/brancz/kube-rbac-proxy:v0.8.0", True, "")
    assert by_name["docker.io/seldonio/mlserver:1.5.0"]["served"] is False
    assert by_name["gcr.io/ml-pipeline/api-server:2.0.5"]["gone"].startswith("since 2025-11, kubeflow/pipelines#12422")
    frontend = by_name["ghcr.io/kubeflow/kfp-frontend:2.15.0"]
    assert (frontend["architectures"], frontend["missing"]) == (["amd64"], ["arm64"])
    assert by_name["docker.io/library/mysql:8.0.29"]["architectures"] == []
    assert by_name["docker.io/library/mysql:8.0.29"]["written"] == ["mysql:8.0.29"]
    assert by_name["docker.io/library/mysql:8.0.29"]["sites"] == [
        "Deployment kubeflow/a spec.template.spec.containers[0].image"
    ]


def test_what_is_known_against_images_is_told(objects: tuple[dict[str, Any], ...]) -> None:
    given = {**REWRITE, "image_mirror_allow_gone": True, "plan_architectures": ["arm64"]}
    found = [warning.found.partition(":")[0] for warning in listed(objects, **given).warnings]
    assert [
        (text.split()[0], word in text) for text, word in zip(found, ("gone", "allow-list", "arm64"), strict=True)
    ] == [
        ("1", True),
        ("1", True),
        ("2", True),
    ]


GONE = "gcr.io/ml-pipeline/api-server:2.0.5"


@pytest.mark.parametrize(
    "variables", [{}, REWRITE, {**REWRITE, "image_mirror_mode": "containerd"}], ids=["none", "rewrite", "containerd"]
)
def test_what_is_gone_without_a_replacement_is_refused_in_every_mode(
    objects: tuple[dict[str, Any], ...], variables: dict[str, Any]
) -> None:
    (problem,) = listed(objects, **variables).problems
    assert problem.found.endswith(f"kubeflow/pipelines#12422): {GONE}.")
    assert "kubeflow_exclude: [part]" in problem.todo
    assert f"kubeflow_release {', '.join(reversed(whole_releases()))};" in problem.todo
    allowed = listed(objects, **variables, image_mirror_allow_gone=True)
    assert allowed.problems == ()
    assert any(warning.found.endswith(f": {GONE}.") for warning in allowed.warnings)


def test_without_the_catalog_s_replacements_all_that_is_gone_is_refused(objects: tuple[dict[str, Any], ...]) -> None:
    (problem,) = listed(objects, image_mirror_catalog_overrides=False).problems
    assert problem.found.endswith(f": gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0, {GONE}.")
    assert problem.todo.startswith("set image_mirror_catalog_overrides: true; or ")


@pytest.mark.parametrize(
    "variables",
    [
        {"image_mirror_mode": "rewrite", "image_mirror_rules": [{"source": "*", "prefix": "m.lan"}]},
        {"image_mirror_mode": "registry", "image_mirror_registry": "own.lan:5000"},
    ],
    ids=["unknown mirror", "own registry"],
)
def test_who_may_have_kept_an_image_is_not_refused(
    objects: tuple[dict[str, Any], ...], variables: dict[str, Any]
) -> None:
    found = listed(objects, **variables)
    assert found.problems == ()
    assert any(warning.found.endswith(f": {GONE}.") for warning in found.warnings)


def test_what_requires_a_component_is_left_out_with_it(deployment: Make) -> None:
    settings = parse({"kubeflow_release": "1.8.1", "kubeflow_profile": "full"})
    parts = {"istio-namespace": (deployment("a", image=GONE),)}
    (problem,) = report(rewrite(parts, settings.mirror), settings).problems
    assert "kubeflow_exclude: [istio-namespace, istio, " in problem.todo


def test_an_own_allow_list_is_the_whole_truth(objects: tuple[dict[str, Any], ...], allow_list: Path) -> None:
    entries = listed(objects, **REWRITE, image_mirror_allow_list=str(allow_list)).entries
    assert {item.source: item.judgement.served for item in entries} == {
        "docker.io/library/busybox:1.36": True,
        "docker.io/library/mysql:8.0.29": True,
        "docker.io/seldonio/mlserver:1.5.0": False,
        f"gcr.io/knative-releases/x@{DIGEST}": True,
        "gcr.io/ml-pipeline/api-server:2.0.5": True,
        "ghcr.io/kubeflow/kfp-frontend:2.15.0": False,
        "quay.io/brancz/kube-rbac-proxy:v0.8.0": False,
        "registry.k8s.io/pause:3.10": False,
    }


def test_an_extract_of_a_list_does_not_judge_what_it_lacks(deployment: Make) -> None:
    entries = listed((deployment("d", image="docker.io/somebody/else:1"),), **REWRITE).entries
    (entry,) = [item for item in entries if "somebody" in item.source]
    assert entry.judgement.served is None


@pytest.mark.parametrize("text", ["", "<!DOCTYPE html>\n<a/>\n", "not a pattern\n", "\xff"])
def test_a_file_that_is_no_allow_list_is_refused(
    objects: tuple[dict[str, Any], ...], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "allows.txt"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match="image_mirror_allow_list is"):
        listed(objects, **REWRITE, image_mirror_allow_list=str(path))


def test_a_list_that_is_not_there_is_refused(objects: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        listed(objects, **REWRITE, image_mirror_allow_list="/nowhere/allows.txt")


def test_the_images_of_the_validation_are_listed_and_renamed_alike() -> None:
    entries = {item.use.original: item for item in listed((), **REWRITE).entries}
    assert set(entries) == {BUSYBOX, PAUSE}
    settings = parse({"kubeflow_release": "1.9.1", **REWRITE})
    assert renamed(PAUSE, settings.mirror) == entries[PAUSE].use.final == "m.daocloud.io/registry.k8s.io/pause:3.10"
    assert renamed(BUSYBOX, parse({"kubeflow_release": "1.9.1"}).mirror) == BUSYBOX
