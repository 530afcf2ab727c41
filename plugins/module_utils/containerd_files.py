"""Files of containerd's configuration: read, written so that the change can be undone, and restored.

Runs on hosts: Python 3.9 or later, standard library only. A journal names the files of a change before the first of
them is written and is removed when containerd runs with them, so that an interrupted change is recognised later.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.foreign import mappings, read_json
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import (
    like,
    make_directory,
    opened,
    place,
    put,
    read,
)

JOURNAL = Path("/var/lib/kubeflow-volcano/containerd.json")
_MARK = ".kubeflow-volcano-"


def encoded(path: str) -> str:
    """The content of a file, in base64: it need not be text."""
    return base64.b64encode(place(path).read_bytes()).decode("ascii")


def registries(tree: str) -> dict[str, Any]:
    """The registries' directories below a config_path: their hosts.toml in base64 or None, and names of other files."""
    directories: dict[str, Any] = {}
    for directory in sorted(place(tree).glob("*")):
        if directory.is_dir():
            hosts = directory / "hosts.toml"
            directories[directory.name] = {
                "hosts": base64.b64encode(hosts.read_bytes()).decode("ascii") if hosts.is_file() else None,
                "others": sorted(each.name for each in directory.iterdir() if each.name != "hosts.toml"),
            }
    return directories


def changed_since(paths: Mapping[str, str], pid: str) -> list[str]:
    """Files that were changed after that process started, by more than the kernel's times are exact."""
    try:
        ticks = int(read(f"/proc/{pid}/stat").rpartition(")")[2].split()[19])
        boot = next(line for line in read("/proc/stat").splitlines() if line.startswith("btime "))
    except (OSError, IndexError, StopIteration):
        return []
    started = int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK") + 1
    return sorted(path for path in paths if place(path).stat().st_mtime > started)


def unfinished() -> list[str]:
    """Files of a change after which containerd was not seen running."""
    try:
        return [str(note["path"]) for note in read_json(JOURNAL.read_text("utf-8"))]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError):  # it is written whole or not at all, so another program wrote it
        return [str(JOURNAL)]


def write(files: Sequence[Mapping[str, Any]], contents: Mapping[str, str]) -> list[str]:
    """Write files after noting them in the journal; returns the copies that stay. A failure undoes all of it.

    Args:
        files: each with `path`, and `foreign` where a copy of the file before is to stay.
        contents: what to write by path, in base64; a file without is removed.

    Raises:
        OSError: a file could not be written; all are as before.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    notes = _noted()
    known = {note["path"] for note in notes}
    for file in files:
        path = Path(file["path"])
        if str(path) not in known:  # what an unfinished change noted is older, and what to go back to
            copy = f"{path}{_MARK}{stamp}" if path.exists() else ""
            new = [str(above) for above in path.parents if not above.exists()]
            notes.append({"path": str(path), "copy": copy, "keep": bool(file["foreign"]), "made": new})
    _note_down(notes)
    try:
        for note in notes:
            if note["copy"] and not Path(note["copy"]).exists():
                _copy(Path(note["path"]), Path(note["copy"]))
        for file in files:
            if file["path"] in contents:
                put(Path(file["path"]), base64.b64decode(contents[file["path"]]))
            else:
                Path(file["path"]).unlink()
    except OSError:
        restore()
        finish()
        raise
    return [note["copy"] for note in notes if note["copy"] and note["keep"]]


def restore() -> None:
    """Put back what was there before, the last change first."""
    for note in reversed(_noted()):
        path = Path(note["path"])
        if note["copy"]:
            if Path(note["copy"]).exists():
                make_directory(path.parent)
                _copy(Path(note["copy"]), path)
        else:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            for above in note["made"]:
                with contextlib.suppress(OSError):  # something else lies in it
                    Path(above).rmdir()


def finish() -> None:
    """Remove the journal, copies of files that this project had written itself, and directories that are empty now."""
    for note in _noted():
        if note["copy"] and not note["keep"]:
            with contextlib.suppress(FileNotFoundError):
                Path(note["copy"]).unlink()
            with contextlib.suppress(OSError):  # something lies in it
                Path(note["path"]).parent.rmdir()
    with contextlib.suppress(FileNotFoundError):
        JOURNAL.unlink()


def _copy(source: Path, target: Path) -> None:
    """A copy with the owner, mode, label and times of the source."""
    target = target.resolve()
    with source.open("rb") as content:
        fresh, descriptor = opened(target)
        with os.fdopen(descriptor, "wb") as stream:
            shutil.copyfileobj(content, stream)
    like(source, fresh)
    fresh.replace(target)


def _noted() -> list[dict[str, Any]]:
    try:
        entries = read_json(JOURNAL.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    return [dict(item) for item in mappings(entries)]


def _note_down(notes: Sequence[Mapping[str, Any]]) -> None:
    put(JOURNAL, json.dumps(notes, indent=1).encode(), 0o600)
