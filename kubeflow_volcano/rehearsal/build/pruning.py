"""Tools of earlier versions go when nobody has used them for a month."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from kubeflow_volcano.progress import Progress

__all__ = ["drop_unused", "mark_used"]

_KEPT_SECONDS = 30 * 24 * 3600.0
_HOME = re.compile(r"[a-z0-9][a-z0-9._-]*-[0-9a-f]{12}")


def mark_used(homes: Iterable[Path]) -> None:
    """Note that the tools in these directories are in use now: in the directory's time of change."""
    for home in homes:
        os.utime(home)


def drop_unused(cache: Path, progress: Progress) -> None:
    """Remove the tools in `cache` that no cluster was brought up with for 30 days, and that no cluster runs now.

    The caller holds the lock of `cache`.
    """
    limit = time.time() - _KEPT_SECONDS
    old = [home for home in cache.iterdir() if _HOME.fullmatch(home.name) and home.stat().st_mtime < limit]
    mounted = _mounted() if old else ""
    for home in old:
        if f"/{home.name}/" not in mounted:
            progress(f"removing {home.name}, which was not used for 30 days")
            shutil.rmtree(home)


def _mounted() -> str:
    """What is mounted in any process's view of the file system: a node sees its tools as mounts."""
    found = []
    for view in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            found.append(view.read_text())
        except OSError:  # it has ended
            continue
    return "".join(found)
