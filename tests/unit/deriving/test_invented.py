"""A release that nobody has published: derived, planned with, and upgraded to, without a change of code."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.deriving.cli import main
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.plan.judging import judge_upgrades
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.versions.judge import require_upgrade
from tests.archives import REMOTE_BASES, file_beside, needed_archive
from tests.unpacking import unpack

FORMER, INVENTED = "26.03.1", "26.10"
CONTROLLER = Ref("apps/v1", "Deployment", "kubeflow", "notebook-controller-deployment")


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """26.03.1 with a component moved, an image renamed and a selector changed."""
    root = tmp_path_factory.mktemp("tree")
    with tarfile.open(needed_archive(FORMER)) as archive:
        unpack(archive, root)
    (found,) = root.iterdir()
    place = found.rename(root / f"community-distribution-{INVENTED}")
    (place / "common/identity").mkdir()
    shutil.move(place / "common/dex", place / "common/identity/dex")
    replaced(place / "example/kustomization.yaml", "../common/dex/", "../common/identity/dex/")
    dashboard = place / "applications/dashboard/upstream/profile-controller"
    replaced(
        dashboard / "base/manager/kustomization.yaml",
        "newName: ghcr.io/kubeflow/dashboard/",
        "newName: ghcr.io/kubeflow/profiles/",
    )
    notebooks = place / "applications/notebooks-v1/upstream/notebook-controller"
    replaced(notebooks / "default/kustomization.yaml", "app: notebook-controller", "app: notebooks")
    return place


@pytest.fixture(scope="module")
def variables(tree: Path, tmp_path_factory: pytest.TempPathFactory, kustomize: Path) -> Mapping[str, Any]:
    """Of an inventory with the invented release, by an entry of its own."""
    own = tmp_path_factory.mktemp("own")
    sources = {name: str(file_beside(file)) for name, file in REMOTE_BASES[FORMER].items()}
    remotes = [word for name, path in sources.items() for word in ("--remote", f"{name}={path}")]
    words = ["derive", str(tree), "--like", FORMER, "--catalog", str(own), "--kustomize", str(kustomize), *remotes]
    assert main(words) == 0
    return {
        "catalog_directory": str(own),
        "kubeflow_release": INVENTED,
        "kubeflow_profile": "full",
        "kubeflow_source": str(tree),
        "kubeflow_sources": sources,
        "kubeflow_upgrade_confirmed": ["training-operator"],
        "kustomize_binary": str(kustomize),
        "local_path_version": "0.0.37",
        "local_path_source": str(file_beside("local-path-storage-0.0.37.yaml")),
        "volcano_source": str(file_beside("volcano-1.15.1.yaml.gz")),
    }


@pytest.fixture
def settings(variables: Mapping[str, Any]) -> Settings:
    return parse(variables)


@pytest.mark.upstream
def test_its_entry_has_what_moved_and_was_renamed_under_the_former_names(settings: Settings) -> None:
    parts = settings.release.components
    assert parts["dex"].path == "common/identity/dex/overlays/oauth2-proxy"
    images = {image for of in parts["profiles"].images.values() for image in of.values()}
    assert "ghcr.io/kubeflow/profiles/profile-controller:v2.0.0" in images
    assert parts["notebook-controller"].selectors[CONTROLLER].startswith("app=notebooks,")
    (note,) = settings.own_entries
    assert INVENTED in note
    assert str(settings.release.entry) in note


@pytest.mark.upstream
def test_a_plan_renders_it_and_names_the_immutable_selector(settings: Settings) -> None:
    found = desired(settings, settings.components, silent).parts
    assert {part.name for part in settings.components} == {*found}
    assert all(found.values())
    finding = judge_upgrades(settings)
    assert FORMER in finding.found
    (step,) = [item for item in finding.details if str(CONTROLLER) in item]
    assert "kubectl -n kubeflow delete deployment notebook-controller-deployment" in step


@pytest.mark.upstream
def test_an_upgrade_from_the_former_release_names_the_selector_and_one_from_an_older_one_the_way(
    settings: Settings,
) -> None:
    installed = dict.fromkeys(settings.release.components, FORMER)
    notes = require_upgrade(settings, scope_of(settings), installed)
    assert [str(CONTROLLER) in note for note in notes].count(True) == 1
    with pytest.raises(InvalidInput, match=r"time: 26\.03\.1"):
        require_upgrade(settings, scope_of(settings), dict.fromkeys(settings.release.components, "26.03"))
