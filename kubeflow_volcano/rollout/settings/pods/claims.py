"""Class and size of the volumes that components claim: `kubeflow_claims`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.own_patches import validate_components


@dataclass(frozen=True, slots=True)
class ClaimSettings:
    """A claim's StorageClass and its size, a Kubernetes quantity; empty leaves the manifest's."""

    storage_class: str = ""
    size: str = ""


def validate_claims(
    claims: Mapping[str, Mapping[str, ClaimSettings]], chosen: Collection[str], storage_mode: str
) -> Iterator[Problem]:
    """Problems of claims of components that are not installed, and of claims whose volumes exist beforehand."""
    yield from validate_components("kubeflow_claims", claims, chosen, "claims")
    if claims and storage_mode == "static":
        yield Problem(
            "kubeflow_claims is set, and local_path_storage_mode is static.",
            "claims that their volumes fit: static volumes have the class kubeflow-static and the manifests' sizes.",
            "remove kubeflow_claims, or set local_path_storage_mode: existing, or local_path.",
        )
