"""Which Kubernetes serves which API version, as far as manifests of Kubeflow's age may name it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.catalog.read import load

__all__ = ["ServedApi", "served_apis"]


@dataclass(frozen=True, slots=True)
class ServedApi:
    """An API version of some kinds, the minors that serve it, and what serves the kinds afterwards."""

    api_version: str
    kinds: tuple[str, ...]
    kubernetes: MinorRange
    successor: str | None

    def is_about(self, api_version: str, kind: str) -> bool:
        """Whether objects of that kind in that version are meant."""
        return self.api_version == api_version and kind in self.kinds


@cache
def served_apis() -> tuple[ServedApi, ...]:
    """All that the catalog knows; any other API is served by every Kubernetes that the releases are made for."""
    return tuple(
        ServedApi(
            api_version=item["api_version"],
            kinds=tuple(item["kinds"]),
            kubernetes=MinorRange(item["since"] or "1.0", item["until"]),
            successor=item["successor"],
        )
        for item in load("served_apis.yaml", "served_apis")["apis"]
    )
