"""Writing of a support bundle: a compressed archive that its owner alone may read."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import NotWritten

_MOST_BYTES = 20_000_000
"""Of one report; a larger file of that name is none."""


def reports_in(directory: Path) -> dict[str, str]:
    """The latest reports of a directory, by their path in the bundle; reports never have credentials."""
    paths = sorted(path for path in directory.glob("*latest.*") if path.is_file() and not path.is_symlink())
    return {
        f"reports/{path.name}": path.read_text("utf-8", "replace")
        for path in paths
        if path.stat().st_size <= _MOST_BYTES
    }


def write(files: Mapping[str, str], target: Path, *, taken: int) -> None:
    """Write the archive; its members have the time `taken`, in seconds since 1970.

    Raises:
        NotWritten: there is no space, or the directory cannot be written.
    """
    folder = target.name.removesuffix(".tar.gz")
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w:gz") as archive:
        for path, content in sorted(files.items()):
            data = content.encode("utf-8", "replace")
            member = tarfile.TarInfo(f"{folder}/{path}")
            member.size, member.mode, member.mtime = len(data), 0o600, taken
            archive.addfile(member, io.BytesIO(data))
    try:
        write_file(target, text.getvalue(), 0o600)
    except OSError as error:
        found = f"{target} cannot be written: {error}."
        needed = "a writable directory with free space."
        raise NotWritten.problem(found, needed, "free some space, or name another file with --output.") from error
