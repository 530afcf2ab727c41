"""A change as Ansible's diff shows it, without the secrets that containerd's files may hold."""

from __future__ import annotations

import re

from kubeflow_volcano.hosts.containerd.files import Write

__all__ = ["shown"]

_SECRET = re.compile(
    r"^(?P<key>[ \t]*[\"']?(?:password|auth|identitytoken|registrytoken|authorization)[\"']?[ \t]*=[ \t]*)\S.*$",
    re.IGNORECASE | re.MULTILINE,
)


def shown(item: Write) -> dict[str, str]:
    """What stands there and what is to stand there, with names for both."""
    return {
        "before_header": item.path if item.before is not None else "",
        "before": _without_secrets(item.before or ""),
        "after_header": item.path if item.after is not None else "",
        "after": _without_secrets(item.after or ""),
    }


def _without_secrets(text: str) -> str:
    """Values of one line each; those that go on below are left to no_log, as containerd writes none."""
    return _SECRET.sub(r"\g<key>(not shown)", text)
