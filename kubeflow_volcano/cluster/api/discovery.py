"""What an API server serves: how a kind is addressed, and the answers of discovery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["AGGREGATED", "Kinds", "Resource", "aggregated", "root"]

AGGREGATED = ",".join(
    [
        *(f"application/json;g=apidiscovery.k8s.io;v={v};as=APIGroupDiscoveryList" for v in ("v2", "v2beta1")),
        "application/json",
    ]
)
"""Asks for all groups in one answer, which Kubernetes has from 1.27 on; an older server names the groups only."""


@dataclass(frozen=True, slots=True)
class Resource:
    """How a kind is addressed."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str = "", name: str = "") -> str:
        """URL path of the collection, or of one object of it."""
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root(self.api_version)}{scope}/{self.plural}" + (f"/{name}" if name else "")


Kinds = Mapping[str, Mapping[str, Resource]]
"""What is served, by group version and kind."""


def root(api_version: str) -> str:
    """URL path of a group version."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def aggregated(answer: Mapping[str, Any]) -> Kinds | None:
    """The kinds in an answer to `AGGREGATED`; None when it is the plain list of groups of an older server."""
    if answer["kind"] != "APIGroupDiscoveryList":
        return None
    found: dict[str, Mapping[str, Resource]] = {}
    for group in answer["items"]:
        for version in group["versions"]:
            name = f"{group['metadata']['name']}/{version['version']}"
            found[name] = {
                item["responseKind"]["kind"]: Resource(
                    name, item["responseKind"]["kind"], item["resource"], item["scope"] == "Namespaced"
                )
                for item in version.get("resources") or ()
            }
    return found
