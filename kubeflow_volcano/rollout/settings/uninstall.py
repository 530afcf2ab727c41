"""What an uninstallation removes, and what goes only when it is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from kubeflow_volcano.catalog.model import Release
from kubeflow_volcano.catalog.read import with_own_parts
from kubeflow_volcano.decode import Key, decode
from kubeflow_volcano.problems import Problem


@dataclass(frozen=True, slots=True)
class UninstallSettings:
    """Components, all of them if there is none; data to remove and objects to finalize, each as `Kind name`.

    `legacy` are unmaintained tools whose leftovers go instead. `running_jobs` is refuse or allow. `wait_seconds` limits
    the time in which no object disappears.
    """

    components: Annotated[tuple[str, ...], Key("uninstall_components")]
    data: Annotated[tuple[str, ...], Key("uninstall_data")]
    finalize: Annotated[tuple[str, ...], Key("uninstall_finalize")]
    legacy: Annotated[tuple[str, ...], Key("uninstall_legacy")]
    running_jobs: Annotated[str, Key("uninstall_running_jobs")]
    wait_seconds: Annotated[int, Key("uninstall_wait_seconds")]


def uninstall_settings(values: Mapping[str, Any], release: Release) -> UninstallSettings:
    """Those in complete variables; the parts of a component that are components of their own are removed with it."""
    settings = decode(UninstallSettings, values)
    return replace(settings, components=with_own_parts(release, settings.components))


def validate_uninstall(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of what an uninstallation is to remove, in complete variables."""
    components = values["uninstall_components"]
    if named := [name for name in components if name in values["kubeflow_existing"]]:
        yield Problem(
            f"uninstall_components names {', '.join(named)}, which kubeflow_existing leaves to those who installed it.",
            "components that this project brought.",
            f"remove {', '.join(named)} from one of the two lists.",
        )
    if components and values["uninstall_legacy"]:
        yield Problem(
            "uninstall_legacy and uninstall_components are both given.",
            "one of them: leftovers of other tools go in a run that removes nothing else.",
            "empty one of the two lists, and run once with each.",
        )
