"""Which kustomize is used, and what it must be."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.kustomize import KustomizeRelease, kustomize_release
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests import kustomize_binary
from kubeflow_volcano.rollout.manifests.kustomize_binary import provide, require_known, version_of
from kubeflow_volcano.rollout.settings.settings import Settings, parse

PROGRAM = b"#!/bin/sh\necho v9.9.9\n"


@pytest.fixture
def settings(api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings whose only address of kustomize is a local server with PROGRAM."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sums = dict.fromkeys(("amd64", "arm64"), hashlib.sha256(PROGRAM).hexdigest())
    release = KustomizeRelease("5.2.1", "k_{architecture}", sums, {}, ("arm64",))
    monkeypatch.setattr(kustomize_binary, "kustomize_release", lambda _: release)
    monkeypatch.setattr(kustomize_binary, "RELEASES", api.url)
    for architecture in release.sums:
        api.on("GET", f"/k_{architecture}", api.reply(body=PROGRAM))
    return parse({"kubeflow_release": "1.9.1"})


def test_every_release_s_kustomize_is_known() -> None:
    for version in read.releases():
        assert "amd64" in kustomize_release(read.load_release(version).kustomize_version).sums


def test_a_cached_program_that_was_damaged_is_put_there_again(settings: Settings) -> None:
    place, changed, _ = provide(settings, silent)
    assert (changed, place.read_bytes()) == (True, PROGRAM)
    assert provide(settings, silent)[:2] == (place, False)
    place.write_bytes(PROGRAM[:9])
    assert provide(settings, silent)[:2] == (place, True)
    assert place.read_bytes() == PROGRAM


def test_a_program_that_was_changed_together_with_all_beside_it_is_neither_run_nor_kept(settings: Settings) -> None:
    place = provide(settings, silent).path
    ran = place.parent / "ran"
    changed = b"#!/bin/sh\ntouch " + str(ran).encode() + b"\n"
    total = hashlib.sha256(changed).hexdigest()
    for file in place.parent.iterdir():
        file.write_bytes(total.encode() if file.suffix == ".sha256" else changed)
    (place.parent / "kustomize.sha256").write_text(total)  # what versions before this one believed
    with pytest.raises(InvalidInput, match=r"not kustomize 5\.2\.1"):
        require_known(settings)
    assert provide(settings, silent)[:2] == (place, True)
    require_known(settings)
    assert (place.read_bytes(), ran.exists()) == (PROGRAM, False)


@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_cache_that_others_may_change_is_refused(settings: Settings, above: int) -> None:
    place = provide(settings, silent).path
    place.parents[above].chmod(0o777)
    for use in (lambda: provide(settings, silent), lambda: require_known(settings)):
        with pytest.raises(InvalidInput, match=f"everybody .*{place.parents[above]} "):
            use()
    place.parents[above].chmod(0o1777)
    assert provide(settings, silent).changed is False


def test_a_named_binary_is_held_against_the_sum_that_is_named_with_it(tmp_path: Path) -> None:
    path = saying(tmp_path, "v5.4.3")
    total = hashlib.sha256(path.read_bytes()).hexdigest()
    named = parse({"kustomize_binary": f"{path}#sha256={total}"})
    assert (named.kustomize, provide(named, silent).version) == (path, "5.4.3")
    path.write_text("#!/bin/sh\necho v5.4.3 # changed\n")
    for use in (lambda: provide(named, silent), lambda: require_known(named), lambda: version_of(named)):
        with pytest.raises(InvalidInput, match=f"{total}, .*kustomize_binary"):
            use()


def test_a_named_binary_without_a_sum_is_said(tmp_path: Path) -> None:
    lines: list[str] = []
    provide(parse({"kustomize_binary": str(saying(tmp_path, "v5.4.3"))}), lines.append)
    assert any("has no sum" in line for line in lines)
    with pytest.raises(InvalidInput, match="kustomize_binary"):
        parse({"kustomize_binary": "/bin/kustomize#sha256=1"})


@pytest.mark.parametrize(
    ("said", "version"),
    [("v5.8.1", "5.8.1"), ("{Version:kustomize/v5.4.3 GitCommit:x}", "5.4.3"), ("(devel)", "(devel)")],
)
def test_the_version_is_what_the_program_says(tmp_path: Path, said: str, version: str) -> None:
    settings = parse({"kustomize_binary": str(saying(tmp_path, said)), "kubeflow_release": "26.03"})
    assert provide(settings, silent).version == version


def test_a_sum_that_one_place_alone_names_is_told(
    settings: Settings, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert provide(settings, lines.append).changed
    assert len(api.seen("GET", "/k_arm64")) == 1
    assert any("from one place" in line for line in lines)


@pytest.mark.parametrize(
    ("release", "machine", "why"),
    [
        ("1.6.1", "aarch64", r"no kustomize 3\.2\.0 for arm64: upstream publishes .* from about 3\.8\.8"),
        ("1.9.1", "riscv64", "for riscv64"),
    ],
)
def test_what_is_not_published_for_a_machine_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, machine: str, why: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(InvalidInput, match=why):
        provide(parse({"kubeflow_release": release}), silent)


@pytest.mark.parametrize("state", ["absent", "a directory", "not executable", "a page"])
def test_a_named_binary_that_cannot_run_is_refused(tmp_path: Path, state: str) -> None:
    path = tmp_path / "kustomize"
    if state == "a directory":
        path.mkdir()
    elif state == "not executable":
        path.write_bytes(PROGRAM)
        path.chmod(0o644)
    elif state == "a page":
        path.write_text("<html>")
        path.chmod(0o755)
    with pytest.raises(InvalidInput, match=r"cannot be run.*kustomize_binary"):
        provide(parse({"kustomize_binary": str(path)}), silent)


@pytest.mark.parametrize(
    "said", ["v5.8.1", "(devel)", "{Version:kustomize/v5.0.0 GitCommit:x}", "{KustomizeVersion:unknown}"]
)
def test_a_named_binary_of_the_release_s_major_version_or_without_one_is_taken(tmp_path: Path, said: str) -> None:
    assert provide(parse({"kustomize_binary": str(saying(tmp_path, said))}), silent).changed is False


@pytest.mark.parametrize("said", ["", "{KustomizeVersion:3.2.0 GitCommit:x}", "{Version:kustomize/v4.5.7}", "version"])
def test_a_named_binary_that_cannot_build_the_release_is_refused(tmp_path: Path, said: str) -> None:
    path = saying(tmp_path, said)
    with pytest.raises(InvalidInput, match=r"version` .*kustomize 5\.2\.1, .*1\.9\.1"):
        provide(parse({"kustomize_binary": str(path)}), silent)


def saying(folder: Path, text: str) -> Path:
    path = folder / "kustomize"
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return path


def test_an_unknown_version_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r"Did you mean 5\.4\.3\?"):
        kustomize_release("5.4.4")
