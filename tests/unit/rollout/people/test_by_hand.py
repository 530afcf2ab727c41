"""What was added by hand to Dex's configuration is named before a run removes it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.people.by_hand import configuration, undeclared
from tests.samples.stored import Stored


def config_map(*ids: str, ours: str = "") -> Object:
    config = {"connectors": [{"id": name} for name in ids]} if ids else {"issuer": "a"}
    meta = {"name": "dex", "namespace": "auth", "annotations": {"kubeflow-volcano/connectors": ours}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": {"config.yaml": yaml.safe_dump(config)},
    }


def refused(live: Object | None, *declared: str) -> list[str]:
    cluster: Any = Stored(*([live] if live else ()))
    return [str(problem) for problem in undeclared(cluster, {"dex": (config_map(*declared),)}).problems()]


def test_a_connector_that_nothing_declares_is_refused_with_both_ways_out() -> None:
    (problem,) = refused(config_map("company", "by-hand"), "company")
    assert "connector by-hand, " in problem
    assert "to kubeflow_connectors" in problem
    assert "edit configmap dex" in problem


@pytest.mark.parametrize(
    ("live", "declared"),
    [
        (None, []),
        (config_map(), ["company"]),
        (config_map("company"), ["company"]),
        (config_map("company", "former", ours="company former"), ["company"]),
        ({**config_map(), "data": {"config.yaml": "a: [1"}}, []),
        ({**config_map(), "data": None}, []),
    ],
)
def test_connectors_of_this_inventory_and_of_earlier_ones_are_not(live: Object | None, declared: list[str]) -> None:
    assert refused(live, *declared) == []


def with_users(*users: dict[str, str]) -> Object:
    made = config_map()
    made["data"]["config.yaml"] = yaml.safe_dump({"staticPasswords": list(users)})
    return made


BY_HAND = {"email": "eve@example.org", "hash": "$2y$12$abc"}
FORMER = {"email": "Former@example.org", "hashFromEnv": "DEX_USER_PASSWORD_ABC"}
FIRST = {"email": "me@example.org", "hashFromEnv": "DEX_USER_PASSWORD"}
UPSTREAMS = {"email": "user@example.com", "hash": "$2y$12$published"}


def test_a_user_that_nothing_declares_is_refused_with_both_ways_out() -> None:
    cluster: Any = Stored(with_users(FIRST, BY_HAND, FORMER, UPSTREAMS))
    found = undeclared(cluster, {"dex": (with_users(FIRST),)})
    (problem,) = found.problems()
    assert "user eve@example.org, " in problem.found
    assert "password_hash" in problem.todo
    assert "edit configmap dex" in problem.todo
    assert [*found.leaving_users] == ["Former@example.org"]


@pytest.mark.parametrize("live", [None, with_users(UPSTREAMS), with_users({**BY_HAND, "email": "Me@example.org"})])
def test_users_of_upstream_and_of_this_inventory_are_not(live: Object | None) -> None:
    cluster: Any = Stored(*([live] if live else ()))
    found = undeclared(cluster, {"dex": (with_users(FIRST),)})
    assert [*found.problems()] == []
    assert [*found.leaving_users] == []


def test_runs_without_dex_do_not_ask() -> None:
    cluster: Any = None
    parts: dict[str, tuple[Object, ...]] = {"volcano": ()}
    assert [*undeclared(cluster, parts).problems()] == []


def test_a_configuration_is_a_mapping() -> None:
    assert configuration({"data": {"config.yaml": "- a"}}) == {}
    assert configuration(config_map("a")) == {"connectors": [{"id": "a"}]}
