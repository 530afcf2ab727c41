"""Archives, read to their end: one that is damaged or too large, or that reaches outside, is refused as a whole."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import posixpath
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

MOST_BYTES = 1 << 29
"""Of a source, packed or unpacked; the largest release has 27 MB in 1,600 members."""
_MOST_MEMBERS = 100_000
_MOST_LEVELS = 100
"""Of directories inside each other; the deepest release has 14."""

_TARS = (".tar.gz", ".tgz", ".tar")
_GZIP = b"\x1f\x8b"
_OPENERS: Mapping[bytes, Callable[..., Any]] = {_GZIP: gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
"""By the first bytes of a file."""
_CHUNK = 1 << 20
_ENDING = 2 * tarfile.BLOCKSIZE
"""Bytes of zeros that end an archive; more may follow."""

DAMAGED = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)
"""What the functions below raise for a file that is not whole, or not fit to be used."""


def is_archive(file: Path) -> bool:
    """Whether a file is a tar archive, or has the name of one."""
    if file.name.endswith(_TARS):
        return True
    try:
        with _strictly(), tarfile.open(file, tarinfo=_Entry):
            return True
    except _Sparse:
        return True
    except DAMAGED:
        return False


def is_compressed(file: Path) -> bool:
    """Whether a file is compressed by gzip."""
    with file.open("rb") as opened:
        return opened.read(len(_GZIP)) == _GZIP


def plain_bytes(file: Path) -> bytes:
    """The content of a file, without its compression; raises one of DAMAGED."""
    with _opened(file) as stream:
        return b"".join(_limited(stream))


def top_of(folder: Path) -> Path:
    """The folder, or the only directory in it, as in an unpacked archive."""
    held = list(folder.iterdir())
    return held[0] if len(held) == 1 and held[0].is_dir() and not held[0].is_symlink() else folder


def unpack(archive: Path, folder: Path) -> None:
    """Unpack all members into the empty `folder`; raises one of DAMAGED, and has then unpacked a part at most."""
    root = Path(os.path.realpath(folder))
    with _decompressed(archive, beside=root.parent) as stream, _strictly(), _tar(stream) as tar:
        _extract(tar, root)
        _require_end(stream, tar.offset)
    _require_links_inside(root)


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    with file.open("rb") as packed:
        head = packed.read(max(map(len, _OPENERS)))
        packed.seek(0)
        opener = next((_OPENERS[magic] for magic in _OPENERS if head.startswith(magic)), contextlib.nullcontext)
        with opener(packed) as stream:
            yield stream


@contextlib.contextmanager
def _decompressed(archive: Path, beside: Path) -> Iterator[IO[bytes]]:
    """The archive without its compression, whose checksum was compared: tarfile stops reading before it."""
    with _opened(archive) as packed, tempfile.TemporaryFile(dir=beside) as plain:
        plain.writelines(_limited(packed))
        plain.seek(0)
        yield plain


class _Sparse(tarfile.ExtractError):
    """A member whose file is written by a map: no release has one, and a map may lead anywhere."""


class _Entry(tarfile.TarInfo):
    """A header that is refused before its map of a sparse file is read, and when it would lead backwards."""

    def _refuse(self, *read: object) -> NoReturn:
        # A header of pax is read with the member that it is about.
        member = next((item for item in read if isinstance(item, tarfile.TarInfo)), self)
        raise _Sparse(f"{member.name} is a sparse file")

    _proc_sparse = _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse

    def _block(self, count: int) -> int:
        # Python before 3.11.14, 3.12.12 and 3.13.6 goes back by a negative size, without end (CVE-2025-8194).
        if count < 0:
            raise tarfile.ExtractError(f"{self.name} has the size {count}")
        return -(-count // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


@contextlib.contextmanager
def _strictly() -> Iterator[None]:
    """What tarfile and the system raise for odd headers, such as a path with a null byte, is damage as well."""
    try:
        yield
    except (ValueError, IndexError, OverflowError, RecursionError) as error:
        raise tarfile.ReadError(f"a header that cannot be used ({str(error) or type(error).__name__})") from error


def _tar(stream: IO[bytes]) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=stream, mode="r:", tarinfo=_Entry)
    except tarfile.ReadError as error:
        raise tarfile.ReadError("it is not a tar archive") from error


def _limited(stream: IO[bytes]) -> Iterator[bytes]:
    """All of a stream, to its end, where its checksum is."""
    length = 0
    while chunk := stream.read(_CHUNK):
        length += len(chunk)
        if length > MOST_BYTES:
            raise OSError(_too_large())
        yield chunk


def _extract(tar: tarfile.TarFile, root: Path) -> None:
    """Unpack members whose paths are below `root`. tarfile's own filter is absent before Python 3.11.4 (Debian 12)."""
    tar.extraction_filter = lambda member, _: member  # checked here, in every Python
    seen: set[str] = set()
    total = 0
    for number, member in enumerate(tar):
        name = posixpath.normpath(member.name)
        total += member.size
        if number >= _MOST_MEMBERS or total > MOST_BYTES:
            raise tarfile.ExtractError(_too_large())
        if name.count("/") >= _MOST_LEVELS:
            raise tarfile.ExtractError(f"{name[:60]}… has more than {_MOST_LEVELS} levels")
        if name.startswith("/") or name.partition("/")[0] == "..":
            raise tarfile.ExtractError(f"{member.name} is outside of the archive")
        if not (member.isfile() or member.isdir() or member.issym()):
            raise tarfile.ExtractError(f"{member.name} is neither a file, a directory nor a symbolic link")
        if name in seen and not member.isdir():
            raise tarfile.ExtractError(f"{member.name} is in the archive twice")
        if Path(os.path.realpath(root / name)) != root / name:
            raise tarfile.ExtractError(f"{member.name} would be written through a symbolic link")
        seen.add(name)
        tar.extract(member, root, set_attrs=False)


def _require_end(stream: IO[bytes], end: int) -> None:
    """Nothing but zeros may follow the last member: tarfile takes a damaged header for the end of the archive."""
    stream.seek(end)
    length = 0
    while chunk := stream.read(_CHUNK):
        length += len(chunk)
        if chunk.strip(b"\0"):
            raise tarfile.ReadError(f"a damaged header after {end} bytes")
    if length < _ENDING:
        raise tarfile.ReadError(f"it ends after {end} bytes, without the mark of its end")


def _require_links_inside(root: Path) -> None:
    """Links are resolved when all of them are there: one may lead out by way of another.

    The one directory at the top of an archive becomes its root, so links must not leave that.
    """
    top = top_of(root)
    for place, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(place, name)
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(top):
                raise tarfile.ExtractError(f"{path.relative_to(root)} is a link to outside of the archive")


def _too_large() -> str:
    return f"it has more than {_MOST_MEMBERS} members or {MOST_BYTES >> 20} MiB"
