"""Users with a password in upstream's manifests of Dex, for each release that is at hand."""

from __future__ import annotations

import json
from dataclasses import replace

import bcrypt
import yaml

from kubeflow_volcano.rollout.account.first_user import Known, account_for
from kubeflow_volcano.rollout.account.sign_in import HASH_KEY, decoded, hashes_of
from kubeflow_volcano.rollout.settings.settings import Settings
from tests.unit.releases import Upstream
from tests.unit.rollout.people.test_connectors import config_of, found

HASH = bcrypt.hashpw(b"bobs-password", bcrypt.gensalt(10)).decode()
USERS = [
    {"email": "Ada@example.org", "password": "adas-password"},
    {"email": "bob@example.org", "password_hash": HASH},
]
FIRST = {"kubeflow_user_email": "me@example.org", "kubeflow_user_password": "my-password"}
# Names and ids follow from the addresses, so that other inventories and runs give the same.
ADA, BOB = "DEX_USER_PASSWORD_CFE00DDE46EF", "DEX_USER_PASSWORD_686B5E4CF4F9"
GOLDEN = f"""\
staticPasswords:
- email: me@example.org
  username: user
  userID: '15841185641784'
  hashFromEnv: DEX_USER_PASSWORD
- email: Ada@example.org
  hashFromEnv: {ADA}
  username: Ada
  userID: 9262b79c-f2da-5326-bb75-7eabd169084d
- email: bob@example.org
  hashFromEnv: {BOB}
  username: bob
  userID: ece6bb31-06f1-5857-a49e-2041c080cdb7
"""


def with_account(settings: Settings, known: Known | None = None) -> Settings:
    return replace(settings, account=account_for(settings.user, known or Known(), settings.users))


def test_dex_knows_the_users_and_a_secret_has_their_hashes(upstream: Upstream) -> None:
    plain = upstream.patched(with_account(upstream.settings(**FIRST)))["dex"]
    objects = upstream.patched(with_account(upstream.settings(kubeflow_users=USERS, **FIRST)))["dex"]
    config, before = config_of(objects), config_of(plain)
    assert {"staticPasswords": config["staticPasswords"]} == yaml.safe_load(GOLDEN)
    assert {**before, "staticPasswords": None} == {**config, "staticPasswords": None}
    hashes = decoded(found(objects, "Secret", "dex-passwords"))
    assert hashes.keys() == {HASH_KEY, ADA, BOB}
    assert bcrypt.checkpw(b"adas-password", hashes[ADA].encode())
    assert hashes[BOB] == HASH
    others = json.dumps([obj for obj in objects if obj["metadata"]["name"] != "dex-passwords"])
    for secret in ("adas-password", "bobs-password", hashes[ADA], HASH):
        assert secret not in others
    container = found(objects, "Deployment", "dex")["spec"]["template"]["spec"]["containers"][0]
    assert container["envFrom"].count({"secretRef": {"name": "dex-passwords"}}) == 1


def test_a_second_run_keeps_the_hashes_and_only_dex_restarts_for_another_user(upstream: Upstream) -> None:
    settings = upstream.settings(kubeflow_users=USERS, **FIRST)
    first = with_account(settings)
    assert first.account
    objects = upstream.patched(first)
    kept = decoded(found(objects["dex"], "Secret", "dex-passwords"))
    known = Known(None, kept[HASH_KEY], first.account.client_secret, hashes_of(kept))
    assert upstream.patched(with_account(settings, known)) == objects

    fewer = upstream.patched(with_account(upstream.settings(kubeflow_users=USERS[:1], **FIRST), known))
    assert {name: parts for name, parts in fewer.items() if name != "dex"} == {
        name: parts for name, parts in objects.items() if name != "dex"
    }
    assert decoded(found(fewer["dex"], "Secret", "dex-passwords")) == {HASH_KEY: kept[HASH_KEY], ADA: kept[ADA]}
    assert [item["email"] for item in config_of(fewer["dex"])["staticPasswords"]] == [
        "me@example.org",
        "Ada@example.org",
    ]
    pods = [
        found(parts["dex"], "Deployment", "dex")["spec"]["template"]["metadata"]["annotations"]
        for parts in (objects, fewer)
    ]
    assert pods[0] != pods[1]

    other = [{"email": "Ada@example.org", "password": "another-password"}, USERS[1]]
    changed = upstream.patched(with_account(upstream.settings(kubeflow_users=other, **FIRST), known))["dex"]
    hashes = decoded(found(changed, "Secret", "dex-passwords"))
    assert bcrypt.checkpw(b"another-password", hashes[ADA].encode())
    assert hashes[BOB] == kept[BOB]


def test_without_further_users_nothing_is_added(upstream: Upstream) -> None:
    settings = upstream.settings(**FIRST)
    account = account_for(settings.user, Known(None, None, "client", {"686B5E4CF4F9": HASH}))
    objects = upstream.patched(replace(settings, account=account))["dex"]
    assert decoded(found(objects, "Secret", "dex-passwords")).keys() == {HASH_KEY}
    assert account.sum == account.sum_of_logins
