"""Reading mount tables."""

from __future__ import annotations

from pathlib import Path

from kubeflow_volcano.rehearsal.inside.boot import mounts_below, read_mounts


def test_optional_fields_and_escaped_blanks_are_read() -> None:
    text = "36 35 98:0 / /mnt/with\\040blank rw,noatime shared:1 master:2 - ext3 /dev/root rw,errors=continue\n"

    (mount,) = read_mounts(text)

    assert mount.point == Path("/mnt/with blank")
    assert (mount.kind, mount.options) == ("ext3", ("rw", "errors=continue"))


def test_mounts_below_are_this_machine_s() -> None:
    assert "/proc" in mounts_below(Path("/proc"))
    assert mounts_below(Path("/nowhere/at/all")) == ()
