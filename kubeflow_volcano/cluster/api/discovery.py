"""Discovery: the kinds that an API server serves, and the URL path of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.ref import group_of

AGGREGATED = ",".join(
    [
        *(f"application/json;g=apidiscovery.k8s.io;v={v};as=APIGroupDiscoveryList" for v in ("v2", "v2beta1")),
        "application/json",
    ]
)
"""Accept header of aggregated discovery (Kubernetes 1.27 and later); an older server lists group names only."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the API server serves it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[str, str]:
        """Group and kind."""
        return group_of(self.api_version), self.kind

    @property
    def title(self) -> str:
        """Plural and group, as kubectl accepts them: deployments.apps."""
        return f"{self.plural}.{group_of(self.api_version)}".rstrip(".")

    def path(self, namespace: str = "", name: str = "") -> str:
        """URL path of the collection, or of one object in it."""
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root(self.api_version)}{scope}/{self.plural}" + (f"/{name}" if name else "")


Kinds = Mapping[str, Mapping[str, Resource]]
"""Served kinds, by group version and kind."""


def root(api_version: str) -> str:
    """URL path of a group version."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def aggregated(answer: Mapping[str, Any]) -> Kinds | None:
    """The kinds in an answer to `AGGREGATED`; None for the plain list of groups of an older server."""
    if answer["kind"] != "APIGroupDiscoveryList":
        return None
    kinds: dict[str, Mapping[str, Resource]] = {}
    for group in answer["items"]:
        for version in group["versions"]:
            name = f"{group['metadata']['name']}/{version['version']}"
            kinds[name] = {
                item["responseKind"]["kind"]: Resource(
                    name,
                    item["responseKind"]["kind"],
                    item["resource"],
                    item["scope"] == "Namespaced",
                    frozenset(item.get("verbs") or ()),
                )
                for item in version.get("resources") or ()
            }
    return kinds


def stale_versions(answer: Mapping[str, Any]) -> tuple[str, ...]:
    """The group versions in an answer to `AGGREGATED` whose own server does not answer; an older server names none."""
    groups = answer["items"] if answer["kind"] == "APIGroupDiscoveryList" else ()
    return tuple(
        f"{group['metadata']['name']}/{version['version']}"
        for group in groups
        for version in group["versions"]
        if version.get("freshness") == "Stale"
    )
