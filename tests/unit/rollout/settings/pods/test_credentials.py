"""Logins at registries: their text for programs, and those that would not work."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.pods.credentials import authorizations, docker_config, host_of
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples import refusals

PASSWORD = "tr:icky/p@ss"  # noqa: S105  made up
LOGIN = {"registry": "own.lan:5000", "username": "robot$ci", "password": PASSWORD}


def problems(*logins: Any, **others: Any) -> tuple[Problem, ...]:
    return refusals.problems(image_mirror_credentials=[*logins], **others)


def test_the_text_is_what_kubectl_writes_and_docker_hub_has_the_key_that_programs_look_for() -> None:
    hub = {"registry": "docker.io", "username": "me", "password": "secret"}
    text = docker_config(authorizations(parse({"image_mirror_credentials": [LOGIN, hub]}).credentials))
    assert json.loads(text) == {
        "auths": {
            "own.lan:5000": {"username": "robot$ci", "password": PASSWORD, "auth": "cm9ib3QkY2k6dHI6aWNreS9wQHNz"},
            "https://index.docker.io/v1/": {"username": "me", "password": "secret", "auth": "bWU6c2VjcmV0"},
        }
    }


@pytest.mark.parametrize(
    ("key", "host"),
    [
        ("own.lan:5000", "own.lan:5000"),
        ("own.lan/team", "own.lan"),
        ("https://own.lan/v2/", "own.lan"),
        ("https://index.docker.io/v1/", "docker.io"),
        ("docker.io", "docker.io"),
    ],
)
def test_keys_of_a_docker_configuration_are_about_a_host(key: str, host: str) -> None:
    assert host_of(key) == host


def test_settings_do_not_print_a_password() -> None:
    settings = parse({"image_mirror_credentials": [LOGIN]})
    assert settings.credentials[0].username in repr(settings)
    assert PASSWORD not in repr(settings)


@pytest.mark.parametrize(
    "wrong",
    [
        {**LOGIN, "password": ""},
        {**LOGIN, "registry": "https://own.lan"},
        {**LOGIN, "pasword": PASSWORD},
        {key: value for key, value in LOGIN.items() if key != "username"},
        PASSWORD,
        {**LOGIN, "password": {"of": PASSWORD}},
    ],
)
def test_what_is_no_login_is_refused_without_showing_it(wrong: Any) -> None:
    (problem,) = problems(wrong)
    assert problem.found.startswith("image_mirror_credentials[0]")
    assert PASSWORD not in str(problem)


def test_a_text_instead_of_the_list_is_not_shown_either() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse({"image_mirror_credentials": PASSWORD})
    assert "image_mirror_credentials is invalid" in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_two_logins_for_one_registry_are_refused() -> None:
    (problem,) = problems(LOGIN, {**LOGIN, "username": "other"})
    assert "for own.lan:5000" in problem.found


def test_a_colon_separates_user_and_password() -> None:
    (problem,) = problems({**LOGIN, "username": "a:b"})
    assert "colon" in problem.found


@pytest.mark.parametrize(
    ("registry", "others"),
    [
        ("own.lan:5000", {"image_mirror_registry": "own.lan:5000/all"}),
        ("gcr.io", {"image_mirror_registry": "own.lan:5000/all"}),
        ("own.lan:5000", {"image_mirror_rules": [{"source": "gcr.io", "registry": "own.lan:5000/gcr"}]}),
        ("gcr.io", {"image_mirror_rules": [{"source": "gcr.io/a", "host": "own.lan"}]}),
        ("m.daocloud.io", {"image_mirror_preset": "daocloud"}),
        ("quay.io", {"image_mirror_preset": "daocloud"}),
    ],
)
def test_containerd_gets_no_login_for_a_mirror(registry: str, others: dict[str, Any]) -> None:
    login = {**LOGIN, "registry": registry}
    (problem,) = problems(login, image_mirror_mode="containerd", **others)
    assert re.search(rf"{re.escape(registry)}, .*image_mirror_mode is containerd", problem.found)
    assert "image_mirror_mode: rewrite" in problem.todo


def test_containerd_gets_the_login_of_a_registry_without_a_mirror() -> None:
    rules = [{"source": "gcr.io", "host": "own.lan"}]
    login = {**LOGIN, "registry": "quay.io"}
    settings = parse(
        {"image_mirror_mode": "containerd", "image_mirror_rules": rules, "image_mirror_credentials": [login]}
    )
    assert [item.registry for item in settings.credentials] == ["quay.io"]
