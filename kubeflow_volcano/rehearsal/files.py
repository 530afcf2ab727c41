"""Files that are either the old or the new text, never half of it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write_file"]


def write_file(path: Path, text: str, mode: int = 0o644) -> bool:
    """Give `path` this content and mode, in one step; directories above are made.

    Returns:
        Whether the content was another one before.
    """
    try:
        if path.read_text() == text and path.stat().st_mode & 0o777 == mode:
            return False
    except OSError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as stream:
        stream.write(text)
        os.fchmod(stream.fileno(), mode)
    fresh.replace(path)
    return True
