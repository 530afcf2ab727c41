"""A source is a path or an address with a sum, and is what it says it is."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.model import Marker
from kubeflow_volcano.catalog.read import load_release
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests.sources import Sources, content_sum
from kubeflow_volcano.rollout.settings.settings import Settings, parse

TEXT = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
SUM = hashlib.sha256(TEXT).hexdigest()
RELEASE = load_release("1.9.1")
OPERATOR = RELEASE.components["training-operator"]
MARK = b"resources: []\n"

Configure = Callable[..., Settings]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Settings with a cache of their own, for a release whose marker is MARK."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def build(**variables: Any) -> Settings:
        settings = parse({"kubeflow_release": "1.9.1", **variables})
        marker = Marker("example/kustomization.yaml", hashlib.sha256(MARK).hexdigest())
        release = replace(RELEASE, source=replace(RELEASE.source, marker=marker))
        return replace(settings, release=release)

    return build


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory with one component of the release, and its marker."""
    folder = tmp_path / "checkout"
    for path, text in ((f"{OPERATOR.path}/kustomization.yaml", b""), ("example/kustomization.yaml", MARK)):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_bytes(text)
    return folder


def packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        tar.add(folder, "manifests-1.9.1")
    return buffer.getvalue()


def place(settings: Settings, name: str = OPERATOR.name) -> Path:
    return Sources(settings, silent).place(settings.component(name))


def refusal(settings: Settings, name: str = OPERATOR.name) -> str:
    with pytest.raises(InvalidInput) as caught:
        place(settings, name)
    return str(caught.value)


def test_a_checkout_an_unpacked_archive_and_an_archive_hold_the_component(
    configure: Configure, checkout: Path, tmp_path: Path
) -> None:
    around = tmp_path / "around"
    around.mkdir()
    checkout = checkout.rename(around / "manifests-1.9.1")
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(packed(checkout))
    assert place(configure(kubeflow_source=str(checkout))) == checkout / OPERATOR.path
    assert place(configure(kubeflow_source=str(around))) == checkout / OPERATOR.path
    found = place(configure(kubeflow_source=str(archive)))
    assert (found / "kustomization.yaml").is_file()
    assert str(found).endswith(f"/{OPERATOR.path}")


def test_an_address_with_the_sum_of_its_content_is_asked_once(configure: Configure, checkout: Path, api: Any) -> None:
    api.on("GET", "/1.9.1", api.reply(body=packed(checkout)))
    settings = configure(kubeflow_source=f"{api.url}/1.9.1#content-sha256={content_sum(checkout)}")
    assert content_sum(Sources(settings, silent).release()) == content_sum(checkout)
    assert place(settings) == place(settings)
    assert len(api.seen("GET", "/1.9.1")) == 1


def test_an_address_with_the_sum_of_the_file_is_asked_once(configure: Configure, checkout: Path, api: Any) -> None:
    body = packed(checkout)
    api.on("GET", "/1.9.1", api.reply(body=body))
    settings = configure(kubeflow_source=f"{api.url}/1.9.1#sha256={hashlib.sha256(body).hexdigest()}")
    assert place(settings) == place(settings)
    assert len(api.seen("GET", "/1.9.1")) == 1


@pytest.mark.parametrize(
    ("served", "words"),
    [
        ("half of it", "cannot be unpacked"),
        ("a page", "HTML page"),
        ("another archive", "has the content sum"),
        ("a text", "cannot be unpacked: it is not a tar archive"),
    ],
)
def test_what_is_not_the_content_is_refused_and_never_kept(
    configure: Configure, checkout: Path, api: Any, served: str, words: str
) -> None:
    (checkout / "big").write_bytes(bytes(range(256)) * 100)
    body, content = packed(checkout), content_sum(checkout)
    (checkout / "big").write_bytes(b"other")
    answers = {
        "half of it": body[:-100],
        "a page": b"<!DOCTYPE html><html>sign in</html>",
        "another archive": packed(checkout),
        "a text": b"neither",
    }
    api.on("GET", "/x.tar.gz", api.reply(body=answers[served]))
    settings = configure(kubeflow_source=f"{api.url}/x.tar.gz#content-sha256={content}")
    text = refusal(settings)
    assert words in text
    assert f"{api.url}/x.tar.gz" in text
    assert [path for path in settings.cache_directory.rglob("*") if path.is_file()] == []
    api.on("GET", "/x.tar.gz", api.reply(body=body))
    assert content_sum(Sources(settings, silent).release()) == content


