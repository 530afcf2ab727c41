"""skopeo is found or asked for, and its words are read. The program is a script here; tests/hosts has the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.images.registry.skopeo import Skopeo

pytestmark = pytest.mark.programs

HELP = 'case "$*" in *--help*) echo "--all --preserve-digests --digestfile"; exit;; esac\n'


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is the whole search path, but for the shell's own programs."""
    monkeypatch.setenv("PATH", f"{tmp_path}")
    return tmp_path


def install(path: Path, text: str) -> None:
    program = path / "skopeo"
    program.write_text(f"#!/bin/sh\n{text}")
    program.chmod(0o755)


def test_without_skopeo_the_package_is_named(path: Path) -> None:
    assert not (path / "skopeo").exists()
    with pytest.raises(InvalidInput, match=r"skopeo is not installed.*dnf install skopeo"):
        Skopeo.find(None, 5)


def test_one_that_is_too_old_is_told_with_what_it_lacks(path: Path) -> None:
    install(path, "echo '--all --digestfile'\n")
    with pytest.raises(InvalidInput, match=f"{path}/skopeo does not know --preserve-digests"):
        Skopeo.find(None, 5)


def test_credentials_are_passed_as_a_file_and_whole_indexes_are_copied(path: Path) -> None:
    install(
        path, f'{HELP}echo "$@" >{path}/arguments\nwhile [ "$1" != --digestfile ]; do shift; done\necho sha256:1 >"$2"'
    )
    done = Skopeo.find(Path("/own/auth.json"), 5).copy(
        "docker://a/b:1", "docker://own/a/b:1", ["--dest-cert-dir", "/ca"]
    )
    assert (done.error, done.digest) == ("", "sha256:1")
    words = (path / "arguments").read_text().split()
    assert words[:3] == ["copy", "--all", "--preserve-digests"]
    assert words[5:] == [
        *("--authfile", "/own/auth.json", "--dest-cert-dir", "/ca"),
        *("docker://a/b:1", "docker://own/a/b:1"),
    ]


def test_requests_are_counted_by_what_it_says_that_it_copies(path: Path) -> None:
    lines = ["Copying 2 of 2 images in list", "Copying image sha256:1 (1/2)", "Copying blob sha256:2"]
    lines += ["Copying config sha256:3", "Writing manifest to image destination"]
    said = "\n".join(f'echo "{line}"' for line in lines)
    install(path, f'{HELP}{said}\nwhile [ "$1" != --digestfile ]; do shift; done\necho sha256:1 >"$2"')
    assert Skopeo.find(None, 5).copy("docker://a/b:1", "docker://own/a/b:1", ()).requests == 5


@pytest.mark.parametrize(
    ("said", "at_target"),
    [
        ("initializing source docker://a/b:1: reading manifest 1 in a/b: manifest unknown", False),
        ("trying to reuse blob sha256:1 at destination: pinging container registry own: x509: unknown", True),
        ("writing blob: uploading layer to https://own: unauthorized", True),
    ],
)
def test_the_last_line_is_the_error_and_says_on_whose_side(
    path: Path,
    said: str,
    at_target: bool,  # noqa: FBT001
) -> None:
    install(path, f'{HELP}echo "noise" >&2; echo \'time="2026" level=fatal msg="{said}"\' >&2; exit 1')
    done = Skopeo.find(None, 5).copy("docker://a/b:1", "docker://own/a/b:1", ())
    assert (done.error, done.at_target, done.digest) == (said, at_target, "")


def test_a_copy_that_takes_too_long_is_ended(path: Path) -> None:
    install(path, f"{HELP}exec /bin/sleep 30")
    skopeo = Skopeo.find(None, 5)
    skopeo._timeout = 0.1  # noqa: SLF001  so that nobody waits
    error = skopeo.copy("docker://a/b:1", "docker://own/a/b:1", ()).error
    assert (error.startswith(f"{path}/skopeo "), error.endswith(" 0 s")) == (True, True)
