"""A version of the training operator that is not listed: derived from its tree, and installed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.catalog.read import load_component, versions_of
from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.deriving.cli import main
from kubeflow_volcano.deriving.operator import PATH
from kubeflow_volcano.rollout.settings.settings import parse

IMAGE = "ghcr.io/kubeflow/training-v1/training-operator:v1-0000000"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """As an archive of the tag v1.9.9 is unpacked."""
    place = tmp_path / "trainer-1.9.9" / PATH
    place.mkdir(parents=True)
    pod = {"containers": [{"name": "training-operator", "image": IMAGE}]}
    deployment = new_object("apps/v1", "Deployment", "training-operator", "kubeflow", spec={"template": {"spec": pod}})
    (place / "deployment.yaml").write_text(yaml.safe_dump(deployment), "utf-8")
    (place / "kustomization.yaml").write_text("resources: [deployment.yaml]\n", "utf-8")
    return tmp_path / "trainer-1.9.9"


@pytest.mark.parametrize("image", [IMAGE, "registry.example.com/training-operator:7"])
def test_its_entry_is_derived_and_used(
    image: str, tree: Path, kustomize: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tree / PATH / "deployment.yaml"
    manifest.write_text(manifest.read_text("utf-8").replace(IMAGE, image), "utf-8")
    own = tmp_path / "catalog"
    assert main(["derive", str(tree), "--catalog", str(own), "--kustomize", str(kustomize)]) == 0
    told = capsys.readouterr().err
    assert "training_operator/1.9.9: derived" in told
    assert "requires" in told.partition("To be judged")[2]
    settings = parse(
        {
            "catalog_directory": str(own),
            "training_operator_version": "1.9.9",
            "training_operator_source": str(tree),
        }
    )
    part = settings.training_operator
    assert part is not None
    assert [*part.images.values()] == [{"training-operator": image}]
    assert bool(part.address) == (image == IMAGE)  # the tree of another build is nobody's tag
    assert part.kubernetes == load_component("training-operator", versions_of("training-operator")[-2]).kubernetes
    parse({})  # and no trace is left of the entry
