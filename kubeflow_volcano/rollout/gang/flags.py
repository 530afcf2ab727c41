"""Flags of a container's program, each set once."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.objects import Object


def set_flags(container: Object, flags: Mapping[str, str], *, first: bool) -> None:
    """Set flags, given with their dashes, among the arguments, and remove other values of them, also in the command.

    `first` puts them first, because Volcano's arguments end in a shell redirection.
    """
    kept = [item for item in container.get("args") or () if item.partition("=")[0] not in flags]
    own = [f"{name}={value}" for name, value in flags.items()]
    container["args"] = [*own, *kept] if first else [*kept, *own]
    if "command" in container:
        container["command"] = [item for item in container["command"] if item.partition("=")[0] not in flags]
