"""Remote bases come from sources beside the release; unknown ones are refused before anything is built."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.model import RemoteBase, Source
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations
from kubeflow_volcano.rollout.manifests.remote_bases import with_local_bases
from kubeflow_volcano.rollout.manifests.render import Renderer
from kubeflow_volcano.rollout.manifests.sources import Sources
from kubeflow_volcano.rollout.settings.settings import Settings, parse

ARGO = "https://github.com/argoproj/argo-workflows/manifests"
JOBSET = "https://github.com/kubernetes-sigs/jobset/releases/download/v0.10.1/manifests.yaml"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: jobset}
spec: {template: {spec: {containers: [{name: manager, image: "staging.example/jobset:v0.10.1"}]}}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argo}\n"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A release with two kustomizations that name other machines, sources for them, and one that names none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for path, text in {
        "release/pipelines/kustomization.yaml": f"# see {ARGO}/x\nresources:\n- '{ARGO}/base?ref=v3.7.3'\n",
        "release/trainer/kustomization.yaml": f"resources:\n  - {JOBSET}\n",
        "release/plain/kustomization.yaml": "resources: [map.yaml]\n",
        "release/plain/map.yaml": MAP,
        "argo/manifests/base/kustomization.yaml": "resources: [map.yaml]\n",
        "argo/manifests/base/map.yaml": MAP,
        "jobset/config/default/kustomization.yaml": "resources: [deployment.yaml]\n",
        "jobset/config/default/deployment.yaml": DEPLOYMENT,
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = parse({"kubeflow_release": "26.03", "kubeflow_source": str(tmp_path / "release")})
    release = replace(
        found.release,
        components={"plain": replace(found.release.components["dex"], path="plain")},
        remote_sources=(
            Source("argo-workflows", "Argo", "https://github.com/x/archive/refs/tags/v3.7.3.tar.gz", "0" * 64, None),
            Source("jobset", "JobSet", "https://github.com/y/archive/refs/tags/v0.10.1.tar.gz", "0" * 64, None),
        ),
        remote_bases=(
            RemoteBase(f"{ARGO}?ref=v3.7.3", "argo-workflows", "manifests", {}),
            RemoteBase(JOBSET, "jobset", "config/default", {"staging.example/jobset": "registry.k8s.io/jobset"}),
        ),
    )
    sources = {"argo-workflows": str(tmp_path / "argo"), "jobset": str(tmp_path / "jobset")}
    return replace(found, release=release, sources=sources)


def resolved(settings: Settings, *names: str) -> Mapping[str, Path]:
    root = Path(settings.source)
    places = {name: root / name for name in names}
    return with_local_bases(places, settings.release, Sources(settings, silent), Kustomizations(), silent)


def built(settings: Settings, kustomize: Path, *names: str) -> dict[str, Any]:
    objects = Renderer(kustomize, settings.cache_directory, silent).render(resolved(settings, *names))
    return {name: found[0] for name, found in objects.items()}


def test_they_are_built_from_their_sources_with_the_published_images(settings: Settings, kustomize: Path) -> None:
    found = built(settings, kustomize, "pipelines", "trainer", "plain")
    assert found["pipelines"] == found["plain"]
    image = found["trainer"]["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == "registry.k8s.io/jobset:v0.10.1"


def test_a_source_may_be_one_file(settings: Settings, kustomize: Path, tmp_path: Path) -> None:
    file = tmp_path / "jobset.yaml.gz"
    file.write_bytes(gzip.compress(DEPLOYMENT.encode()))
    one = replace(settings, sources={"jobset": str(file)})
    assert built(one, kustomize, "trainer")["trainer"]["metadata"]["name"] == "jobset"


def test_the_release_itself_is_left_as_it_is(settings: Settings) -> None:
    before = {path: path.read_bytes() for path in Path(settings.source).rglob("*") if path.is_file()}
    places = resolved(settings, "pipelines", "plain")
    assert places["pipelines"] != Path(settings.source) / "pipelines"
    assert {path: path.read_bytes() for path in Path(settings.source).rglob("*") if path.is_file()} == before
    assert resolved(settings, "pipelines", "plain") == places
    assert resolved(settings, "plain") == {"plain": Path(settings.source) / "plain"}


def test_a_source_is_needed_only_by_what_names_it(settings: Settings, kustomize: Path) -> None:
    one = replace(settings, sources={**settings.sources, "jobset": "/absent"})
    assert "pipelines" in built(one, kustomize, "pipelines")
    with pytest.raises(InvalidInput, match="no /absent") as caught:
        resolved(one, "trainer")
    assert "kubeflow_sources.jobset" in caught.value.problems[0].todo


@pytest.mark.parametrize(
    "entry",
    ["https://github.com/argoproj/argo-workflows/manifests/base?ref=v3.8.0", "github.com/other/base", "git@host:x"],
)
def test_what_the_catalog_does_not_know_is_refused_by_name(settings: Settings, entry: str) -> None:
    (Path(settings.source) / "pipelines" / "kustomization.yaml").write_text(f"resources: ['{entry}']\n")
    one = replace(settings, sources={**settings.sources, "jobset": "/absent"})
    with pytest.raises(InvalidInput) as caught:
        resolved(one, "pipelines", "trainer")
    unknown, absent = caught.value.problems
    assert entry in unknown.found
    assert "pipelines" in unknown.found
    assert "/absent" in absent.found


def test_a_source_without_the_base_is_told(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "argo" / "manifests" / "base" / "kustomization.yaml").unlink()
    with pytest.raises(InvalidInput, match=r"no kustomization .*manifests/base") as caught:
        resolved(settings, "pipelines")
    assert "kubeflow_sources.argo-workflows" in caught.value.problems[0].todo
