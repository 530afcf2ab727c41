"""Answers of another shape than an API server's are errors with a reason, never a traceback."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.credentials import load
from kubeflow_volcano.cluster.api.errors import ApiError, from_response
from kubeflow_volcano.problems import Unreachable
from tests.serving import kubeconfig

ODD: tuple[Any, ...] = (None, [], "text", 1, {"resources": None}, {"resources": [1]}, {"resources": [{"name": None}]})
ODD_GROUPS: tuple[Any, ...] = (
    *ODD,
    {"kind": "APIGroupDiscoveryList", "items": None},
    {"kind": "APIGroupDiscoveryList", "items": [{"metadata": []}]},
    {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "a"}, "versions": [{"version": "v1"}, []]}]},
)


def cluster(monkeypatch: pytest.MonkeyPatch, answer: Any) -> Cluster:
    made = Cluster(lambda: None, "", "")  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(made, "request", lambda *_, **__: answer)
    return made


@pytest.mark.parametrize("answer", ODD, ids=str)
def test_odd_discovery_of_a_group_version(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    with pytest.raises(ApiError) as caught:
        cluster(monkeypatch, answer).kinds("v1")
    assert caught.value.reason == "OddAnswer"


@pytest.mark.parametrize("answer", ODD_GROUPS, ids=str)
def test_odd_aggregated_discovery(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    with pytest.raises(ApiError) as caught:
        cluster(monkeypatch, answer).all_kinds()
    assert caught.value.reason == "OddAnswer"


@pytest.mark.parametrize(
    "body", [b"[]", b'{"details": []}', b'{"details": {"causes": {"a": 1}}}', b'{"details": {"causes": [1]}}']
)
def test_odd_refusals(body: bytes) -> None:
    assert from_response(500, {}, body).status == 500


@pytest.mark.parametrize(
    "page", [*ODD, {"items": 1}, {"items": [1]}, {"items": []}, {"items": [], "metadata": 1}], ids=str
)
def test_odd_lists(monkeypatch: pytest.MonkeyPatch, page: Any) -> None:
    made = cluster(monkeypatch, {"resources": [{"kind": "Pod", "name": "pods", "namespaced": True}]})
    made.resource("v1", "Pod")
    monkeypatch.setattr(made, "request", lambda *_, **__: page)
    with pytest.raises(ApiError) as caught:
        made.list("v1", "Pod")
    assert caught.value.reason == "OddAnswer"


@pytest.mark.parametrize("expires", [1e30, -1e30, 10**400, "x", [1]], ids=lambda value: str(value)[:9])
def test_odd_claims_of_a_token(tmp_path: Path, expires: Any) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": f"a.{claims}.a"}}}
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig("http://127.0.0.1:9", user)))
    with pytest.raises(Unreachable):
        load(tmp_path / "kubeconfig", None, "")


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(9))


@pytest.mark.programs
@pytest.mark.parametrize("content", ["[" * 100_000, BOMB], ids=["deep", "aliases"])
def test_an_odd_kubeconfig_ends_the_program_with_a_reason(tmp_path: Path, content: str) -> None:
    (tmp_path / "kubeconfig").write_text(content)
    command = [sys.executable, "-m", "kubeflow_volcano.validators", "--kubeconfig", str(tmp_path / "kubeconfig")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 3
    assert "no usable credentials" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
