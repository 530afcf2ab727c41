"""A file that a bundle needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Item:
    """A file at `path` in the bundle, from `source`. `fetch` returns it, or a copy of it, somewhere on this machine.

    `size` in bytes is for people, and None where it is not known before the file is there. What `may_change` under the
    same source, such as a path without a sum, is compared with the file in the bundle each time.
    """

    path: str
    source: str
    fetch: Callable[[], Path]
    size: int | None = None
    may_change: bool = False

    @classmethod
    def of_file(cls, path: str, source: str, file: Path) -> Item:
        """A file of this machine, which may have another content in the next run."""
        return cls(path, source, lambda: file, file.stat().st_size, may_change=True)
