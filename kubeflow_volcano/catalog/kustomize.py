"""The kustomize programs that upstream publishes, and their sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.decode import decode
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.text import did_you_mean

RELEASES = "https://github.com/kubernetes-sigs/kustomize/releases/download"
"""Address below which the path of every asset is."""


@dataclass(frozen=True, slots=True)
class KustomizeRelease:
    """One version of kustomize. Its fields are described in schemas/kustomize.json."""

    version: str
    asset: str
    sums: Mapping[str, str]
    absent: Mapping[str, str] = field(default_factory=dict)
    single: tuple[str, ...] = ()

    @property
    def packed(self) -> bool:
        """Whether the asset is an archive that contains the program."""
        return self.asset.endswith(".tar.gz")

    def path(self, architecture: str) -> str:
        """Path of the asset for an architecture, below `RELEASES` or a mirror of it."""
        return self.asset.format(architecture=architecture)


@cache
def kustomize_release(version: str) -> KustomizeRelease:
    """What upstream publishes of that version.

    Raises:
        InvalidInput: the version is not in the catalog.
    """
    known = load("kustomize")
    if version not in known:
        raise InvalidInput.problem(
            f"kustomize {version}, whose sums are not known.{did_you_mean(version, known)}",
            f"one of: {', '.join(known)}.",
            "set kustomize_version to one of them, or kustomize_binary to the path of a kustomize that you trust.",
        )
    return decode(KustomizeRelease, known[version], version, version=version)
