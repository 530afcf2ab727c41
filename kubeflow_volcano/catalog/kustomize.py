"""Which kustomize programs upstream publishes, and their sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.read import load, nearest
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["RELEASES", "KustomizeRelease", "kustomize_release"]

RELEASES = "https://github.com/kubernetes-sigs/kustomize/releases/download"
"""What stands before the path of every asset."""


@dataclass(frozen=True, slots=True)
class KustomizeRelease:
    """The fields are described in schemas/kustomize.json."""

    version: str
    asset: str
    sums: Mapping[str, str]
    absent: Mapping[str, str]
    single: tuple[str, ...]

    @property
    def packed(self) -> bool:
        """Whether the asset is an archive with the program in it."""
        return self.asset.endswith(".tar.gz")

    def path(self, architecture: str) -> str:
        """Path of the asset for that architecture, below `RELEASES` or a mirror of it."""
        return self.asset.format(architecture=architecture)


@cache
def kustomize_release(version: str) -> KustomizeRelease:
    """What is published of that version.

    Raises:
        InvalidInput: the catalog does not know the version.
    """
    known = load("kustomize.yaml", "kustomize")
    if version not in known:
        raise InvalidInput(
            Problem(
                f"kustomize {version}, whose sums are not known.{nearest(version, known)}",
                f"one of: {', '.join(known)}.",
                "set kustomize_version to one of them, or kustomize_binary to the path of a kustomize that you trust.",
            )
        )
    data = known[version]
    return KustomizeRelease(version, data["asset"], data["sums"], data.get("absent", {}), tuple(data.get("single", ())))
