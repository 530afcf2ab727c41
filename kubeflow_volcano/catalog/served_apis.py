"""Which Kubernetes serves which API version, for the versions that Kubeflow manifests may contain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.decode import decode


@dataclass(frozen=True, slots=True)
class ServedApi:
    """An API version of some kinds, the first and last minor that serve it (None: open), and what replaces it."""

    api_version: str
    kinds: tuple[str, ...]
    since: str | None
    until: str | None
    successor: str | None

    @property
    def kubernetes(self) -> MinorRange:
        """The Kubernetes minors that serve it."""
        return MinorRange(self.since or "1.0", self.until)

    def is_about(self, api_version: str, kind: str) -> bool:
        """Whether it describes that kind in that API version."""
        return self.api_version == api_version and kind in self.kinds


@cache
def served_apis() -> tuple[ServedApi, ...]:
    """Every API version in the catalog. Kubernetes of every supported release serves all others."""
    return decode(tuple[ServedApi, ...], load("served_apis")["apis"], "apis")
