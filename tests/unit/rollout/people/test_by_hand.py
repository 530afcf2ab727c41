"""What was added by hand to Dex's configuration is named before a run removes it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.people.by_hand import LIVE, configuration, foreign_connectors


class Cluster:
    """One live object."""

    def __init__(self, live: Object | None) -> None:
        self.live = live

    def get(self, ref: Ref, **_: Any) -> Object | None:
        assert ref == LIVE
        return self.live


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
    cluster: Any = Cluster(live)
    return [str(problem) for problem in foreign_connectors(cluster, {"dex": (config_map(*declared),)})]


def test_a_connector_that_nothing_declares_is_refused_with_both_ways_out() -> None:
    (problem,) = refused(config_map("company", "by-hand"), "company")
    assert "has the connector by-hand, and" in problem
    assert "add it to kubeflow_connectors" in problem
    assert "kubectl -n auth edit configmap dex" in problem


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


def test_runs_without_dex_do_not_ask() -> None:
    cluster: Any = None
    assert [*foreign_connectors(cluster, {"volcano": ()})] == []


def test_a_configuration_is_a_mapping() -> None:
    assert configuration({"data": {"config.yaml": "- a"}}) == {}
    assert configuration(config_map("a")) == {"connectors": [{"id": "a"}]}
