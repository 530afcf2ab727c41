"""Presets of Volcano's scheduler, on the configuration in upstream's manifest of each version that is at hand."""

from __future__ import annotations

import copy
import gzip
from functools import cache
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog.evictions.lacking import Part, actions_of, lacking, plugins_of
from kubeflow_volcano.catalog.evictions.presets import PRESETS, UPSTREAM, preset_with, with_preset
from kubeflow_volcano.cluster.volcano import configuration_of
from kubeflow_volcano.ref import Ref
from kubeflow_volcano.rollout.settings.variables import schema
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import faults
from tests.places import UPSTREAM as ARCHIVES

VERSIONS = sorted(path.name.removeprefix("volcano-").removesuffix(".yaml.gz") for path in ARCHIVES.glob("volcano-*.gz"))
BY_WEIGHT = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}]
"""


@cache
def of_upstream(version: str) -> Any:
    """The configuration in the manifest of that Volcano."""
    text = gzip.decompress((ARCHIVES / f"volcano-{version}.yaml.gz").read_bytes())
    for obj in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if obj and "volcano-scheduler.conf" in (obj.get("data") or {}):
            return yaml.safe_load(obj["data"]["volcano-scheduler.conf"])
    raise AssertionError(version)


def plugins(document: Any) -> dict[str, Any]:
    return {item["name"]: item for item in plugins_of(document)}


def off(document: Any, switch: str) -> set[str]:
    """The plugins that have this switch turned off."""
    return {name for name, item in plugins(document).items() if item.get(switch) is False}


def test_the_variable_has_the_presets() -> None:
    assert schema()["properties"]["volcano_scheduler_preset"]["enum"] == [UPSTREAM, *PRESETS]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_lacks_nothing_keeps_the_rest_and_is_made_once(name: str) -> None:
    before = yaml.safe_load(BY_WEIGHT)
    made = with_preset(name, before, "1.15.1")
    assert before == yaml.safe_load(BY_WEIGHT)
    assert with_preset(name, made, "1.15.1") == made
    for action in PRESETS[name].actions:
        left = {item.part for item in lacking(action, made, "1.15.1")}
        assert left <= ({Part.SHARE} if action == "reclaim" else set())
    assert plugins(made).keys() - {"capacity"} >= {"priority", "gang", "conformance", "overcommit", "predicates"}
    assert with_preset(UPSTREAM, before, "1.15.1") == before


@pytest.mark.parametrize(
    ("name", "actions", "without_admission"),
    [
        ("preemption", "enqueue, allocate, preempt, backfill", {"overcommit", "proportion"}),
        ("reclaim-by-weight", "enqueue, allocate, reclaim, backfill", {"overcommit"}),
        ("reclaim-by-deserved", "enqueue, allocate, reclaim, backfill", {"overcommit"}),
        (
            "preemption-and-reclaim-by-deserved",
            "enqueue, allocate, preempt, reclaim, backfill",
            {"overcommit", "capacity"},
        ),
    ],
)
def test_what_a_preset_changes(name: str, actions: str, without_admission: set[str]) -> None:
    made = with_preset(name, yaml.safe_load(BY_WEIGHT), "1.15.1")
    assert made["actions"] == actions
    assert off(made, "enableJobEnqueued") == without_admission
    assert off(made, "enablePreemptable") == {"gang", "drf"}
    assert off(made, "enableReclaimable") == set()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_free_of_faults_for_the_version(name: str, version: str) -> None:
    if PRESETS[name].sharing == "capacity" and version.startswith("1.8."):
        pytest.skip("1.8 has no plugin capacity, and settings refuse that")
    upstream = of_upstream(version)
    kept = copy.deepcopy(upstream)
    made = with_preset(name, upstream, version)
    assert upstream == kept
    assert {*PRESETS[name].actions} <= {*actions_of(made)}
    assert len({"proportion", "capacity"} & plugins(made).keys()) == 1
    assert PRESETS[name].sharing in {"", *plugins(made)}
    assert not [*faults(configuration_of(Ref("v1", "ConfigMap", "a", "b"), "k", made, ()), version)]


def test_the_other_plugin_of_shares_leaves_no_switches_behind_and_a_missing_one_is_added() -> None:
    capacity = {"name": "capacity", "enableHierarchy": True, "arguments": {"a": 1}}
    made = with_preset("reclaim-by-weight", {"actions": "allocate", "tiers": [{"plugins": [capacity]}]}, "1.15.1")
    assert plugins(made)["proportion"] == {"name": "proportion"}
    assert "capacity" not in plugins(made)
    made = with_preset("reclaim-by-weight", {"actions": "allocate"}, "1.15.1")
    assert plugins(made).keys() == {"priority", "proportion"}
    assert actions_of(made) == ["allocate", "reclaim"]


def test_starving_is_asked_by_reclaim_since_1_11() -> None:
    document = {"actions": "allocate, reclaim", "tiers": [{"plugins": [{"name": "gang", "enableJobStarving": False}]}]}
    parts = {version: {item.part for item in lacking("reclaim", document, version)} for version in ("1.10.0", "1.11.2")}
    assert Part.STARVING not in parts["1.10.0"]
    assert Part.STARVING in parts["1.11.2"]
    assert Part.STARVING in {item.part for item in lacking("reclaim", document, "")}


@pytest.mark.parametrize(
    ("action", "before", "right"),
    [
        ("preempt", BY_WEIGHT, "preemption"),
        ("reclaim", BY_WEIGHT, "reclaim-by-weight"),
        ("reclaim", BY_WEIGHT.replace("proportion", "capacity"), "reclaim-by-deserved"),
        ("preempt", BY_WEIGHT.replace("allocate,", "allocate, reclaim,"), "preemption-and-reclaim-by-weight"),
    ],
)
def test_the_preset_that_has_the_settings_is_named(action: str, before: str, right: str) -> None:
    document = yaml.safe_load(before)
    found = [item for item in lacking(action, document, "1.15.1") if action == "preempt" or item.part is not Part.SHARE]
    assert preset_with(action, document, found) == right
    assert (preset_with(action, document, lacking(action, document, "1.15.1")) == right) is (action == "preempt")
