"""The user's directory for this project, by the XDG Base Directory Specification, and who else may change it."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import time
from collections.abc import Mapping
from pathlib import Path

from kubeflow_volcano.problems import InvalidInput

_DAY_SECONDS = 86_400.0
_KEPT_DAYS = 30


def cache_directory() -> Path:
    """For what can be downloaded or built again: `$XDG_CACHE_HOME/kubeflow-volcano`, or below ~/.cache.

    A relative path in the variable is ignored, as the specification requires.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME") or ".").expanduser()
    return (named if named.is_absolute() else Path.home() / ".cache") / "kubeflow-volcano"


def disused(last_uses: Mapping[Path, float], most: int) -> dict[Path, int]:
    """The entries of a cache to remove, the least recently used first, with the full days since their last use.

    `last_uses` are in seconds since the epoch. Entries go that were not used for 30 days, and the oldest where there
    are more than `most`; what was used within a day stays.
    """
    now = time.time()
    beyond = len(last_uses) - most
    disused: dict[Path, int] = {}
    for place, (entry, last) in enumerate(sorted(last_uses.items(), key=lambda item: item[1])):
        days = (now - last) / _DAY_SECONDS
        if days > _KEPT_DAYS or (place < beyond and days > 1):
            disused[entry] = int(days)
    return disused


def require_private(directory: Path) -> None:
    """Programs are run from the directory, or its content is used as it is: other users must not be able to change it.

    As sshd's StrictModes: the directory and those above it, up to the home directory, belong to this user or to root,
    and other users cannot write to them, or it has the sticky bit. A group whose only member is its user may.

    Raises:
        InvalidInput: another user, or a group, may.
    """
    place = directory.resolve()
    try:
        home = Path.home().resolve()
    except RuntimeError:  # a user without an entry, as in a container; then all directories count
        home = Path("/")
    for each in (place, *place.parents):
        if each in home.parents and place.is_relative_to(home):
            return
        try:
            status = each.stat()
        except FileNotFoundError:  # it will be this user's
            continue
        if who := _others(status):
            raise InvalidInput.problem(
                f"{who} may change {each} (mode {stat.S_IMODE(status.st_mode):04o}), and so what is run or used "
                f"from {directory}.",
                "a directory that only this user and root may change.",
                f"chmod go-w {each}, after a look at what is in it; or name a directory of your own "
                "(kustomize_cache_directory, XDG_CACHE_HOME).",
            )


def _others(status: os.stat_result) -> str:
    """Who, besides this user and root, may change entries of such a directory; empty for no user."""
    user = os.geteuid()
    trusted = {0, user, int(os.environ.get("SUDO_UID") or user), _unmapped()}
    if status.st_uid not in trusted:
        return f"the user {_user(status.st_uid) or status.st_uid}"
    if status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return "everybody"
    if not status.st_mode & stat.S_IWGRP or status.st_gid == 0:
        return ""
    try:
        group = grp.getgrgid(status.st_gid)
    except KeyError:
        return f"the group {status.st_gid}"
    own = group.gr_name == _user(status.st_uid) and {*group.gr_mem} <= {group.gr_name}
    return "" if own else f"the group {group.gr_name}"


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def _unmapped() -> int:
    """The user to whom everything belongs that is outside of this user namespace: who that is cannot be known."""
    return int(Path("/proc/sys/kernel/overflowuid").read_text("ascii"))
