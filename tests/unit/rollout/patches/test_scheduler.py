"""The scheduler's configuration, queues and priority classes of the inventory."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog.evictions.lacking import actions_of
from kubeflow_volcano.catalog.evictions.presets import PRESETS, with_preset
from kubeflow_volcano.catalog.read import load_component, load_release
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.volcano import CONFIGURATION, configure_scheduling
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.settings.volcano import SchedulingSettings, validate_scheduling

UPSTREAM = 'actions: "enqueue, allocate, backfill"\ntiers:\n- plugins:\n  - name: priority\nmetrics:\n  type: none\n'
TIERS = (
    {"plugins": [{"name": "priority"}, {"name": "gang", "enablePreemptable": False}]},
    {
        "plugins": [
            {"name": "predicates"},
            {"name": "binpack", "arguments": {"binpack.weight": 5}},
            {"name": "capacity"},
        ]
    },
)


def configuration() -> Object:
    meta = {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {CONFIGURATION: UPSTREAM}}


def put(**asked: Any) -> list[Object]:
    objects = [configuration()]
    configure_scheduling(objects, SchedulingSettings(**asked))
    return objects


def strange(version: str = "1.10.0", scheduler: str = "volcano", **asked: Any) -> str:
    volcano = load_component("volcano", version)
    return "\n".join(item.found for item in validate_scheduling(SchedulingSettings(**asked), volcano, scheduler))


def test_nothing_asked_leaves_upstream_s_text_as_it_is() -> None:
    assert put() == [configuration()]


def test_actions_and_tiers_take_the_place_of_upstream_s_and_the_rest_stays() -> None:
    (found,) = put(actions=("enqueue", "allocate", "preempt"), tiers=TIERS)
    parsed = yaml.safe_load(found["data"][CONFIGURATION])
    assert parsed["actions"] == "enqueue, allocate, preempt"
    assert parsed["tiers"] == list(TIERS)
    assert parsed["metrics"] == {"type": "none"}
    again = [found]
    configure_scheduling(again, SchedulingSettings(actions=("enqueue", "allocate", "preempt"), tiers=TIERS))
    assert yaml.safe_load(again[0]["data"][CONFIGURATION]) == parsed


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_written_into_the_manifest_and_stays_the_same(preset: str) -> None:
    objects = put(preset=preset)
    (found,) = objects
    parsed = yaml.safe_load(found["data"][CONFIGURATION])
    assert parsed == with_preset(preset, yaml.safe_load(UPSTREAM), "")
    assert {*PRESETS[preset].actions} <= {*actions_of(parsed)}
    assert parsed["metrics"] == {"type": "none"}
    configure_scheduling(objects, SchedulingSettings(preset=preset))
    assert yaml.safe_load(found["data"][CONFIGURATION]) == parsed


@pytest.mark.parametrize(
    ("version", "asked", "words"),
    [
        ("1.10.0", {"actions": ("enqueue", "allocate")}, ("preemption", "volcano_scheduler_actions")),
        ("1.10.0", {"tiers": TIERS}, ("preemption", "volcano_scheduler_tiers")),
        ("1.8.2", {"preset": "reclaim-by-deserved"}, ("reclaim-by-deserved", "1.8.2", "capacity")),
    ],
)
def test_a_preset_that_is_contradicted_or_of_another_version_is_refused(
    version: str, asked: dict[str, Any], words: tuple[str, ...]
) -> None:
    found = strange(version, **{"preset": "preemption", **asked})
    assert "\n" not in found
    assert all(word in found for word in words)
    assert strange(version, preset="preemption") == ""


def test_manifests_without_a_configuration_are_refused_where_one_is_asked_for() -> None:
    with pytest.raises(InvalidInput, match="without a ConfigMap"):
        configure_scheduling([], SchedulingSettings(actions=("enqueue", "allocate")))


def scheduler(*arguments: str) -> Object:
    pod = {"containers": [{"name": "volcano-scheduler", "args": [*arguments]}]}
    meta = {"name": "volcano-scheduler", "namespace": "volcano-system"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"template": {"spec": pod}}}


def test_flags_come_once_and_before_the_redirection_that_ends_upstream_s_arguments() -> None:
    objects = [scheduler("--logtostderr", "--schedule-period=1s", "-v=3", "2>&1")]
    asked = SchedulingSettings(flags={"schedule-period": "200ms", "minimum-feasible-nodes": 50})
    configure_scheduling(objects, asked)
    wanted = scheduler("--minimum-feasible-nodes=50", "--schedule-period=200ms", "--logtostderr", "-v=3", "2>&1")
    assert objects == [wanted]
    configure_scheduling(objects, asked)
    assert objects == [wanted]
    with pytest.raises(InvalidInput, match="Deployment volcano-scheduler"):
        configure_scheduling([], asked)


@pytest.mark.parametrize(
    "flags",
    [
        {"schedule-period": "10ms"},
        {"schedule-period": "2m"},
        {"schedule-period": 1},
        {"percentage-nodes-to-find": 101},
        {"minimum-feasible-nodes": 0},
        {"leader-elect": "false"},
        {"--schedule-period": "1s"},
    ],
)
def test_flags_that_are_none_or_do_harm_are_refused(flags: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="volcano_scheduler_flags"):
        parse({"volcano_scheduler_flags": flags})


@pytest.mark.parametrize("period", ["50ms", "200ms", "1s", "60s"])
def test_periods_are_durations_as_go_writes_them(period: str) -> None:
    assert parse({"volcano_scheduler_flags": {"schedule-period": period}}).scheduling.flags["schedule-period"] == period


def test_queues_have_units_and_defaults_as_volcano_takes_them() -> None:
    asked = (
        {"name": "team", "parent": "org", "weight": 3, "capability": {"cpu": 4, "nvidia.com/gpu": "2"}},
        {"name": "org", "guarantee": {"cpu": "1"}, "reclaimable": False},
    )
    _, team, org = put(queues=asked)
    assert org["spec"] == {"weight": 1, "reclaimable": False, "guarantee": {"resource": {"cpu": "1"}}}
    assert team["spec"] == {"weight": 3, "parent": "org", "capability": {"cpu": "4", "nvidia.com/gpu": "2"}}


def test_every_field_of_a_queue_reaches_it() -> None:
    groups = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["gpu"]}}
    asked = {"name": "a", "state": "open", "affinity": groups, "priority": 3, "dequeueStrategy": "fifo"}
    parse({"kubeflow_release": "26.03", "volcano_queues": [asked]})
    (_, queue) = put(queues=(asked,))
    assert queue["spec"] == {"weight": 1, "affinity": groups, "priority": 3, "dequeueStrategy": "fifo"}
    with pytest.raises(InvalidInput, match="volcano_queues"):
        parse({"volcano_queues": [{"name": "a", "affinity": {"nodeGroup": {}}}]})


def test_priority_classes_have_kubernetes_names() -> None:
    asked = ({"name": "urgent", "value": 1000, "preemption_policy": "Never", "description": "now"},)
    (_, found) = put(priority_classes=asked)
    assert found == {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
        "globalDefault": False,
        "preemptionPolicy": "Never",
        "description": "now",
    }


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"actions": ("enqueue", "alocate")}, "the action alocate, which Volcano 1.10.0 does not support"),
        ({"actions": ("enqueue", "backfill")}, "has no allocate"),
        ({"actions": ("enqueue", "allocate", "gangpreempt")}, "the action gangpreempt"),
        ({"actions": ("enqueue", "allocate", "allocate")}, "names allocate twice"),
        ({"tiers": ({"plugins": [{"name": "gnag"}]},)}, "the plugin gnag"),
        ({"tiers": ({"plugins": [{"name": "gang", "enableJobRedy": True}]},)}, "enableJobRedy of plugin gang"),
        ({"tiers": (*TIERS, {"plugins": [{"name": "gang"}]})}, "names gang twice"),
        ({"tiers": (*TIERS, {"plugins": [{"name": "proportion"}]})}, "both capacity and proportion"),
        (
            {"tiers": ({"plugins": [{"name": "drf", "enableHierarchy": True}, {"name": "proportion"}]},)},
            "proportion and drf with enableHierarchy",
        ),
        ({"tiers": ({"plugins": [{"name": "priority"}]},)}, "volcano_scheduler_tiers has no plugin gang"),
        ({"tiers": ({"plugins": [{"name": "gang", "enableJobReady": False}]},)}, "enableJobReady: false"),
        ({"queues": ({"name": "a"}, {"name": "a"})}, "names a twice"),
        ({"queues": ({"name": "a", "parent": "b"},)}, "the parent of queue a is b, which does not exist"),
        ({"queues": ({"name": "a", "parent": "b"}, {"name": "b", "parent": "a"})}, "queue a is its own ancestor"),
        ({"queues": ({"name": "a", "dequeueStrategy": "fifo"},)}, "dequeueStrategy of queue a, which Volcano 1.10.0"),
        ({"queues": ({"name": "a", "wieght": 5},)}, "wieght of queue a, which Volcano 1.10.0 does not support"),
        ({"queues": ({"name": "a", "state": "open"},), "of_profiles": ("a",)}, "kubeflow_profiles: state of queue a"),
        ({"queues": ({"name": "a", "capability": {"cpu": "four"}},)}, "queue a:"),
        (
            {"queues": ({"name": "a", "capability": {"cpu": "500m"}, "guarantee": {"cpu": 1}},)},
            "more cpu as guarantee than as capability",
        ),
        (
            {"priority_classes": tuple({"name": name, "value": 1, "global_default": True} for name in "ab")},
            "has 2 defaults: a, b",
        ),
    ],
)
def test_what_that_volcano_does_not_know_or_does_not_go_together(asked: dict[str, Any], text: str) -> None:
    assert text in strange(**asked)


def test_what_is_right_is_not_strange() -> None:
    asked: dict[str, Any] = {
        "actions": ("enqueue", "allocate", "preempt", "reclaim", "backfill"),
        "tiers": TIERS,
        "queues": ({"name": "a", "parent": "root", "capability": {"cpu": "4"}, "guarantee": {"cpu": "500m"}},),
        "priority_classes": ({"name": "urgent", "value": 5},),
    }
    assert strange(**asked) == ""
    assert re.search("parent of .* a, .*1.8.2", strange("1.8.2", **asked))
    assert re.search("priority of .* a, .*1.8.2", strange("1.8.2", queues=({"name": "a", "priority": 5},)))
    assert strange(queues=({"name": "a", "priority": 5},)) == ""
    assert strange("1.14.4", queues=({"name": "a", "dequeueStrategy": "fifo"},)) == ""
    assert re.search("plugin capacity, .*1.8.2", strange("1.8.2", **asked))
    assert strange("1.15.1", actions=("enqueue", "allocate", "gangpreempt")) == ""
    assert strange(scheduler="none", tiers=({"plugins": [{"name": "priority"}]},)) == ""


def test_an_inventory_is_told_of_all_mistakes_at_once() -> None:
    wrong = {
        "volcano_scheduler_actions": ["enqueue", "allocate", "shufle"],
        "volcano_queues": [{"name": "a", "parent": "b"}],
    }
    with pytest.raises(InvalidInput) as caught:
        parse(wrong)
    found = [problem.found for problem in caught.value.problems]
    assert len(found) == 2
    with pytest.raises(InvalidInput, match="volcano_queues"):
        parse({"volcano_queues": [{"name": "root"}]})


def test_settings_hold_what_was_asked_for() -> None:
    settings = parse({"kubeflow_release": load_release("1.9.1").version, "volcano_queues": [{"name": "a"}]})
    assert settings.scheduling.queues == ({"name": "a"},)


def test_what_gangs_work_without_is_not_refused() -> None:
    assert strange(actions=("allocate", "backfill"), tiers=({"plugins": [{"name": "gang"}]},)) == ""
