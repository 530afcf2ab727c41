"""Owners of the files in volumes of a host: counted, and corrected on request.

Runs on hosts: Python 3.9 or later, standard library only.

Only what belongs to a volume is changed, and modes only of the volume's directory itself. Symbolic links are not
followed, not even in the path to a part of the volume. File systems that are mounted inside, device files, and files
that have a further name outside of the volume are left alone and counted. Every step works from open directories, so
that a consumer that moves files at the same time cannot lead it elsewhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

from ansible.module_utils.basic import AnsibleModule

ARGUMENTS: dict[str, Any] = {
    "below": {"type": "path", "required": True},
    "volumes": {"type": "list", "elements": "dict", "required": True},
    "repair": {"type": "bool", "default": False},
    "most": {"type": "int", "default": 1000000},
}  # `make generate` writes this from the file beside it
"""`below` is the host's directory of volumes; a volume elsewhere is not touched, as its path may be anything.

Each of `volumes` has `name` (for the answer), `path`, `sub_path` (the part of it that the consumer mounts), `uid`
(null: leave users alone), `gids` (any is right, the first is given; none: leave groups alone), and `tighten` (set mode
0770 where others may write). `repair` changes owners. At most `most` entries of a volume are looked at.
"""
MOST_DEPTH = 200
CLOSED = 0o770
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    """One entry of the tree: the open directory that it is in, its name there, and what it is."""

    parent: int
    name: str
    found: os.stat_result


class TroubleError(Exception):
    """A volume cannot be looked at or changed; the message says why."""


def opened(below: str, path: str, sub_path: str) -> int:
    """Open the directory that the consumer sees. Links are followed on the path to `below`, and not beyond it."""
    parts = [part for part in path[len(below) :].split("/") if part]
    if not path.startswith(f"{below}/") or not parts or ".." in (*parts, *sub_path.split("/")):
        what = f"{path}/{sub_path}" if sub_path else path
        raise TroubleError(f"{what!a} is outside of {below}, the directory of volumes of this host")
    try:
        handle = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise TroubleError(f"{below}: {error.strerror}") from error
    for part in (*parts, *(part for part in sub_path.split("/") if part)):
        try:
            inside = os.open(part, _DIRECTORY, dir_fd=handle)
        except OSError as error:
            raise TroubleError(f"{path}: {part!a}: {error.strerror}") from error
        finally:
            os.close(handle)
        handle = inside
    return handle


class Walk:
    """Every entry below an open directory, and counts of what was looked at, left alone and changed."""

    def __init__(self, top: int, most: int) -> None:
        self.top, self.most = top, most
        self.device = os.fstat(top).st_dev
        self.looked = self.left_alone = self.given = 0
        self.incomplete = ""
        self.names: dict[int, int] = {}
        """How many names of a file with several are inside, by inode."""

    def elsewhere(self, status: os.stat_result) -> bool:
        """Whether a file has a further name outside of the volume."""
        return not stat.S_ISDIR(status.st_mode) and self.names.get(status.st_ino, status.st_nlink) < status.st_nlink

    def entries(self) -> Iterator[Entry]:
        """Directories come before their entries. An entry that has disappeared is skipped."""
        self.looked = self.left_alone = 0
        yield from self._below(self.top, 0)

    def _below(self, handle: int, depth: int) -> Iterator[Entry]:
        try:
            names = os.listdir(handle)
        except OSError as error:
            self.incomplete = error.strerror or "cannot be listed"
            return
        for name in names:
            if self.looked >= self.most:
                self.incomplete = f"more than {self.most} entries"
                return
            try:
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
            except FileNotFoundError:
                continue
            self.looked += 1
            if status.st_dev != self.device or stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                self.left_alone += 1
                continue
            yield Entry(handle, name, status)
            if stat.S_ISDIR(status.st_mode):
                yield from self._inside(Entry(handle, name, status), depth)

    def _inside(self, entry: Entry, depth: int) -> Iterator[Entry]:
        if depth >= MOST_DEPTH:
            self.incomplete = f"directories more than {MOST_DEPTH} deep"
            return
        try:
            handle = os.open(entry.name, _DIRECTORY, dir_fd=entry.parent)
        except OSError:  # it is no directory any more
            return
        try:
            if os.fstat(handle).st_dev == self.device:
                yield from self._below(handle, depth + 1)
        finally:
            os.close(handle)


def is_wrong(status: os.stat_result, uid: int | None, gids: list[int]) -> bool:
    """Whether an entry belongs to another user or group than the consumer's."""
    return (uid is not None and status.st_uid != uid) or (bool(gids) and status.st_gid not in gids)


