"""selected: the hosts of a play, refused where the command line selects nothing of it. Documented in selected.yml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ansible.errors import AnsibleError, AnsibleFilterError


class FilterModule:
    """The filter of this file's name."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name; Ansible calls this."""
        return {"selected": _selected}


def _selected(
    pattern: str | Sequence[str], groups: Mapping[str, Sequence[str]], needed: str | Sequence[str] = ""
) -> str | Sequence[str]:
    """The same pattern.

    What it needs is imported here: Ansible passes over a filter that cannot be imported, and what runs Ansible may be
    too old, or lack the library.
    """
    try:
        from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.selection import refusal  # noqa: PLC0415
    except AnsibleError as error:
        raise AnsibleFilterError(str(error)) from error
    if refused := refusal(needed or pattern, groups):
        raise AnsibleFilterError(refused)
    return pattern
