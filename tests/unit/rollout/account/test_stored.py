"""Where the account is kept: one file that only its owner reads, and what the cluster has where there is none."""

from __future__ import annotations

import base64
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.account.stored import credentials_file, reads_account, with_account
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.settings.user import Account

NAMESPACE = "/api/v1/namespaces/kubeflow-user-example-com"
PASSWORDS = "/api/v1/namespaces/auth/secrets/dex-passwords"
CLIENT = "/api/v1/namespaces/auth/secrets/dex-oidc-client"


def is_cluster(api: Any, uid: str) -> None:
    system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": uid}}
    api.on("GET", "/api/v1/namespaces/kube-system", api.reply(body=system))


@pytest.fixture
def served(api: Any) -> Any:
    """An API server that knows Namespaces and Secrets, and has none."""
    resources = [
        {"kind": "Namespace", "name": "namespaces", "namespaced": False},
        {"kind": "Secret", "name": "secrets", "namespaced": True},
    ]
    api.on("GET", "/api/v1", api.reply(body={"resources": resources}))
    is_cluster(api, "one")
    return api


@pytest.fixture(autouse=True)
def _quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.rollout.account.first_user.HASH_ROUNDS", 4)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Parts that sign people in, and credentials below the test's directory."""
    found = parse({"kubeflow_credentials_directory": str(tmp_path / "credentials")})
    parts = tuple(replace(found.components[0], name=name) for name in ("dex", "user-namespace"))
    return replace(found, components=parts)


def secret(**texts: str) -> dict[str, Any]:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": data}


def namespace(**annotations: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x", "annotations": annotations}}


def account_of(api: Any, settings: Settings, lines: list[str] | None = None, *, check: bool = False) -> Account:
    told = lines.append if lines is not None else silent
    account = with_account(api.connect(), settings, settings.components, check=check, progress=told).account
    assert account is not None
    return account


def test_a_new_account_is_kept_for_its_owner_alone_and_shown_once(served: Any, settings: Settings) -> None:
    first_lines: list[str] = []
    second_lines: list[str] = []
    first = account_of(served, settings, first_lines)
    place = credentials_file(settings)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert json.loads(place.read_text())["password"] == first.password
    assert first.password
    assert any(first.password in line for line in first_lines)
    written = place.stat().st_mtime_ns
    assert account_of(served, settings, second_lines) == first
    assert second_lines == []
    assert place.stat().st_mtime_ns == written


def test_a_given_password_is_neither_shown_nor_written(served: Any, settings: Settings) -> None:
    lines: list[str] = []
    given = replace(settings, user=replace(settings.user, password="of-the-inventory"))  # noqa: S106  made up
    account = account_of(served, given, lines)
    assert bcrypt.checkpw(b"of-the-inventory", account.password_hash.encode())
    assert "of-the-inventory" not in credentials_file(settings).read_text() + "".join(lines)


def test_without_a_file_the_cluster_is_asked(served: Any, settings: Settings) -> None:
    known = bcrypt.hashpw(b"of another machine", bcrypt.gensalt(4)).decode()
    served.on("GET", PASSWORDS, served.reply(body=secret(DEX_USER_PASSWORD=known)))
    client = secret(OIDC_CLIENT_ID="kubeflow", OIDC_CLIENT_SECRET="shared")  # noqa: S106  made up
    served.on("GET", CLIENT, served.reply(body=client))
    account = account_of(served, settings)
    assert (account.password, account.password_hash, account.client_secret) == (None, known, "shared")


def test_another_cluster_behind_the_same_context_keeps_its_own(served: Any, settings: Settings) -> None:
    first = account_of(served, settings)
    is_cluster(served, "two")
    known = bcrypt.hashpw(b"of the second", bcrypt.gensalt(4)).decode()
    served.on("GET", PASSWORDS, served.reply(body=secret(DEX_USER_PASSWORD=known)))
    second = account_of(served, settings)
    assert second.password_hash == known
    assert second.client_secret != first.client_secret


def test_a_cluster_that_was_built_anew_gets_what_the_file_has(served: Any, settings: Settings) -> None:
    first = account_of(served, settings)
    is_cluster(served, "two")
    lines: list[str] = []
    assert account_of(served, settings, lines) == first
    assert not any("shown this once" in line for line in lines)


def test_check_mode_writes_nothing(served: Any, settings: Settings) -> None:
    lines: list[str] = []
    assert account_of(served, settings, lines, check=True).password
    assert not credentials_file(settings).parent.exists()
    assert lines == []


def test_another_cluster_has_another_file(settings: Settings) -> None:
    files = {
        credentials_file(item)
        for item in (
            settings,
            replace(settings, context="a/b"),
            replace(settings, context="a/b", kubeconfig=Path("/other")),
        )
    }
    assert len(files) == 3
    assert {item.parent for item in files} == {settings.user.credentials_directory}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"password": 1, "password_hash": null, "client_secret": null, "cluster": ""}']
)
def test_a_broken_file_is_refused_and_kept(served: Any, settings: Settings, text: str) -> None:
    place = credentials_file(settings)
    place.parent.mkdir()
    place.write_text(text)
    with pytest.raises(InvalidInput, match="cannot be read as an account"):
        account_of(served, settings)
    assert place.read_text() == text


def test_a_place_that_cannot_be_written_is_told_before_the_cluster_knows(
    served: Any, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text("a file in the way")
    with pytest.raises(InvalidInput, match="kubeflow_credentials_directory"):
        account_of(served, settings)


@pytest.mark.parametrize(
    ("annotations", "found"),
    [({"owner": "you@example.com"}, "belongs to you@example.com"), ({}, "no annotation owner")],
)
def test_a_namespace_of_somebody_else_is_refused(
    served: Any, settings: Settings, annotations: dict[str, Any], found: str
) -> None:
    served.on("GET", NAMESPACE, served.reply(body=namespace(**annotations)))
    with pytest.raises(InvalidInput, match=found) as caught:
        account_of(served, settings)
    assert "owner=user@example.com" in str(caught.value)
    assert not credentials_file(settings).exists()


def test_the_own_namespace_is_no_problem(served: Any, settings: Settings) -> None:
    served.on("GET", NAMESPACE, served.reply(body=namespace(owner="user@example.com")))
    assert account_of(served, settings).email == "user@example.com"


def test_a_profile_without_sign_in_has_no_account(served: Any, tmp_path: Path) -> None:
    training = parse({"kubeflow_credentials_directory": str(tmp_path / "credentials")})
    assert not reads_account(training.components)
    assert with_account(served.connect(), training, training.components, check=False, progress=silent) is training
    assert not (tmp_path / "credentials").exists()
    assert not any("auth" in request.path for request in served.requests)
