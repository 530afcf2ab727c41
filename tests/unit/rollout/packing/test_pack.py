"""Manifests and kustomize are carried in a bundle, and used from it where their sources are gone.

Servers on this machine stand for upstream. Images and wheels: tests/integration/test_bundle.py, test_wheels.py.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog import data, kustomize
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.bundle.contents import load, text_of
from kubeflow_volcano.rollout.bundle.reading import Bundle
from kubeflow_volcano.rollout.manifests import kustomize_binary
from kubeflow_volcano.rollout.manifests.kustomize_binary import provide
from kubeflow_volcano.rollout.manifests.sources import Sources
from kubeflow_volcano.rollout.manifests.trees import content_sum
from kubeflow_volcano.rollout.packing.files import _packed
from kubeflow_volcano.rollout.packing.pack import Packed, pack
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.kustomize_mirror import Mirror, program
from tests.unpacking import unpack

TEXT = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
OPERATOR = "apps/training-operator/upstream/overlays/kubeflow"

Configure = Callable[..., Settings]


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """Upstream: kustomize's releases, and what the tests put into `good`."""
    mirror = Mirror(tmp_path / "web")
    monkeypatch.setattr(kustomize, "load", lambda _name: mirror.catalog)
    monkeypatch.setattr(kustomize_binary, "RELEASES", f"{mirror.address}/good")
    kustomize.kustomize_release.cache_clear()
    yield mirror
    mirror.stop()
    kustomize.kustomize_release.cache_clear()


@pytest.fixture
def configure(web: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Settings whose sources are upstream's; `where` names the cache."""
    sources = sources_at(web, tmp_path / "web/good")

    def build(where: str = "here", **variables: Any) -> Settings:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / where))
        return parse(
            {
                "kubeflow_components": ["local-path", "training-operator"],
                "kubeflow_exclude": [],
                "gang_scheduling_scheduler": "none",
                "kubeflow_bundle": str(tmp_path / "bundle"),
                "bundle_contents": ["manifests", "kustomize"],
                **sources,
                **variables,
            }
        )

    return build


