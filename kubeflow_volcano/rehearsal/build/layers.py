"""Image layers: which files they hold, and the same bytes for the same files every time."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.programs import run_program
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.recipes import LayerEntry

_COMMAND_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Member:
    """A file (content from `origin`), a link (to `target`) or, with neither, a directory, at a relative path."""

    path: str
    mode: int
    origin: Path | bytes | None = None
    target: str = ""

    def identity(self) -> list[object]:
        """What the member's bytes depend on. A file is identified by its path, size and modification time."""
        if isinstance(self.origin, Path):
            status = self.origin.stat()
            content: object = [str(self.origin.resolve()), status.st_size, status.st_mtime_ns]
        else:
            content = hashlib.sha256(self.origin).hexdigest() if self.origin is not None else None
        return [self.path, self.mode, content, self.target]


def layer_members(entries: Iterable[LayerEntry], tools: Tools) -> list[Member]:
    """Resolve a layer's entries to files, links and directories, every parent directory included, in order of path.

    Raises:
        ProblemsError: a program of the distribution, or one of its libraries, is missing.
    """
    members: dict[str, Member] = {}
    for entry in entries:
        for member in _members(entry, tools):
            members[member.path] = member
    for path in list(members):
        for parent in Path(path).parents[:-1]:
            members.setdefault(str(parent), Member(str(parent), 0o755))
    return [members[path] for path in sorted(members)]


def write_layer(members: Iterable[Member], stream: IO[bytes]) -> None:
    """Write an uncompressed layer: owner root, time 0."""
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            header = tarfile.TarInfo(member.path)
            header.mode = member.mode
            if member.target:
                header.type, header.linkname = tarfile.SYMTYPE, member.target
                archive.addfile(header)
            elif member.origin is None:
                header.type = tarfile.DIRTYPE
                archive.addfile(header)
            else:
                with _opened(member.origin) as content:
                    header.size = content.seek(0, os.SEEK_END)
                    content.seek(0)
                    archive.addfile(header, content)


def _opened(origin: Path | bytes) -> IO[bytes]:
    return io.BytesIO(origin) if isinstance(origin, bytes) else origin.open("rb")


def _members(entry: LayerEntry, tools: Tools) -> Iterable[Member]:
    at = entry.at.lstrip("/")
    if entry.directory:
        yield Member(at, int(entry.directory, 8))
    elif entry.program:
        yield Member(at, 0o755, tools.programs[entry.program])
    elif entry.source:
        yield Member(at, int(entry.mode or "0644", 8), _source(entry.source, tools))
    elif entry.text is not None:
        yield Member(at, int(entry.mode or "0644", 8), entry.text.encode())
    elif entry.system:
        program = _system_program(entry.system)
        yield Member(at, 0o755, program)
        for place, library in _libraries(program).items():
            yield Member(place.lstrip("/"), 0o755, library)
        if entry.applets:
            yield from _applets(program, entry.applets.lstrip("/"), at)


def _source(reference: str, tools: Tools) -> Path:
    for tool in tools.generation.tools:
        for module in tool.sources:
            if reference.startswith(f"{module}/"):
                return tools.source(module, reference.removeprefix(f"{module}/"))
    raise KeyError(reference)


def _system_program(name: str) -> Path:
    program = shutil.which(name)
    if not program:
        raise ProblemsError.problem(
            f"the program {name} is not installed.",
            f"{name}, which goes into the images that are assembled for the rehearsal cluster.",
            f"install the distribution's package {name}.",
        )
    return Path(program).resolve()


def _libraries(program: Path) -> Mapping[str, Path]:
    """Shared libraries of `program` by the path under which its loader looks for them; none when it is static."""
    done = run_program("ldd", program, seconds=_COMMAND_SECONDS)
    lines = done.output.splitlines() if done.code == 0 else []  # 1: not a dynamic executable
    if missing := [line.split()[0] for line in lines if line.endswith("not found")]:
        raise ProblemsError.problem(
            f"{program} needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed.",
            "all shared libraries of a program that goes into an image.",
            "reinstall its package.",
        )
    places = [word for line in lines for word in line.split() if word.startswith("/")]
    return {place: Path(place).resolve() for place in places}


def _applets(program: Path, directory: str, at: str) -> Iterable[Member]:
    listed = run_program(program, "--list", seconds=_COMMAND_SECONDS)
    if listed.code:
        raise ProblemsError.problem(
            f"`{program} --list` failed: {listed.complaint}.", "the list of applets.", "reinstall its package."
        )
    for name in listed.output.split():
        if f"{directory}/{name}" != at:
            yield Member(f"{directory}/{name}", 0o777, target=f"/{at}")