def test_a_single_file_has_the_sum_of_its_text_as_content_also_compressed(configure: Configure, api: Any) -> None:
    api.on("GET", "/m.yaml.gz", api.reply(body=gzip.compress(TEXT)))
    settings = configure(volcano_source=f"{api.url}/m.yaml.gz#sha256={hashlib.sha256(gzip.compress(TEXT)).hexdigest()}")
    api.on("GET", "/o.yaml.gz", api.reply(body=gzip.compress(TEXT)))
    other = replace(settings, sources={"volcano": f"{api.url}/o.yaml.gz#content-sha256={SUM}"})
    assert place(other, "volcano").read_bytes() == place(other, "volcano").read_bytes() == TEXT
    assert len(api.seen("GET", "/o.yaml.gz")) == 1


def test_a_path_with_a_sum_is_compared_with_it(configure: Configure, checkout: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(packed(checkout))
    total = hashlib.sha256(archive.read_bytes()).hexdigest()
    settings = configure()
    assert place(replace(settings, source=f"{archive}#sha256={total}")).is_dir()
    assert place(replace(settings, source=f"{archive}#content-sha256={content_sum(checkout)}")).is_dir()
    assert place(replace(settings, source=f"{checkout}#content-sha256={content_sum(checkout)}")).is_dir()
    for kind in ("sha256", "content-sha256"):
        assert "0" * 64 in refusal(replace(settings, source=f"{archive}#{kind}={'0' * 64}"))


def test_what_no_release_is_known_to_be_is_taken_with_a_note(configure: Configure, checkout: Path) -> None:
    (checkout / "example" / "kustomization.yaml").write_text("resources: [mine]\n")
    sources = Sources(configure(kubeflow_source=str(checkout)), silent)
    assert sources.place(OPERATOR) == checkout / OPERATOR.path
    (note,) = sources.notes
    assert re.search(f"{checkout} .*no known", note)


def test_a_path_with_the_known_content_needs_no_note_and_one_with_changes_or_damage_gets_it(
    configure: Configure, checkout: Path
) -> None:
    settings, known = configure(kubeflow_source=str(checkout)), content_sum(checkout)
    source = replace(settings.release.source, content_sha256=known)
    settings = replace(settings, release=replace(settings.release, source=source))
    sources = Sources(settings, silent)
    sources.place(OPERATOR)
    assert sources.notes == []

    (checkout / OPERATOR.path / "kustomization.yaml").write_text("resources: []\n")
    sources = Sources(settings, silent)
    sources.place(OPERATOR)
    (note,) = sources.notes
    found = content_sum(checkout)
    assert f"{found}, not {known}" in note

    named = Sources(replace(settings, source=f"{checkout}#content-sha256={found}"), silent)
    named.place(OPERATOR)
    assert named.notes == []


def test_files_and_remote_sources_are_held_against_the_catalog_too(configure: Configure, tmp_path: Path) -> None:
    (tmp_path / "volcano.yaml").write_bytes(TEXT)
    settings = configure(volcano_source=str(tmp_path / "volcano.yaml"))
    sources = Sources(settings, silent)
    for _ in range(2):
        sources.place(settings.component("volcano"))
    (note,) = sources.notes
    assert f"{SUM}, not " in note
    assert f"volcano_source to {tmp_path}/volcano.yaml#content-sha256={SUM}" in note


def test_the_sum_of_a_file_does_not_fit_a_directory(configure: Configure, checkout: Path) -> None:
    text = refusal(configure(kubeflow_source=f"{checkout}#sha256={SUM}"))
    assert f"{checkout}#content-sha256={content_sum(checkout)}" in text


@pytest.mark.upstream
def test_the_archive_of_another_release_is_refused_by_its_name(configure: Configure, upstream_dir: Path) -> None:
    text = refusal(configure(kubeflow_source=str(upstream_dir / "manifests-1.6.1.tar.gz")))
    assert re.search(r"manifests-1\.6\.1\.tar\.gz .*1\.6\.1", text)
    assert re.search(r"Kubeflow 1\.9\.1, .*kubeflow_release", text)


@pytest.mark.parametrize("kind", ["a directory", "a text", "an archive"])
def test_what_is_no_release_at_all_is_refused_once(configure: Configure, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd"
    path.mkdir()
    (path / "m.yaml").write_bytes(TEXT)
    if kind == "an archive":
        (tmp_path / "odd.tar.gz").write_bytes(packed(path))
        path = tmp_path / "odd.tar.gz"
    elif kind == "a text":
        path /= "m.yaml"
    sources = Sources(configure(kubeflow_source=str(path)), silent)
    texts = set()
    for part in list(RELEASE.components.values())[:3]:
        with pytest.raises(InvalidInput) as caught:
            sources.place(part)
        texts.add(str(caught.value))
    (text,) = texts
    assert re.search(rf"{path} .*1\.9\.1", text)


def test_a_path_that_is_not_there_is_told_with_its_variable(configure: Configure, tmp_path: Path) -> None:
    text = refusal(configure(kubeflow_source=str(tmp_path / "absent")))
    assert f"no {tmp_path}/absent" in text
    assert "correct kubeflow_source." in text
    text = refusal(configure(volcano_source=str(tmp_path / "absent")), "volcano")
    assert "correct volcano_source." in text


def test_a_source_without_the_component_is_told(configure: Configure, checkout: Path, tmp_path: Path) -> None:
    (checkout / OPERATOR.path / "kustomization.yaml").unlink()
    (checkout / RELEASE.components["dex"].path).mkdir(parents=True)
    assert f"nor {OPERATOR.path}" in refusal(configure(kubeflow_source=str(checkout)))
    (tmp_path / "empty").mkdir()
    own = configure(kubeflow_sources={"training-operator": str(tmp_path / "empty")})
    assert "correct kubeflow_sources.training-operator" in refusal(own)


def test_a_component_has_a_source_of_its_own(configure: Configure, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: []\n")
    assert place(configure(kubeflow_sources={"training-operator": str(tmp_path)})) == tmp_path


def test_offline_nothing_is_downloaded_and_the_cache_serves(configure: Configure, checkout: Path, api: Any) -> None:
    def offline(settings: Settings) -> Path:
        return Sources(settings, silent, offline=True).place(settings.component(OPERATOR.name))

    body = packed(checkout)
    api.on("GET", "/x.tar.gz", api.reply(body=body))
    for total in (f"content-sha256={content_sum(checkout)}", f"sha256={hashlib.sha256(body).hexdigest()}"):
        settings = configure(kubeflow_source=f"{api.url}/x.tar.gz#{total}")
        with pytest.raises(InvalidInput, match=r"not in .*cache"):
            offline(settings)
        asked = len(api.seen("GET", "/x.tar.gz"))
        assert offline(configure(kubeflow_source=str(checkout))).is_dir()
        place(settings)
        assert offline(settings).is_dir()
        assert len(api.seen("GET", "/x.tar.gz")) == asked + 1
        shutil.rmtree(settings.cache_directory)


def test_a_device_is_no_source(configure: Configure) -> None:
    with pytest.raises(InvalidInput, match=r"/dev/null .*kubeflow_source\."):
        Sources(configure(kubeflow_source="/dev/null"), silent).place(OPERATOR)


def test_a_download_that_fails_names_the_variable_and_the_key_to_set(api: Any, configure: Configure) -> None:
    sources = {"training-operator": f"{api.url}/gone.yaml#sha256={SUM}"}
    with pytest.raises(InvalidInput, match="training-operator of kubeflow_sources"):
        Sources(configure(kubeflow_sources=sources), silent).place(OPERATOR)


@pytest.mark.parametrize("kind", ["sha256", "content-sha256"])
def test_a_release_that_cannot_be_downloaded_names_the_variable_to_set(
    api: Any, configure: Configure, kind: str
) -> None:
    settings = configure(kubeflow_source=f"{api.url}/gone.yaml#{kind}={SUM}")
    with pytest.raises(InvalidInput, match="kubeflow_source to its"):
        Sources(settings, silent).place(OPERATOR)
    with pytest.raises(InvalidInput, match="kubeflow_source to a"):
        Sources(settings, silent, offline=True).place(OPERATOR)


def test_the_sum_of_a_file_behind_a_directory_is_refused_and_not_ignored(configure: Configure, checkout: Path) -> None:
    with pytest.raises(InvalidInput, match=r"directory, .*#sha256 .*#content-sha256="):
        Sources(configure(kubeflow_source=f"{checkout}#sha256={SUM}"), silent).place(OPERATOR)