def owner_of(status: os.stat_result, uid: int | None, gids: list[int]) -> tuple[int, int]:
    """Uid and gid for chown; -1 leaves one as it is."""
    return (-1 if uid is None else uid, gids[0] if gids and status.st_gid not in gids else -1)


def count(walk: Walk, volume: dict[str, Any]) -> dict[str, Any]:
    """Count entries, and those of other owners; changes nothing."""
    own, strange = os.fstat(walk.top), []
    for entry in walk.entries():
        status = entry.found
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            walk.names[status.st_ino] = walk.names.get(status.st_ino, 0) + 1
        if is_wrong(status, volume["uid"], volume["gids"]):
            strange.append(status)
    elsewhere = sum(map(walk.elsewhere, strange))
    wrong = len(strange) - elsewhere + is_wrong(own, volume["uid"], volume["gids"])
    return {
        "looked": walk.looked + 1,
        "wrong": wrong,
        "left_alone": walk.left_alone + elsewhere,
        "incomplete": walk.incomplete,
        "owner": f"{own.st_uid}:{own.st_gid}",
    }


def repair(walk: Walk, volume: dict[str, Any]) -> None:
    """Give entries of other owners to the consumer; `walk` has counted before, and counts what is given."""
    uid, gids = volume["uid"], volume["gids"]
    own = os.fstat(walk.top)
    if is_wrong(own, uid, gids):
        os.fchown(walk.top, *owner_of(own, uid, gids))
        walk.given += 1
    for entry in walk.entries():
        if not is_wrong(entry.found, uid, gids) or walk.elsewhere(entry.found):
            continue
        try:
            os.chown(entry.name, *owner_of(entry.found, uid, gids), dir_fd=entry.parent, follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise TroubleError(f"{volume['path']}: {entry.name!a}: {error.strerror}") from error
        walk.given += 1


def close(volume: dict[str, Any], below: str, *, check: bool) -> tuple[str, bool]:
    """Mode of the volume's directory, and whether it was, or would be, closed to others."""
    handle = opened(below, volume["path"], "")
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        known = volume["uid"] is not None or volume["gids"]
        wanted = bool(volume["tighten"] and mode & stat.S_IWOTH and known)
        if wanted and not check:
            os.fchmod(handle, CLOSED | (mode & stat.S_ISGID))
    finally:
        os.close(handle)
    return f"{mode:04o}", wanted


def one(volume: dict[str, Any], below: str, most: int, *, asked: bool, check: bool) -> dict[str, Any]:
    """Count one volume and, with `asked`, correct owners; `trouble` in the answer says why that failed."""
    answer: dict[str, Any] = {
        "name": volume["name"],
        "wrong": 0,
        "given": 0,
        "closed": False,
        "trouble": "",
        "mode": "",
    }
    try:
        top = opened(below, volume["path"], volume["sub_path"])
    except TroubleError as trouble:
        return {**answer, "trouble": str(trouble)}
    walk = Walk(top, most)
    try:
        answer.update(count(walk, volume))
        if asked and not check and answer["wrong"]:
            repair(walk, volume)
        # A closed directory must not shut its consumer out.
        safe = asked or not answer["wrong"]
        answer["mode"], answer["closed"] = close({**volume, "tighten": volume["tighten"] and safe}, below, check=check)
    except OSError as error:
        answer["trouble"] = f"{volume['path']}: {error.strerror}"
    except TroubleError as trouble:
        answer["trouble"] = str(trouble)
    finally:
        answer["given"] = answer["wrong"] if asked and check else walk.given
        os.close(top)
    return answer


def left(answer: dict[str, Any]) -> int:
    """How many entries still have another owner."""
    return int(answer["wrong"] - answer["given"])


def mode_after(answer: dict[str, Any]) -> str:
    """Mode of the directory after it was closed, or as it is."""
    return f"{CLOSED | (int(answer['mode'], 8) & stat.S_ISGID):04o}" if answer["closed"] else str(answer["mode"])


def main() -> None:
    """Look at every volume, and correct owners where requested."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    given, check = module.params, module.check_mode
    below = os.path.normpath(given["below"])
    results = [one(item, below, given["most"], asked=given["repair"], check=check) for item in given["volumes"]]
    touched = [item for item in results if item["closed"] or item["given"]]
    before = "".join(f"{item['name']}: {item['wrong']} of others, mode {item['mode']}\n" for item in touched)
    after = "".join(f"{item['name']}: {left(item)} of others, mode {mode_after(item)}\n" for item in touched)
    module.exit_json(changed=bool(touched), volumes=results, diff={"before": before, "after": after})


if __name__ == "__main__":
    main()
