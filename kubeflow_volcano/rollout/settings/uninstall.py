"""What an uninstallation removes, and what goes only when it is named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kubeflow_volcano.decode import Key

__all__ = ["UninstallSettings"]


@dataclass(frozen=True, slots=True)
class UninstallSettings:
    """Components, all of them if there is none; data to remove and objects to finalize, each as `Kind name`.

    `wait_seconds` limits the time in which no object disappears.
    """

    components: Annotated[tuple[str, ...], Key("uninstall_components")]
    data: Annotated[tuple[str, ...], Key("uninstall_data")]
    finalize: Annotated[tuple[str, ...], Key("uninstall_finalize")]
    wait_seconds: Annotated[int, Key("uninstall_wait_seconds")]
