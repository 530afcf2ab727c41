"""As whom a container runs, as far as its pod and its own security context say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["RunsAs", "runs_as"]


@dataclass(frozen=True, slots=True)
class RunsAs:
    """None where nothing says so, which leaves it to the image; `not_root` where it must be somebody else than root."""

    user: int | None
    group: int | None
    fs_group: int | None
    not_root: bool


def runs_as(spec: Mapping[str, Any], container: Mapping[str, Any], status: Mapping[str, Any] | None = None) -> RunsAs:
    """Of a pod's spec and one of its containers; the container's own words come first.

    `status` is the pod's: newer kubelets report there who the first process is (KEP-3619).
    """
    shared, own = spec.get("securityContext") or {}, container.get("securityContext") or {}
    merged = {**shared, **{key: value for key, value in own.items() if value is not None}}
    actual = _actual(status or {}, container["name"])
    return RunsAs(
        user=merged.get("runAsUser", actual.get("uid")),
        group=merged.get("runAsGroup", actual.get("gid") if "runAsUser" not in merged else None),
        fs_group=shared.get("fsGroup"),
        not_root=bool(merged.get("runAsNonRoot")),
    )


def _actual(status: Mapping[str, Any], container: str) -> Mapping[str, int]:
    for item in status.get("containerStatuses") or ():
        if item["name"] == container:
            found: Mapping[str, int] = (item.get("user") or {}).get("linux") or {}
            return found
    return {}
