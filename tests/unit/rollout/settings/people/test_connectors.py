"""Connectors of Dex: what is accepted, and every reason why another one does not work, without its secrets."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.people import connectors
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.settings.variables import schema
from tests.samples import refusals

SECRET = "hunter2-hunter2"  # noqa: S105  of no provider
PUBLISHED: dict[str, Any] = {
    "kubeflow_access": "load-balancer",
    "kubeflow_host": "kf.example.org",
    "kubeflow_tls": "self-signed",
}
OIDC = {"issuer": "https://id.example.org", "clientID": "kubeflow", "clientSecret": SECRET}
LDAP = {"host": "ldap.example.org", "userSearch": {"baseDN": "ou=people", "username": "mail"}}


def connector(kind: str = "oidc", ident: str = "company", **config: Any) -> dict[str, Any]:
    return {"type": kind, "id": ident, "name": ident.title(), "config": config or OIDC}


def problems(*given: Any, **variables: Any) -> list[str]:
    inventory = {"kubeflow_profile": "full", "kubeflow_connectors": [*given]} | variables
    found = [str(problem) for problem in refusals.problems(**inventory)]
    assert not any(SECRET in text for text in found)
    return found


@pytest.mark.parametrize("kind", connectors.REQUIRED)
def test_every_type_is_accepted_with_what_it_needs(kind: str) -> None:
    config: dict[str, Any] = {}
    for path in connectors.REQUIRED[kind]:
        *before, last = path.split(".")
        place = config
        for key in before:
            place = place.setdefault(key, {})
        place[last] = SECRET
    assert problems(connector(kind, "a", **config), **PUBLISHED) == []
    for path in connectors.REQUIRED[kind]:
        first, _, last = path.partition(".")
        lacking = {**config, first: {**config[first], last: ""} if last else ""}
        (problem,) = problems(connector(kind, "a", **lacking), **PUBLISHED)
        assert f"a lacks {path}" in problem


def test_the_schema_has_the_types_whose_keys_are_known() -> None:
    assert schema()["$defs"]["connector"]["properties"]["type"]["enum"] == [*connectors.REQUIRED]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "kubeflow_access is port-forward"),
        ({**PUBLISHED, "kubeflow_access": "node-port"}, "kubeflow_node_port is 0"),
        ({"kubeflow_access": "load-balancer", "kubeflow_tls": "secret", "kubeflow_tls_secret": "a"}, "kubeflow_host"),
    ],
)
def test_a_provider_sends_browsers_back_to_a_known_address(variables: dict[str, Any], words: str) -> None:
    (problem,) = problems(connector(), connector("ldap", "directory", **LDAP), **variables)
    assert "kubeflow_connectors has company" in problem
    assert words in problem
    assert problems(connector("ldap", "directory", **LDAP), **variables) == []


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({}, ""),
        (PUBLISHED, "https://kf.example.org"),
        ({**PUBLISHED, "kubeflow_access": "node-port", "kubeflow_node_port": 31443}, "https://kf.example.org:31443"),
        ({**PUBLISHED, "kubeflow_access": "node-port"}, ""),
        ({**PUBLISHED, "kubeflow_host": "fd00::7"}, "https://[fd00::7]"),
        ({**PUBLISHED, "kubeflow_tls": "none", "kubeflow_secure_cookies": False}, "http://kf.example.org"),
        ({**PUBLISHED, "kubeflow_access": "ingress", "kubeflow_ingress_class": "a"}, "https://kf.example.org"),
    ],
)
def test_the_address_of_browsers(variables: dict[str, Any], url: str) -> None:
    assert parse({"kubeflow_profile": "full", **variables}).access.url == url


def test_contradictions_are_told_at_once() -> None:
    twice = [connector(), connector(), connector(ident="local")]
    text = "\n".join(problems(*twice, **PUBLISHED, kubeflow_profile="training", kubeflow_components=["local-path"]))
    for words in ("names company 2 times", "the id local", "dex is not installed by this inventory"):
        assert words in text


def test_a_misspelt_key_is_recognized() -> None:
    (problem,) = problems(connector("github", "a", clientId="b", clientSecret=SECRET), **PUBLISHED)
    assert "lacks clientID" in problem
    assert "mean clientId?" in problem


@pytest.mark.parametrize("text", ["$NAME", "${NAME}"])
def test_a_secret_is_no_variable_of_dex(text: str) -> None:
    (problem,) = problems(connector(**{**OIDC, "clientSecret": text}), **PUBLISHED)
    assert "clientSecret of company" in problem


def test_the_redirect_uri_follows_from_the_address() -> None:
    right = {**OIDC, "redirectURI": "https://kf.example.org/dex/callback"}
    assert problems(connector(**right), **PUBLISHED) == []
    (problem,) = problems(connector(**{**right, "redirectURI": "https://other/callback"}), **PUBLISHED)
    for word in ("redirectURI of company", "https://kf.example.org/dex/callback"):
        assert word in problem


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (SECRET, "kubeflow_connectors is invalid."),
        ([{**connector(), "type": SECRET}], "kubeflow_connectors[0].type is invalid."),
        ([{**connector(), "id": f"A {SECRET}"}], "kubeflow_connectors[0].id is invalid."),
        ([{**connector(), "config": SECRET}], "kubeflow_connectors[0].config is invalid."),
        ([{**connector(), "secrets": SECRET}], "('secrets' was unexpected)"),
        ([{"type": "oidc", "id": "a", "config": OIDC}], "'name' is a required property"),
    ],
)
def test_messages_about_the_form_have_no_value(given: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse({"kubeflow_connectors": given})
    (problem,) = error.value.problems
    assert words in problem.found
    assert SECRET not in str(problem)


def test_secrets_are_recognized_by_their_key() -> None:
    named = ["clientSecret", "bindPW", "keystonePassword", "a.b.token"]
    assert [path for path in [*named, "userIDKey", "tokenURL", "clientID"] if connectors.is_secret(path)] == named


def test_settings_do_not_show_the_configuration() -> None:
    assert SECRET not in repr(parse({"kubeflow_profile": "full", "kubeflow_connectors": [connector()], **PUBLISHED}))
