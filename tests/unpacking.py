"""Archives that tests unpack, in every Python of the project."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(archive: tarfile.TarFile, directory: Path) -> None:
    """All of it, by the rules for data where tarfile has them, which is from Python 3.11.4 on."""
    archive.extraction_filter = getattr(tarfile, "data_filter", None)
    archive.extractall(directory)  # noqa: S202  these archives are the project's or upstream's own
