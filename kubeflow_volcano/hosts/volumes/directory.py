"""Whether a directory on a host is fit for volumes, from measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import counted

_GB = 1000**3
_MEMORY = frozenset({"tmpfs", "ramfs", "rootfs"})
_ROOT_DIRECTORIES = frozenset(
    "bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var".split()  # noqa: SIM905
)
_SYSTEM = ("/boot/", "/dev/", "/etc/", "/proc/", "/run/", "/sys/", "/usr/")
_FEW_INODES = 0.05


@dataclass(frozen=True, slots=True)
class Directory:
    """What kfv_volume_directory measured; `written_as` is the uid of a file that root created, -1 if it could not."""

    path: str
    kind: str
    owner: tuple[int, int, str] | None
    volumes: int
    others: int
    some_others: tuple[str, ...]
    mount_point: str
    file_system: str
    options: frozenset[str]
    free_bytes: int
    free_inodes: int | None
    inodes: int
    written_as: int | None
    strange: tuple[str, ...]
    """Paths for static volumes that are not directories, each with what is wrong."""

    @classmethod
    def decode(cls, measured: Mapping[str, Any]) -> Self:
        """From the module's answer."""
        mount = measured["file_system"]
        there = measured["kind"] != "absent"
        return cls(
            path=measured["path"],
            kind=measured["kind"],
            owner=(measured["uid"], measured["gid"], measured["mode"]) if there else None,
            volumes=measured["volumes"],
            others=measured["others"],
            some_others=tuple(measured["some_others"]),
            mount_point=mount["point"],
            file_system=mount["type"],
            options=frozenset(mount["options"]),
            free_bytes=measured["free_bytes"],
            free_inodes=measured["free_inodes"],
            inodes=measured["inodes"],
            written_as=measured["written_as"],
            strange=tuple(_invalid(measured["directories"])),
        )

    def problems(self, minimum_free_gb: int) -> Iterator[Problem]:
        """Everything that makes it unfit for volumes."""
        yield from self._place()
        yield from self._mount()
        if not self.volumes and self.free_bytes < minimum_free_gb * _GB:
            yield Problem(
                f"{self.free_bytes / _GB:.1f} GB are free for {self.path}, on {self.mount_point}.",
                f"{minimum_free_gb} GB, which local_path_minimum_free_gb requires or the chosen components claim.",
                "choose a directory on a larger disk (local_path_base_directory), make room, or lower the requirement.",
            )

    def notes(self, minimum_free_gb: int) -> Iterator[str]:
        """What is unusual but does not make it unfit."""
        if self.volumes and self.free_bytes < minimum_free_gb * _GB:
            yield f"{self.free_bytes / _GB:.1f} GB are left beside the volumes in {self.path}"
        if self.free_inodes is not None and self.free_inodes < _FEW_INODES * self.inodes:
            yield f"{self.free_inodes} of {self.inodes} inodes are free on {self.mount_point}"
        if self.file_system.startswith("nfs") and self.written_as is None:
            yield f"{self.path} is on {self.file_system}; whether its server lets root change owners was not tested"
        yield from self.strange

    def _place(self) -> Iterator[Problem]:
        top, _, rest = self.path.strip("/").partition("/")
        if (top in _ROOT_DIRECTORIES and not rest) or f"{self.path}/".startswith(_SYSTEM):
            yield Problem(
                f"{self.path} as the directory of volumes.",
                "a directory for volumes only: other users may not list it.",
                "set local_path_base_directory to a directory below it, or elsewhere.",
            )
        if self.kind in {"link", "other"}:
            what = "a symbolic link" if self.kind == "link" else "not a directory"
            yield Problem(
                f"{self.path} is {what}.",
                "a directory by its real path, which SELinux labels and volumes use.",
                "set local_path_base_directory to the real path, or remove what is there.",
            )
        elif self.others and self.owner not in {None, (0, 0, "0711")}:
            yield Problem(
                f"{self.path} contains {counted(self.others, 'entry', 'entries')} beside volumes "
                f"({', '.join(self.some_others)}), and its owner and mode would change from "
                f"{_described(self.owner)} to 0:0 0711.",
                "a directory for volumes only.",
                "set local_path_base_directory to another directory, or set this owner and mode yourself "
                f"(chown 0:0 {self.path}; chmod 0711 {self.path}).",
            )

    def _mount(self) -> Iterator[Problem]:
        where = f"{self.path} is on {self.mount_point}, "
        elsewhere = "set local_path_base_directory to a directory on a local disk"
        if self.file_system in _MEMORY:
            needed = "a file system on a disk: a restart deletes what is in memory."
            yield Problem(f"{where}a {self.file_system}.", needed, f"{elsewhere}.")
        if self.file_system == "overlay":
            needed = "a file system of its own: databases rely on guarantees that an overlay does not give."
            yield Problem(f"{where}an overlay.", needed, f"{elsewhere}.")
        if "ro" in self.options:
            needed = "a writable file system."
            yield Problem(f"{where}mounted ro.", needed, f"find the cause (dmesg) and mount it rw, or {elsewhere}.")
        if "noexec" in self.options:
            needed = "exec, which volumes inherit: programs that users install into a volume must run."
            yield Problem(f"{where}mounted noexec.", needed, f"remove noexec from /etc/fstab, or {elsewhere}.")
        if self.written_as not in {None, 0}:
            needed = "a server that lets root change owners for the consumers of volumes (no_root_squash)."
            yield Problem(f"{where}where root's files do not belong to root.", needed, f"{elsewhere}.")


def _described(owner: tuple[int, int, str] | None) -> str:
    return f"{owner[0]}:{owner[1]} {owner[2]}" if owner else "nothing"


def _invalid(directories: Any) -> Iterator[str]:
    for item in directories:
        if item["kind"] not in {"absent", "directory"}:
            yield f"{item['path']}, for a static volume, is not a directory"
