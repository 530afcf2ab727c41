"""SELinux on this host. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

import errno
import os
import re

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import place, read

_MODES = {"1": "enforcing", "0": "permissive"}


def mode() -> str:
    """enforcing, permissive or disabled; the kernel has no /sys/fs/selinux/enforce where it is disabled.

    Raises:
        OSError: the file is there and cannot be read. That is not "disabled": volumes would go without their label.
    """
    return _MODES.get(read("/sys/fs/selinux/enforce").strip(), "disabled")


def is_known(kind: str) -> bool:
    """Whether the loaded policy has that type of files; True where the kernel does not answer."""
    try:
        with place("/sys/fs/selinux/context").open("r+b", buffering=0) as question:
            question.write(f"system_u:object_r:{kind}:s0".encode())
    except OSError as error:
        return error.errno != errno.EINVAL
    return True


def pattern_of(path: str) -> str:
    """The regular expression of file contexts for a directory and everything below it."""
    return re.sub(r"([.^$?*+|\[({\\})\]])", r"\\\1", path) + "(/.*)?"


def rule_type(listed: str, pattern: str) -> str:
    """Type that the local rule for that pattern gives, by `semanage fcontext -l -C -n`; empty where there is none."""
    for line in listed.splitlines():
        words = line.split()
        if words and words[0] == pattern:
            return _type_in(words[-1])
    return ""


def label_of(path: str) -> str:
    """Type of the path's own label; empty where it has none."""
    try:
        return _type_in(os.getxattr(path, "security.selinux", follow_symlinks=False).rstrip(b"\0").decode())
    except OSError:
        return ""


def _type_in(context: str) -> str:
    """The type of a context such as system_u:object_r:container_file_t:s0."""
    parts = context.split(":")
    return parts[2] if len(parts) > 2 else ""  # noqa: PLR2004  user, role, type
