"""Where the account is kept: a random password in one Secret, its hash in Dex's, and neither on any screen."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.account.sign_in import decoded
from kubeflow_volcano.rollout.account.stored import (
    SECRET,
    account_of_cluster,
    keep_password,
    kept_password,
    kubectl,
    reading_command,
    reads_account,
)
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.settings.user import Account

PROFILE = Ref("v1", "Namespace", "", "kubeflow-user-example-com")
PASSWORDS = Ref("v1", "Secret", "auth", "dex-passwords")
CLIENT = Ref("v1", "Secret", "auth", "dex-oidc-client")


class Store:
    """A cluster of objects in memory, as far as the account needs it; `writes` are the verbs that changed it."""

    def __init__(self) -> None:
        self.objects: dict[Ref, Object] = {}
        self.writes: list[str] = []
        self.asked: list[Ref] = []

    def get(self, ref: Ref) -> Object | None:
        self.asked.append(ref)
        return self.objects.get(ref)

    def create(self, obj: Object) -> Object:
        self.writes.append("create")
        meta = {**obj["metadata"], "uid": f"uid-{len(self.writes)}"}
        self.objects[Ref.of(obj)] = {**obj, "metadata": meta}
        return obj

    def patch(self, ref: Ref, body: Any) -> Object:
        self.writes.append("patch")
        self.objects[ref] = {**self.objects[ref], **body}
        return self.objects[ref]

    def delete(self, ref: Ref, *, uid: str) -> bool:
        self.writes.append("delete")
        assert self.objects[ref]["metadata"]["uid"] == uid
        del self.objects[ref]
        return True

    def put(self, ref: Ref, annotations: dict[str, str] | None = None, **texts: str) -> None:
        """An object that is there already; a Secret with these texts."""
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        meta = {"name": ref.name, "namespace": ref.namespace, "annotations": annotations or {}}
        self.objects[ref] = {"apiVersion": "v1", "kind": ref.kind, "metadata": meta, "data": data}


@pytest.fixture
def cluster() -> Any:
    return Store()


@pytest.fixture
def settings() -> Settings:
    """Parts that sign people in."""
    found = parse({})
    parts = tuple(replace(found.components[0], name=name) for name in ("dex", "user-namespace"))
    return replace(found, components=parts)


def hashed(password: str) -> str:
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()


def given(settings: Settings, password: str) -> Settings:
    return replace(settings, user=replace(settings.user, password=password))


def found(cluster: Any, settings: Settings) -> Account | None:
    return account_of_cluster(cluster, settings.user, settings.users, settings.components)


def roll_out(cluster: Any, settings: Settings) -> tuple[Account, Sequence[str]]:
    """The account, as a roll-out brings it to the cluster, and what it says."""
    lines: list[str] = []
    ready = found(cluster, settings)
    keep_password(cluster, ready, "kubectl", lines.append)
    assert ready is not None
    cluster.put(PASSWORDS, DEX_USER_PASSWORD=ready.password_hash)
    cluster.put(CLIENT, OIDC_CLIENT_SECRET=ready.client_secret)
    return ready, lines


def test_a_random_password_is_kept_in_one_secret_and_the_command_that_reads_it_is_printed(
    cluster: Any, settings: Settings
) -> None:
    account, lines = roll_out(cluster, settings)
    assert account.password
    kept = cluster.objects[SECRET]
    assert (SECRET.namespace, kept["type"], kept["metadata"]["labels"]) == (
        "kubeflow-volcano",
        "Opaque",
        {"app.kubernetes.io/managed-by": "kubeflow-volcano"},
    )
    assert decoded(kept) == {
        "email": "user@example.com",
        "password": account.password,
        "password-hash": account.password_hash,
    }
    assert account.password not in f"{lines} {account}"
    (line,) = lines
    assert line.endswith(
        "kubectl -n kubeflow-volcano get secret first-user -o jsonpath='{.data.password}' | base64 -d; echo"
    )


def test_a_second_run_changes_nothing(cluster: Any, settings: Settings) -> None:
    first, lines = roll_out(cluster, settings)
    cluster.writes.clear()
    assert roll_out(cluster, settings) == (first, lines)
    assert cluster.writes == []


def test_finding_the_account_changes_nothing(cluster: Any, settings: Settings) -> None:
    assert found(cluster, settings)
    assert cluster.writes == []


def test_a_run_that_ended_before_dex_had_the_hash_keeps_its_password(cluster: Any, settings: Settings) -> None:
    first, _ = roll_out(cluster, settings)
    del cluster.objects[PASSWORDS]
    again, _ = roll_out(cluster, settings)
    assert (again.password, again.password_hash) == (first.password, first.password_hash)


def test_a_hash_that_was_changed_by_hand_is_declared_again(cluster: Any, settings: Settings) -> None:
    first, _ = roll_out(cluster, settings)
    cluster.put(PASSWORDS, DEX_USER_PASSWORD=hashed("by hand"))
    assert roll_out(cluster, settings)[0].password_hash == first.password_hash


def test_a_password_of_the_inventory_is_kept_nowhere_and_removes_the_random_one(
    cluster: Any, settings: Settings
) -> None:
    roll_out(cluster, settings)
    cluster.writes.clear()
    account, lines = roll_out(cluster, given(settings, "of-the-inventory"))
    assert bcrypt.checkpw(b"of-the-inventory", account.password_hash.encode())
    assert (cluster.writes, lines, SECRET in cluster.objects) == (["delete"], [], False)
    later, lines = roll_out(cluster, settings)
    assert (later.password, later.password_hash, lines) == (None, account.password_hash, [])


def test_another_email_keeps_the_password_and_is_written_down(cluster: Any, settings: Settings) -> None:
    first, _ = roll_out(cluster, settings)
    cluster.writes.clear()
    other = replace(settings, user=replace(settings.user, email="other@example.com"))
    account, _ = roll_out(cluster, other)
    assert (account.password, cluster.writes) == (first.password, ["patch"])
    assert kept_password(cluster, "other@example.com") == first.password


def test_the_hash_of_a_deleted_secret_stays_and_with_it_the_password(cluster: Any, settings: Settings) -> None:
    known = hashed("read and deleted")
    cluster.put(PASSWORDS, DEX_USER_PASSWORD=known)
    cluster.put(CLIENT, OIDC_CLIENT_ID="kubeflow", OIDC_CLIENT_SECRET="shared")  # noqa: S106  made up
    account, lines = roll_out(cluster, settings)
    assert (account.password, account.password_hash, account.client_secret) == (None, known, "shared")
    assert (cluster.writes, lines) == ([], [])


def test_the_command_names_the_cluster() -> None:
    command = reading_command(kubectl(Path("/a b/config"), "lab"))
    assert command.startswith("kubectl --kubeconfig '/a b/config' --context lab -n kubeflow-volcano ")


def test_a_kept_password_belongs_to_one_user(cluster: Any, settings: Settings) -> None:
    assert kept_password(cluster, "user@example.com") == ""
    account, _ = roll_out(cluster, settings)
    assert kept_password(cluster, "user@example.com") == account.password
    assert kept_password(cluster, "other@example.com") == ""


@pytest.mark.parametrize(
    ("annotations", "said"),
    [({"owner": "you@example.com"}, "belongs to you@example.com"), ({}, "no annotation owner")],
)
def test_a_namespace_of_somebody_else_is_refused(
    cluster: Any, settings: Settings, annotations: dict[str, str], said: str
) -> None:
    cluster.put(PROFILE, annotations)
    with pytest.raises(InvalidInput, match=said) as caught:
        found(cluster, settings)
    assert "owner=user@example.com" in str(caught.value)
    assert cluster.writes == []


def test_the_own_namespace_is_no_problem(cluster: Any, settings: Settings) -> None:
    cluster.put(PROFILE, {"owner": "user@example.com"})
    assert roll_out(cluster, settings)[0].email == "user@example.com"


def test_a_profile_without_sign_in_has_no_account(cluster: Any) -> None:
    training = parse({})
    assert not reads_account(training.components)
    assert found(cluster, training) is None
    keep_password(cluster, None, "kubectl", lambda _: None)
    assert (cluster.asked, cluster.writes) == ([], [])