def sources_at(web: Mirror, folder: Path) -> dict[str, Any]:
    """Offer a release as an archive with the sum of its content, and one component as a file with its own sum."""
    tree = folder / "tree"
    for path in ("common/kubeflow-namespace/base", OPERATOR):
        (tree / path).mkdir(parents=True)
        (tree / path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
        (tree / path / "a.yaml").write_bytes(TEXT)
    (tree / "link").symlink_to(OPERATOR)
    with tarfile.open(folder / "manifests.tar.gz", "w:gz") as tar:
        tar.add(tree, "manifests-1.9.1")
    packed = gzip.compress(TEXT)
    (folder / "local-path.yaml.gz").write_bytes(packed)
    return {
        "kubeflow_source": f"{web.address}/good/manifests.tar.gz#content-sha256={content_sum(tree)}",
        "local_path_source": f"{web.address}/good/local-path.yaml.gz#sha256={hashlib.sha256(packed).hexdigest()}",
    }


def packed(settings: Settings, *, check: bool = False) -> Packed:
    done = pack(settings, silent, check=check)
    assert done.problems == []
    return done


def place(settings: Settings, name: str) -> Path:
    part: Component = next(item for item in settings.components if item.name == name)
    return Sources(settings, silent).place(part)


def test_the_users_entries_are_in_the_bundle_and_are_read_from_it_where_the_directory_is_not(
    configure: Configure, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    entry = own / "local_path/0.0.90.yaml"
    entry.parent.mkdir(parents=True)
    text = (data.HOME / "local_path/0.0.37.yaml").read_text("utf-8").replace('version: "0.0.37"', 'version: "0.0.90"')
    entry.write_text(text, "utf-8")
    given = {"catalog_directory": str(own), "local_path_version": "0.0.90"}
    assert "catalog/local_path/0.0.90.yaml" in packed(configure(**given)).fetched
    assert packed(configure(**given)).fetched == []

    shutil.rmtree(own)
    there = configure("there", **given)
    assert there.local_path.entry == str(tmp_path / "bundle/catalog/local_path/0.0.90.yaml")
    assert place(there, "local-path").read_bytes() == TEXT
    assert there.own_entries

    carried = tmp_path / "bundle/catalog/local_path/0.0.90.yaml"
    carried.write_text(text + "# changed\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"0\.0\.90\.yaml has"):
        configure("there", **given)


def test_everything_is_used_from_the_bundle_once_upstream_is_gone(
    configure: Configure, web: Mirror, tmp_path: Path
) -> None:
    first = packed(configure())
    assert [path.partition("/")[0] for path in first.fetched] == ["manifests", "manifests", "kustomize"]
    assert load(tmp_path / "bundle").complete

    shutil.rmtree(tmp_path / "web/good")
    there = configure("there")
    web.asked.clear()
    assert (place(there, "training-operator") / "a.yaml").read_bytes() == TEXT
    assert place(there, "local-path").read_bytes() == TEXT
    found = provide(there, silent)
    assert (found.changed, found.path.read_bytes()) == (True, program("5.2.1"))
    assert web.asked == []


def test_a_second_run_fetches_nothing_and_a_third_one_what_was_damaged(
    configure: Configure, web: Mirror, tmp_path: Path
) -> None:
    first = packed(configure())
    assert packed(configure()).fetched == []
    (archive,) = (tmp_path / "bundle/kustomize").iterdir()
    content = archive.read_bytes()
    archive.write_bytes(content[:-1] + b"?")
    web.asked.clear()
    checked = packed(configure("elsewhere"), check=True)
    assert checked.fetched == [f"kustomize/{archive.name}"]
    assert archive.read_bytes() != content
    third = packed(configure("elsewhere"))
    assert (third.fetched, sorted(third.kept)) == ([f"kustomize/{archive.name}"], sorted(first.fetched[:2]))
    assert archive.read_bytes() == content
    assert packed(configure()).sum == third.sum == first.sum


def test_a_check_of_a_new_bundle_lists_its_files_with_known_sizes_and_writes_none(
    configure: Configure, tmp_path: Path
) -> None:
    lines: list[str] = []
    done = pack(configure(), lines.append, check=True)
    assert len(done.fetched) == 3
    assert not (tmp_path / "bundle").exists()
    told = [line for line in lines if line.startswith("would fetch")]
    assert [" bytes, from http" in line for line in told if "local-path.yaml.gz" in line] == [True]


def test_what_the_bundle_lacks_is_refused_and_not_downloaded(
    configure: Configure, web: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(configure())
    other = configure("there", local_path_source=f"{web.address}/good/other.yaml#sha256={'1' * 64}")
    web.asked.clear()
    with pytest.raises(InvalidInput, match=r"other\.yaml .*bundle"):
        place(other, "local-path")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(InvalidInput, match=r"kustomize 5\.2\.1 .*arm64 .*bundle"):
        provide(configure("there"), silent)
    assert web.asked == []


def test_a_changed_file_is_refused_by_its_name_before_it_is_used(configure: Configure, tmp_path: Path) -> None:
    packed(configure())
    for file in sorted((tmp_path / "bundle/manifests").iterdir()):
        file.write_bytes(file.read_bytes() + b"\n")
    there = configure("there")
    for name, ending in (("training-operator", "manifests.tar.gz"), ("local-path", "local-path.yaml.gz")):
        with pytest.raises(InvalidInput, match=rf"bundle/manifests/[0-9a-f]{{8}}-{ending} .*\d+ bytes"):
            place(there, name)


def changed_bundle(tmp_path: Path, *, whole: bool) -> Path:
    """Put another kustomize into the bundle, and its sum into the list; with `whole` also the sum in its source.

    Returns the file that exists as soon as that program was run.
    """
    (archive,) = (tmp_path / "bundle/kustomize").iterdir()
    ran, content = tmp_path / "ran", io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        script = f"#!/bin/sh\ntouch {ran}\necho v5.2.1\n".encode()
        entry = tarfile.TarInfo("kustomize")
        entry.size, entry.mode = len(script), 0o755
        tar.addfile(entry, io.BytesIO(script))
    archive.write_bytes(content.getvalue())
    total = hashlib.sha256(content.getvalue()).hexdigest()
    listed = load(tmp_path / "bundle")
    files = []
    for item in listed.files:
        if item.path.startswith("kustomize/"):
            source = item.source.rpartition("=")[0] + f"={total}" if whole else item.source
            files.append(replace(item, size=len(content.getvalue()), sha256=total, source=source))
        else:
            files.append(item)
    (tmp_path / "bundle/bundle.json").write_text(text_of(replace(listed, files=tuple(files))), "utf-8")
    return ran


@pytest.mark.parametrize("whole", [False, True])
def test_a_kustomize_that_was_changed_with_the_list_is_neither_run_nor_kept(
    configure: Configure, tmp_path: Path, *, whole: bool
) -> None:
    packed(configure())
    ran = changed_bundle(tmp_path, whole=whole)
    there = configure("there")
    with pytest.raises(InvalidInput, match=r"its source names|not in .*bundle"):
        provide(there, silent)
    assert not ran.exists()
    assert not there.kustomize.exists()


def test_a_kustomize_that_was_changed_with_the_list_is_fetched_again_by_the_next_filling(
    configure: Configure, tmp_path: Path
) -> None:
    first = packed(configure())
    ran = changed_bundle(tmp_path, whole=False)
    assert packed(configure("elsewhere")).sum == first.sum
    assert not ran.exists()


def test_every_file_is_held_against_the_sum_that_its_source_names(configure: Configure, tmp_path: Path) -> None:
    packed(configure())
    listed = load(tmp_path / "bundle")
    for entry in listed.files:
        if "#sha256=" in entry.source:
            files = tuple(replace(item, sha256="0" * 64) if item == entry else item for item in listed.files)
            (tmp_path / "bundle/bundle.json").write_text(text_of(replace(listed, files=files)), "utf-8")
            with pytest.raises(InvalidInput, match="its source names"):
                Bundle.open(tmp_path / "bundle")


def test_an_unfinished_bundle_is_not_installed_from(configure: Configure, tmp_path: Path) -> None:
    settings = configure()
    broken = replace(settings, sources={**settings.sources, "local-path": f"{tmp_path}/absent.yaml"})
    with pytest.raises(InvalidInput, match=r"absent\.yaml"):
        pack(broken, silent, check=False)
    with pytest.raises(InvalidInput, match=r"not complete|no bundle"):
        Sources(configure("there"), silent)
    assert packed(settings).sum


def test_paths_on_this_machine_are_carried_with_their_present_content(configure: Configure, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    (checkout / ".git/config").write_text("of the repository")
    (checkout / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (checkout / "a.yaml").write_bytes(TEXT)
    sources = {"kubeflow_sources": {"training-operator": str(checkout)}}
    first = packed(configure(**sources))
    assert packed(configure(**sources)).fetched == []
    (checkout / "a.yaml").write_bytes(TEXT + b"# changed\n")
    (again,) = packed(configure(**sources)).fetched
    assert again in first.fetched
    (checkout / "kustomization.yaml").unlink()
    there = place(configure("there", **sources), "training-operator")
    assert (there / "a.yaml").read_bytes() == TEXT + b"# changed\n"
    assert not (there / ".git").exists()


def test_a_source_that_is_not_used_any_more_leaves_the_bundle(configure: Configure, tmp_path: Path) -> None:
    packed(configure())
    packed(configure(kubeflow_components=["local-path"]))
    assert [path.name[9:] for path in (tmp_path / "bundle/manifests").iterdir()] == ["local-path.yaml.gz"]


def test_parts_that_are_not_chosen_stay(configure: Configure, tmp_path: Path) -> None:
    packed(configure())
    before = load(tmp_path / "bundle").files
    assert packed(configure(bundle_contents=["kustomize"])).fetched == []
    assert load(tmp_path / "bundle").files == before


def test_every_architecture_gets_its_kustomize_and_what_is_not_published_is_said(
    configure: Configure, tmp_path: Path
) -> None:
    both = {"plan_architectures": ["amd64", "arm64"], "bundle_contents": ["kustomize"]}
    assert len(packed(configure(**both)).fetched) == 2
    old = packed(replace(configure(**both), kustomize_version="3.2.0"))
    assert (len(old.fetched), len(old.warnings)) == (1, 1)
    assert re.search(r"kustomize 3\.2\.0 .*arm64", str(old.warnings[0]))
    own = tmp_path / "kustomize"
    own.write_bytes(program("9.9.9"))
    (warning,) = packed(configure(**both, kustomize_binary=str(own))).warnings
    assert "the same path" in str(warning)


def test_without_a_directory_there_is_nothing_to_fill(configure: Configure) -> None:
    with pytest.raises(InvalidInput, match="kubeflow_bundle is empty"):
        pack(configure(kubeflow_bundle=""), silent, check=False)


def test_a_packed_directory_has_the_content_and_always_the_same_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "only").mkdir(parents=True)
    (folder / "only/b").write_bytes(b"b")
    (folder / "only/a").hardlink_to(folder / "only/b")
    (folder / "only/c").symlink_to("a")
    first = _packed(folder, tmp_path).read_bytes()
    (folder / "only/b").touch()
    assert _packed(folder, tmp_path).read_bytes() == first
    with tarfile.open(fileobj=io.BytesIO(first)) as tar:
        assert {member.name for member in tar} == {
            "content",
            *(f"content/only{name}" for name in ("", "/a", "/b", "/c")),
        }
        unpack(tar, tmp_path / "unpacked")
    assert content_sum(tmp_path / "unpacked/content") == content_sum(folder)


def test_the_bundle_names_no_login_of_a_source(configure: Configure, web: Mirror, tmp_path: Path) -> None:
    settings = configure()
    with_login = settings.sources["local-path"].replace("http://", "http://me:secret@")
    packed(configure(local_path_source=with_login))
    assert "secret" not in (tmp_path / "bundle/bundle.json").read_text("utf-8")
    there = configure("there", local_path_source=with_login)
    web.asked.clear()
    assert place(there, "local-path").read_bytes() == TEXT
    assert web.asked == []


def test_a_bundle_for_the_registry_is_imported_from_and_another_step_is_kept(
    configure: Configure, tmp_path: Path
) -> None:
    own = {"image_mirror_mode": "registry", "image_mirror_registry": "registry.lan:5000"}
    registry = configure(**own).registry
    assert (registry.step, registry.archive) == ("import", tmp_path / "bundle/images")
    given = {**own, "image_mirror_registry_step": "export", "image_mirror_registry_archive": "/mnt/disk"}
    assert (configure(**given).registry.step, configure(**given).registry.archive) == ("export", Path("/mnt/disk"))
    assert configure().registry.step == "copy"
    assert configure(**own, kubeflow_bundle="").registry.step == "copy"


def test_a_bundle_is_opened_once_it_is_complete(configure: Configure, tmp_path: Path) -> None:
    packed(configure())
    opened = Bundle.open(tmp_path / "bundle")
    assert (opened.contents.release, opened.contents.version) == ("1.9.1", "0.1.0")
    assert all(entry.source.startswith(("http://", "https://")) for entry in opened.contents.files)
