"""Users with a password: what is accepted, and every reason why another one does not work, without their secrets."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples import refusals

SECRET = "hunter2-hunter2"  # noqa: S105  of nobody
HASH = "$2y$12$4K/VkmDd1q1Orb3xAt82zu8gk7Ad6ReFR4LCP9UeYE90NLiN9Df72"


def user(email: str = "ada@example.org", **secrets: Any) -> dict[str, Any]:
    return {"email": email, **(secrets or {"password": SECRET})}


def problems(*given: Any, **variables: Any) -> list[str]:
    inventory = {"kubeflow_profile": "full", "kubeflow_users": [*given]} | variables
    found = [str(problem) for problem in refusals.problems(**inventory)]
    assert not any(SECRET in text or HASH in text for text in found)
    return found


@pytest.mark.parametrize("secrets", [{"password": SECRET}, {"password_hash": HASH}, {"password": "ä" * 36}])
def test_a_password_or_its_hash_is_accepted(secrets: dict[str, str]) -> None:
    assert problems(user(**secrets), user("Bob@example.org")) == []


@pytest.mark.parametrize(
    ("secrets", "words"),
    [
        ({"password": ""}, "ada@example.org has neither password nor password_hash"),
        ({"password": SECRET, "password_hash": HASH}, "has a password and a password_hash"),
        ({"password": "12341234"}, "the password that upstream publishes"),
        ({"password": "ä" * 37}, "the password of ada@example.org in kubeflow_users has 74 bytes"),
    ],
)
def test_secrets_that_do_not_work_are_refused(secrets: dict[str, str], words: str) -> None:
    (problem,) = problems(user(**secrets))
    assert words in problem


def test_contradictions_are_told_at_once() -> None:
    given = [user(), user("ADA@example.org"), user("me@example.org")]
    text = "\n".join(problems(*given, kubeflow_user_email="Me@example.org", kubeflow_components=["local-path"]))
    for words in ("names ada@example.org 2 times", "me@example.org, the first user", "dex is not installed"):
        assert words in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (SECRET, "kubeflow_users is invalid."),
        ([user(password="short")], "kubeflow_users[0].password is invalid."),  # noqa: S106  refused
        ([user(password_hash=SECRET)], "kubeflow_users[0].password_hash is invalid."),
        ([user(password_hash=HASH.replace("$12$", "$04$"))], "kubeflow_users[0].password_hash is invalid."),
        ([user("ada")], "kubeflow_users[0].email is invalid."),
        ([user(hash=SECRET)], "('hash' was unexpected)"),
        ([{"password": SECRET}], "'email' is a required property"),
    ],
)
def test_messages_about_the_form_have_no_value(given: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse({"kubeflow_users": given})
    (problem,) = error.value.problems
    assert words in problem.found
    assert SECRET not in str(problem)


def test_settings_do_not_show_secrets() -> None:
    shown = repr(parse({"kubeflow_profile": "full", "kubeflow_users": [user(), user("b@c.d", password_hash=HASH)]}))
    assert SECRET not in shown
    assert HASH not in shown
