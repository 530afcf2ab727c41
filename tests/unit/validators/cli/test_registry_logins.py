"""Logins of a file as podman, skopeo and docker write it, for the images of probes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.__main__ import main
from kubeflow_volcano.validators.cli.parser import options, parse
from kubeflow_volcano.validators.cli.registry_logins import registry_logins

AUTH = base64.b64encode(b"robot:s3cret").decode()


def written(place: Path, content: Any, mode: int = 0o600) -> Path:
    path = place / "auth.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)
    return path


def test_the_logins_are_options_of_the_run_and_no_report_shows_them(tmp_path: Path) -> None:
    auths = {"registry.example.org": {"auth": AUTH}, "docker.io/mine": {"username": "me", "password": "s3cret"}}
    path = written(tmp_path, {"auths": auths, "HttpHeaders": {"User-Agent": "docker"}})
    chosen = options(parse(["--registry-authfile", str(path)]))
    assert json.loads(chosen.registry_logins) == {"auths": auths}
    assert "s3cret" not in repr(chosen)
    assert AUTH not in f"{chosen!r}{chosen.shown}"
    assert registry_logins(None) == ""


@pytest.mark.parametrize(
    ("content", "mode", "found"),
    [
        ({"auths": {"r.example.org": {"auth": AUTH}}}, 0o640, "has mode 0640"),
        ({"auths": {"r.example.org": {}}, "credsStore": "desktop"}, 0o600, "no password for r.example.org"),
        ({"auths": {"r.example.org": {"auth": "", "identitytoken": "t"}}}, 0o600, "no password for r.example.org"),
        ({"auths": {}}, 0o600, "has no login"),
        ({"auths": {"r.example.org": {"auth": "s3cret"}}}, 0o600, "no logins that can be read"),
        ({"auths": {"r.example.org": "s3cret"}}, 0o600, "no logins that can be read"),
        ("s3cret", 0o600, "no logins that can be read"),
        ([], 0o600, "no logins that can be read"),
    ],
)
def test_a_file_that_is_of_no_use_is_refused_without_its_content(
    tmp_path: Path, content: Any, mode: int, found: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        registry_logins(written(tmp_path, content, mode))
    assert found in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_file_that_is_not_there_ends_with_2_before_a_cluster_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--registry-authfile", str(tmp_path / "none"), "--kubeconfig", str(tmp_path / "none")]) == 2
    assert "--registry-authfile: " in capsys.readouterr().err
