"""A source is a path or an address with a sum; nothing that has not that sum enters the cache."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.read import load_release, load_volcano
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.sources import fetch, locate

VOLCANO = load_volcano("1.10.0")
OPERATOR = load_release("1.9.1").components["training-operator"]
TEXT = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
SUM = hashlib.sha256(TEXT).hexdigest()


def kept(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def test_a_download_is_kept_and_not_asked_for_again(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/v/m.yaml", api.reply(body=TEXT))
    first = fetch(f"{api.url}/v/m.yaml", SUM, tmp_path / "c", silent)
    assert first.read_bytes() == TEXT
    assert fetch(f"{api.url}/v/m.yaml", SUM, tmp_path / "c", silent) == first
    assert len(api.seen("GET", "/v/m.yaml")) == 1


def test_a_kept_file_that_was_damaged_is_downloaded_again(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(body=TEXT))
    path = fetch(f"{api.url}/m.yaml", SUM, tmp_path, silent)
    path.write_bytes(b"damaged")
    assert fetch(f"{api.url}/m.yaml", SUM, tmp_path, silent).read_bytes() == TEXT


def test_a_wrong_sum_is_refused_and_not_kept(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(body=b"something else"))
    with pytest.raises(InvalidInput, match=hashlib.sha256(b"something else").hexdigest()):
        fetch(f"{api.url}/m.yaml", SUM, tmp_path / "c", silent)
    assert kept(tmp_path / "c") == []
    api.on("GET", "/m.yaml", api.reply(body=TEXT))
    assert fetch(f"{api.url}/m.yaml", SUM, tmp_path / "c", silent).read_bytes() == TEXT


def test_a_sign_in_page_is_called_one(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(body=b"\n<!DOCTYPE html><html>please sign in</html>"))
    with pytest.raises(InvalidInput, match="HTML page"):
        fetch(f"{api.url}/m.yaml", SUM, tmp_path, silent)


def test_a_truncated_answer_is_tried_again(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(reset=True), api.status(503, "x", "busy"), api.reply(body=TEXT))
    assert fetch(f"{api.url}/m.yaml", SUM, tmp_path, silent).read_bytes() == TEXT
    assert len(api.seen("GET", "/m.yaml")) == 3


def test_an_answer_that_stays_truncated_is_told(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(lines=["half"], cut=True))
    with pytest.raises(InvalidInput, match="no answer to use"):
        fetch(f"{api.url}/m.yaml", SUM, tmp_path / "c", silent)
    assert kept(tmp_path / "c") == []


def test_a_refusal_is_not_tried_again(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.status(403, "Forbidden", "not on the list"))
    with pytest.raises(InvalidInput, match="403"):
        fetch(f"{api.url}/m.yaml", SUM, tmp_path, silent)
    assert len(api.seen("GET", "/m.yaml")) == 1


def test_credentials_of_an_address_are_sent_and_not_repeated(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.status(401, "Unauthorized", "no"))
    lines: list[str] = []
    address = api.url.replace("http://", "http://me:secret@") + "/m.yaml"
    with pytest.raises(InvalidInput) as caught:
        fetch(address, SUM, tmp_path, lines.append)
    assert "secret" not in "".join([str(caught.value), *lines])
    assert api.seen("GET", "/m.yaml")[0].headers["authorization"] == "Basic bWU6c2VjcmV0"


def test_no_source_says_what_is_missing_and_where_to_name_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        locate(OPERATOR, None, tmp_path, silent)
    (problem,) = caught.value.problems
    assert "manifests/overlays/standalone" in problem.needed
    assert "kubeflow_sources.training-operator" in problem.todo


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="absent") as caught:
        locate(VOLCANO, str(tmp_path / "absent"), tmp_path, silent)
    assert "volcano_source" in caught.value.problems[0].todo


def test_an_address_is_fetched_into_the_cache(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(body=TEXT))
    place = locate(VOLCANO, f"{api.url}/m.yaml#sha256={SUM}", tmp_path, silent)
    assert place == tmp_path / "downloads" / SUM / "m.yaml"


def test_a_whole_checkout_is_searched_for_the_component(tmp_path: Path) -> None:
    file = tmp_path / "installer" / "volcano-development.yaml"
    file.parent.mkdir()
    file.write_bytes(TEXT)
    assert locate(VOLCANO, str(tmp_path), tmp_path, silent) == file


def test_a_directory_without_the_component_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="neither a kustomization nor installer/volcano"):
        locate(VOLCANO, str(tmp_path), tmp_path / "cache", silent)


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return path


def test_an_archive_is_unpacked_once(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", {"volcano-1.10.0/installer/volcano-development.yaml": TEXT})
    place = locate(VOLCANO, str(path), tmp_path / "cache", silent)
    assert place.read_bytes() == TEXT
    changed = place.stat().st_mtime_ns
    assert locate(VOLCANO, str(path), tmp_path / "cache", silent).stat().st_mtime_ns == changed
    assert len(list((tmp_path / "cache" / "unpacked").iterdir())) == 1


def test_an_archive_that_reaches_outside_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", {"../outside": TEXT})
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        locate(VOLCANO, str(path), tmp_path / "cache", silent)
    assert not (tmp_path / "outside").exists()
    assert list((tmp_path / "cache" / "unpacked").iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.SYMTYPE, "../../outside"),
        (tarfile.LNKTYPE, "x"),
        (tarfile.FIFOTYPE, ""),
    ],
    ids=["absolute link", "link upwards", "hard link", "pipe"],
)
def test_an_archive_with_links_out_or_with_special_files_is_refused(tmp_path: Path, kind: bytes, target: str) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("x/odd")
        member.type, member.linkname = kind, target
        tar.addfile(member)
    with pytest.raises(InvalidInput, match="x/odd"):
        locate(VOLCANO, str(path), tmp_path / "cache", silent)
    assert list((tmp_path / "cache" / "unpacked").iterdir()) == []


def test_a_link_inside_an_archive_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        file, link = tarfile.TarInfo("v/real.yaml"), tarfile.TarInfo("v/installer/volcano-development.yaml")
        file.size = len(TEXT)
        link.type, link.linkname = tarfile.SYMTYPE, "../real.yaml"
        tar.addfile(file, io.BytesIO(TEXT))
        tar.addfile(link)
    assert locate(VOLCANO, str(path), tmp_path / "cache", silent).read_bytes() == TEXT


def test_a_truncated_archive_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", {"x/big": bytes(range(256)) * 4000})
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        locate(VOLCANO, str(path), tmp_path / "cache", silent)
    assert list((tmp_path / "cache" / "unpacked").iterdir()) == []


@pytest.mark.upstream
def test_the_upstream_archive_holds_the_component(upstream_dir: Path, tmp_path: Path) -> None:
    place = locate(OPERATOR, str(upstream_dir / "manifests-1.9.1.tar.gz"), tmp_path, silent)
    assert (place / "kustomization.yaml").is_file()
