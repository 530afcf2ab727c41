"""Downloads: from the cache or from the first address that serves the file; nothing else enters the cache."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from kubeflow_volcano.problems import InvalidInput, ProblemsError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests import downloads
from kubeflow_volcano.rollout.manifests.downloads import fetch, mirrored

TEXT = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
SUM = hashlib.sha256(TEXT).hexdigest()


def kept(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def test_a_download_is_kept_and_not_asked_for_again(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/v/m.yaml", api.reply(body=TEXT))
    first = fetch([f"{api.url}/v/m.yaml"], SUM, tmp_path / "c", silent)
    assert first.read_bytes() == TEXT
    assert fetch([f"{api.url}/v/m.yaml"], SUM, tmp_path / "c", silent) == first
    assert len(api.seen("GET", "/v/m.yaml")) == 1


def test_a_kept_file_that_was_damaged_is_downloaded_again(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(body=TEXT))
    path = fetch([f"{api.url}/m.yaml"], SUM, tmp_path, silent)
    path.write_bytes(b"damaged")
    assert fetch([f"{api.url}/m.yaml"], SUM, tmp_path, silent).read_bytes() == TEXT


def test_a_wrong_sum_is_refused_and_not_kept(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(body=b"something else"))
    with pytest.raises(InvalidInput, match=hashlib.sha256(b"something else").hexdigest()):
        fetch([f"{api.url}/m.yaml"], SUM, tmp_path / "c", silent)
    assert kept(tmp_path / "c") == []
    api.on("GET", "/m.yaml", api.reply(body=TEXT))
    assert fetch([f"{api.url}/m.yaml"], SUM, tmp_path / "c", silent).read_bytes() == TEXT


def test_a_sign_in_page_is_called_one(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(body=b"\n<!DOCTYPE html><html>please sign in</html>"))
    with pytest.raises(InvalidInput, match="HTML page"):
        fetch([f"{api.url}/m.yaml"], SUM, tmp_path, silent)


def test_a_truncated_answer_is_tried_again(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(reset=True), api.status(503, "x", "busy"), api.reply(body=TEXT))
    assert fetch([f"{api.url}/m.yaml"], SUM, tmp_path, silent).read_bytes() == TEXT
    assert len(api.seen("GET", "/m.yaml")) == 3


def test_an_answer_that_stays_truncated_is_told(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.reply(lines=["half"], cut=True))
    with pytest.raises(InvalidInput, match="no usable answer"):
        fetch([f"{api.url}/m.yaml"], SUM, tmp_path / "c", silent)
    assert kept(tmp_path / "c") == []


def test_a_full_disk_is_named_and_no_mirror_is_asked(api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.on("GET", "/m.yaml", api.reply(body=TEXT))

    def full(_path: Path, _mode: str) -> BinaryIO:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "m.yaml"))

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(ProblemsError, match=r"m\.yaml .*no space") as caught:
        fetch([f"{api.url}/m.yaml", f"{api.url}/mirror/m.yaml"], SUM, tmp_path, silent)
    assert not isinstance(caught.value, InvalidInput)
    assert len(api.requests) == 1


def test_too_many_requests_are_followed_by_the_pause_that_is_asked_for(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.status(429, "x", "slowly", Retry_After="1"), api.reply(body=TEXT))
    assert fetch([f"{api.url}/m.yaml"], SUM, tmp_path, silent).read_bytes() == TEXT
    assert api.pauses[0] >= 1


def test_a_refusal_is_not_tried_again(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.status(403, "Forbidden", "not on the list"))
    with pytest.raises(InvalidInput, match="403"):
        fetch([f"{api.url}/m.yaml"], SUM, tmp_path, silent)
    assert len(api.seen("GET", "/m.yaml")) == 1


def test_credentials_of_an_address_are_sent_and_not_repeated(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/m.yaml", api.status(401, "Unauthorized", "no"))
    lines: list[str] = []
    address = api.url.replace("http://", "http://me:secret@") + "/m.yaml"
    with pytest.raises(InvalidInput) as caught:
        fetch([address], SUM, tmp_path, lines.append)
    assert "secret" not in "".join([str(caught.value), *lines])
    assert api.seen("GET", "/m.yaml")[0].headers["authorization"] == "Basic bWU6c2VjcmV0"


@pytest.mark.parametrize("trouble", ["absent", "a page", "another file", "half of it", "nobody there"])
def test_the_next_mirror_is_asked_where_one_is_of_no_use(api: Any, tmp_path: Path, trouble: str) -> None:
    answers = {
        "a page": api.reply(body=b"<html>blocked</html>"),
        "another file": api.reply(body=b"something else"),
        "half of it": api.reply(body=TEXT[:-9]),
    }
    if trouble in answers:
        api.on("GET", "/m.yaml", answers[trouble])
    api.on("GET", "/mirror/m.yaml", api.reply(body=TEXT))
    bad = "http://127.0.0.1:9/m.yaml" if trouble == "nobody there" else f"{api.url}/m.yaml"
    lines: list[str] = []
    assert fetch([bad, f"{api.url}/mirror/m.yaml"], SUM, tmp_path, lines.append).read_bytes() == TEXT
    assert any("next mirror" in line for line in lines)


def test_the_refusals_of_all_mirrors_are_told_and_nothing_is_kept(api: Any, tmp_path: Path) -> None:
    api.on("GET", "/a/m.yaml", api.status(403, "Forbidden", "not on the list"))
    api.on("GET", "/b/m.yaml", api.reply(body=b"<html>blocked</html>"))
    with pytest.raises(InvalidInput) as caught:
        fetch([f"{api.url}/a/m.yaml", f"{api.url}/b/m.yaml"], SUM, tmp_path / "c", silent)
    first, second = caught.value.problems
    assert "/a/m.yaml" in first.found
    assert "403" in first.found
    assert "/b/m.yaml" in second.found
    assert "HTML page" in second.found
    assert kept(tmp_path / "c") == []


@pytest.mark.parametrize(
    ("address", "preset", "places"),
    [
        ("https://github.com/a/b.tar.gz", "", ["https://github.com/a/b.tar.gz"]),
        (
            "https://github.com/a/b.tar.gz",
            "daocloud",
            ["https://github.com/a/b.tar.gz", "https://files.m.daocloud.io/github.com/a/b.tar.gz"],
        ),
        ("https://example.com/b.tar.gz", "daocloud", ["https://example.com/b.tar.gz"]),
    ],
)
def test_a_preset_of_mirrors_has_the_files_of_github_too(address: str, preset: str, places: list[str]) -> None:
    assert list(mirrored(address, preset)) == places


def test_an_endless_answer_is_given_up(api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MOST_BYTES", 10)
    api.on("GET", "/m.yaml", api.reply(body=TEXT))
    with pytest.raises(InvalidInput, match="serves more than"):
        fetch([f"{api.url}/m.yaml"], SUM, tmp_path / "c", silent)
    assert kept(tmp_path / "c") == []


def test_credentials_of_an_address_do_not_follow_a_redirect_to_another_host(api: Any, tmp_path: Path) -> None:
    elsewhere = api.url.replace("127.0.0.1", "localhost")
    api.on("GET", "/m.yaml", api.reply(302, headers={"Location": f"{elsewhere}/store/m.yaml"}))
    api.on("GET", "/store/m.yaml", api.reply(body=TEXT))
    fetch([api.url.replace("http://", "http://me:secret@") + "/m.yaml"], SUM, tmp_path, silent)
    (first,), (second,) = api.seen("GET", "/m.yaml"), api.seen("GET", "/store/m.yaml")
    assert first.headers["authorization"].startswith("Basic ")
    assert "authorization" not in second.headers
