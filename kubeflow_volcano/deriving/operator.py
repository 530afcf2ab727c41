"""Entries of the training operator: manifests in the archive of a tag of kubeflow/trainer, built with kustomize."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.operator import COMPONENT, version_of_image
from kubeflow_volcano.deriving.facts import facts_of
from kubeflow_volcano.deriving.release import Remotes, built
from kubeflow_volcano.rollout.manifests.trees import content_sum

FOLDER = "training_operator"
"""The folder of its entries in a catalog."""

PATH = "manifests/overlays/kubeflow"
"""The manifests in upstream's tree, by which that is known; those of Trainer 2 are elsewhere."""

_REPOSITORY = "kubeflow/trainer"
_IMAGES = ("docker.io/kubeflow/training-operator:", "ghcr.io/kubeflow/training-v1/training-operator:")


def derive_operator(root: Path, version: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The derived fields of its entry. The image outranks the given `version` where the catalog knows its tag.

    The address is that of upstream's tag if the image is upstream's: no other tree has the sum.

    Raises:
        InvalidInput: kustomize fails or is missing.
    """
    facts = facts_of(built(root, [PATH], read.releases()[-1], Remotes((), (), {}), variables)[PATH])
    images = [image for of in facts["images"].values() for image in of.values()]
    version = next(filter(None, map(version_of_image, images)), version)
    upstream = all(image.startswith(_IMAGES) for image in images)
    tag = f"https://github.com/{_REPOSITORY}/archive/refs/tags/v{version}.tar.gz"
    return {
        "name": COMPONENT,
        "title": "Training operator",
        "version": version,
        "manifests": f"{PATH} of {_REPOSITORY} v{version}" if upstream else f"{PATH} of training operator {version}",
        "address": f"{tag}#content-sha256={content_sum(root)}" if upstream else None,
        "path": PATH,
        **facts,
    }
