"""What an uninstallation removes, and what goes only when it is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from kubeflow_volcano.catalog.model import Release
from kubeflow_volcano.catalog.read import with_own_parts
from kubeflow_volcano.decode import Key, decode

__all__ = ["UninstallSettings", "uninstall_settings"]


@dataclass(frozen=True, slots=True)
class UninstallSettings:
    """Components, all of them if there is none; data to remove and objects to finalize, each as `Kind name`.

    `wait_seconds` limits the time in which no object disappears.
    """

    components: Annotated[tuple[str, ...], Key("uninstall_components")]
    data: Annotated[tuple[str, ...], Key("uninstall_data")]
    finalize: Annotated[tuple[str, ...], Key("uninstall_finalize")]
    wait_seconds: Annotated[int, Key("uninstall_wait_seconds")]


def uninstall_settings(values: Mapping[str, Any], release: Release) -> UninstallSettings:
    """Those in complete variables; the parts of a component that are components of their own are removed with it."""
    found = decode(UninstallSettings, values)
    return replace(found, components=with_own_parts(release, found.components))
