"""The account in the manifests: one user, one owner, no published secret, a restart when it changes."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.rollout.account.sign_in import HASH_KEY, decoded, dex, first_profile, relying_party
from kubeflow_volcano.rollout.settings.user import Account

ACCOUNT = Account("me@example.org", "team", "pass", "$2b$12$own", "own-client-secret")
PUBLISHED_CLIENT = "pUBnBOY80SnXgjibTYM9ZWNzY2xreNGQok"
PUBLISHED_COOKIE = "7d16fee92f8d11b8940b081b3f8b8acb"
PUBLISHED_HASH = "$2y$12$4K/VkmDd1q1Orb3xAt82zu8gk7Ad6ReFR4LCP9UeYE90NLiN9Df72"

Objects = list[dict[str, Any]]


def secret(name: str, **texts: str) -> dict[str, Any]:
    data = {key.replace("_", "-"): base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "auth"}, "data": data}


def workload(name: str, kind: str = "Deployment", *env_from: str) -> dict[str, Any]:
    main = {"name": name, "envFrom": [{"secretRef": {"name": item}} for item in env_from]}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [main, {"name": "other"}]}}
    return new_object("apps/v1", kind, name, "auth", spec={"template": template})


def dex_objects(*users: dict[str, str], in_secret: bool) -> Objects:
    config = {"issuer": "http://dex", "staticPasswords": list(users), "staticClients": [{"idEnv": "OIDC_CLIENT_ID"}]}
    config_map = new_object("v1", "ConfigMap", "dex", "auth", data={"config.yaml": yaml.safe_dump(config)})
    passwords = {**secret("dex-passwords"), "stringData": {HASH_KEY: PUBLISHED_HASH}}
    secrets = ["dex-oidc-client", "dex-passwords"] if in_secret else ["dex-oidc-client"]
    return [
        config_map,
        {**secret("dex-oidc-client"), "data": secret("x", OIDC=PUBLISHED_CLIENT, ID="kubeflow")["data"]},
        *([passwords] if in_secret else []),
        workload("dex", "Deployment", *secrets),
    ]


def user(**more: str) -> dict[str, str]:
    return {"email": "user@example.com", "username": "user", "userID": "1", **more}


def named(objects: Objects, kind: str, name: str) -> dict[str, Any]:
    (found,) = [obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]
    return found


def config_of(objects: Objects) -> Any:
    return yaml.safe_load(named(objects, "ConfigMap", "dex")["data"]["config.yaml"])


UP_TO_1_8 = dex_objects(user(hash=PUBLISHED_HASH), in_secret=False)
FROM_1_9 = dex_objects(user(hashFromEnv=HASH_KEY), in_secret=True)


@pytest.mark.parametrize("upstream", [UP_TO_1_8, FROM_1_9])
def test_both_layouts_of_upstream_end_in_one(upstream: Objects) -> None:
    objects = copy.deepcopy(upstream)
    dex(objects, ACCOUNT)
    assert config_of(objects)["staticPasswords"] == [
        {"email": "me@example.org", "hashFromEnv": HASH_KEY, "username": "user", "userID": "1"}
    ]
    assert decoded(named(objects, "Secret", "dex-passwords")) == {HASH_KEY: ACCOUNT.password_hash}
    assert "stringData" not in named(objects, "Secret", "dex-passwords")
    containers = named(objects, "Deployment", "dex")["spec"]["template"]["spec"]["containers"]
    assert containers[0]["envFrom"].count({"secretRef": {"name": "dex-passwords"}}) == 1
    assert containers[1] == {"name": "other"}
    assert decoded(named(objects, "Secret", "dex-oidc-client")) == {"OIDC": "own-client-secret", "ID": "kubeflow"}
    text = yaml.safe_dump(objects)
    assert not any(word in text for word in (PUBLISHED_HASH, "user@example.com"))
    again = copy.deepcopy(objects)
    dex(again, ACCOUNT)
    assert again == objects


def test_the_secret_comes_before_the_pod_that_reads_it() -> None:
    objects = copy.deepcopy(UP_TO_1_8)
    dex(objects, ACCOUNT)
    kinds = [obj["kind"] for obj in objects]
    assert kinds.index("Deployment") > max(i for i, kind in enumerate(kinds) if kind == "Secret")


def test_an_own_configuration_keeps_its_own_users() -> None:
    objects = dex_objects({"email": "boss@example.org", "hash": "$2b$12$theirs"}, in_secret=False)
    before = config_of(objects)
    dex(objects, ACCOUNT)
    assert config_of(objects) == before
    assert not any(obj["metadata"]["name"] == "dex-passwords" for obj in objects)


def test_a_new_account_starts_the_pods_anew() -> None:
    def annotations(account: Account) -> list[Any]:
        objects = [*copy.deepcopy(FROM_1_9), workload("authservice", "StatefulSet")]
        dex(objects, account)
        relying_party(objects, account)
        return [
            obj["spec"]["template"]["metadata"]["annotations"]
            for obj in objects
            if obj["kind"] in {"Deployment", "StatefulSet"}
        ]

    other = Account("me@example.org", "team", None, "$2b$12$changed", "own-client-secret")
    assert annotations(ACCOUNT) == annotations(ACCOUNT)
    assert all(one != two for one, two in zip(annotations(ACCOUNT), annotations(other), strict=True))


def test_the_relying_party_loses_its_published_secrets_and_keeps_its_own() -> None:
    published = secret(
        "oauth2-proxy-h675", client_id="kubeflow", client_secret=PUBLISHED_CLIENT, cookie_secret=PUBLISHED_COOKIE
    )
    own = secret("mine", client_secret="of-somebody")  # noqa: S106  made up
    objects = [published, own, workload("oauth2-proxy")]
    before = copy.deepcopy(own)
    relying_party(objects, ACCOUNT)
    assert decoded(published) == {
        "client-id": "kubeflow",
        "client-secret": ACCOUNT.client_secret,
        "cookie-secret": ACCOUNT.cookie_secret,
    }
    assert own == before


def test_the_profile_belongs_to_the_account() -> None:
    profile = new_object(
        "kubeflow.org/v1beta1",
        "Profile",
        "kubeflow-user-example-com",
        spec={"owner": {"kind": "User", "name": "user@example.com"}},
    )
    config = new_object(
        "v1",
        "ConfigMap",
        "default-install-config-9h2h2b6hbk",
        data={"user": "user@example.com", "profile-name": "kubeflow-user-example-com"},
    )
    first_profile([profile, config], ACCOUNT)
    assert profile["metadata"] == {"name": "team"}
    assert profile["spec"] == {"owner": {"kind": "User", "name": "me@example.org"}}
    assert config["data"] == {"user": "me@example.org", "profile-name": "team"}
