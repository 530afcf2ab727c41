"""Room that pods of lower priority hold, and shares that other queues hold: all settings that are missing, at once."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog.evictions.presets import with_preset
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import Explanation, Finding
from tests.samples.facts import instant
from tests.samples.jobs import configured, explained, group, healthy, member, tfjob

UPSTREAM = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf, enablePreemptable: false}, {name: predicates}, {name: %s}]
"""
FULL = UPSTREAM.replace("{name: overcommit}", "{name: overcommit, enableJobEnqueued: false}")
URGENT = {"priorityClassName": "urgent"}


def priority_class(value: int = 10) -> Object:
    meta = {"name": "urgent", "uid": "uid-urgent", "creationTimestamp": instant(60)}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": value}


def busy(
    priority: int, *around: Object, own: dict[str, Any] | None = None, phase: str = "Inqueue", **rest: Any
) -> Explanation:
    """The answer for a gang of priority 10 on nodes that others of that priority fill."""
    job, other = tfjob(), tfjob("other")
    pods = [member(job, n, spec={"priority": 10}) for n in range(2)]
    others = [member(other, n, on=f"n{n + 1}", cpu="4", spec={"priority": priority}) for n in range(2)]
    gang = group(job, phase=phase, cpu="2", **(own or {}))
    return explained(job, gang, *pods, group(other, phase="Running", cpu="8", **rest), *others, *around)


def found(answer: Explanation, reason: str = "LowerPriorityHolds") -> list[Finding]:
    return [item for item in answer.findings if item.reason == reason]


def informed(answer: Explanation) -> list[tuple[str, bool]]:
    return [(item.reason, item.blocks) for item in found(answer)]


def document(item: Finding) -> Any:
    """The configuration that the command of a finding writes."""
    (command,) = (text for text in item.changes if "configmap" in text)
    return yaml.safe_load(yaml.safe_load(shlex.split(command)[-1])[0]["value"])


def switches(written: Any) -> dict[str, Any]:
    return {item["name"]: item for tier in written["tiers"] for item in tier["plugins"]}


def test_lower_priority_that_stays_for_want_of_an_action_is_told() -> None:
    answer = busy(1)
    assert informed(answer) == [("LowerPriorityHolds", False)]
    (item,) = found(answer)
    assert "priority 10" in item.problem.found
    assert "preempt" in item.problem.todo


def test_equal_priority_another_queue_and_a_scheduler_that_preempts_are_not() -> None:
    assert informed(busy(10)) == []
    assert informed(busy(1, queue="elsewhere")) == []
    told = next(item for item in healthy() if item["kind"] == "ConfigMap")
    of_gangs = told["data"]["volcano-scheduler.conf"].replace("allocate,", "allocate, gangpreempt,")
    assert informed(busy(1, told | {"data": {"volcano-scheduler.conf": of_gangs}})) == []
    text = (UPSTREAM % "proportion").replace("allocate,", "allocate, preempt,")
    around = (configured(text), priority_class())
    assert informed(busy(1, *around, own=URGENT)) == []
    assert informed(busy(1, *around, own=URGENT, priorityClassName="urgent")) == []


def test_all_settings_that_preemption_lacks_are_told_at_once_and_written_by_one_command() -> None:
    told = next(item for item in healthy() if item["kind"] == "ConfigMap")
    around = (told, priority_class())
    (item,) = found(busy(1, *around, own=URGENT, phase="Pending"))
    for word in ("add preempt", "plugin overcommit", "overcommit-factor to 1.3", "plugin proportion", "plugin gang"):
        assert word in item.problem.todo
    assert "volcano_scheduler_preset: preemption," in item.problem.todo
    written = document(item)
    assert written["actions"] == "enqueue, allocate, preempt, backfill"
    assert {name for name, one in switches(written).items() if one.get("enableJobEnqueued") is False} == {
        "overcommit",
        "proportion",
    }
    assert switches(written)["gang"]["enablePreemptable"] is False
    assert informed(busy(1, configured(yaml.safe_dump(written)), priority_class(), own=URGENT, phase="Pending")) == []


def test_a_configuration_without_tiers_and_with_a_last_comma_is_completed() -> None:
    (item,) = found(busy(1, configured('actions: "allocate, "\n'), priority_class(), own=URGENT))
    assert document(item) == {"actions": "allocate, preempt", "tiers": [{"plugins": [{"name": "priority"}]}]}
    assert "gang" not in item.problem.todo


def test_the_switch_that_keeps_a_job_from_starving_is_told_of_a_plugin_that_has_it() -> None:
    text = """\
actions: "enqueue, allocate, preempt"
tiers: [{plugins: [{name: priority, enableJobStarving: false}]}]
"""
    (item,) = found(busy(1, configured(text), priority_class(), own=URGENT))
    assert "plugin priority" in item.problem.todo
    assert "gang" not in item.problem.todo
    assert informed(busy(1, configured(yaml.safe_dump(document(item))), priority_class(), own=URGENT)) == []


def test_the_priority_of_pods_that_their_podgroup_lacks_is_told() -> None:
    text = (UPSTREAM % "proportion").replace("allocate,", "allocate, preempt,")
    (item,) = found(busy(1, configured(text), priority_class()))
    assert "spec.runPolicy.schedulingPolicy.priorityClass" in item.problem.todo
    assert item.changes == ()


def test_pods_that_may_not_go_or_need_not_are_no_victims() -> None:
    job, other = tfjob(workers=1), tfjob("other")
    pod = member(job, spec={"priority": 10})
    held = [member(other, 1, on="n1", cpu="4"), member(other, 2, on="n2", cpu="3"), member(other, 3, on="n2", cpu="1")]
    around = [group(other, 1, phase="Running"), *held, priority_class()]
    (item,) = found(explained(job, group(job, 1, phase="Inqueue", **URGENT), pod, *around))
    assert "if 1 pod" in item.problem.found
    for one in held:
        one["metadata"]["annotations"]["volcano.sh/preemptable"] = "false"
    assert found(explained(job, group(job, 1, phase="Inqueue", **URGENT), pod, *around)) == []


def queue(name: str, **spec: Any) -> Object:
    base = next(item for item in healthy() if item["kind"] == "Queue")
    base["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    return base | {"spec": {"weight": 1, **spec}}


def shared(text: str, *, phase: str = "Pending", owed: dict[str, Any] | None = None, **rich: Any) -> list[Finding]:
    """Queue rich holds all 8 CPUs, two for each pod; a gang of one pod of 2 CPUs waits in queue owed."""
    job, other = tfjob(workers=1, cpu="2"), tfjob("other")
    held = [member(other, n, on=f"n{n % 2 + 1}", cpu="2") for n in range(4)]
    around = [queue("owed", **(owed or {})), queue("rich", **rich), group(other, 1, phase="Running", queue="rich")]
    return found(
        explained(job, group(job, 1, cpu="2", phase=phase, queue="owed"), *around, *held, configured(text)),
        "ShareHeldByOthers",
    )


def test_a_share_by_weight_that_others_hold_is_taken_back_by_reclaim_and_admission() -> None:
    (item,) = shared(UPSTREAM % "proportion")
    assert not item.blocks
    assert [ref.name for ref in item.objects] == ["owed", "rich"]
    written = document(item)
    assert written == with_preset("reclaim-by-weight", yaml.safe_load(UPSTREAM % "proportion"), "1.10.0")
    assert written["actions"] == "enqueue, allocate, reclaim, backfill"
    assert switches(written)["overcommit"]["enableJobEnqueued"] is False
    assert "enableJobEnqueued" not in switches(written)["proportion"]
    assert shared(yaml.safe_dump(written)) == []


@pytest.mark.parametrize(
    ("text", "rich"),
    [
        (UPSTREAM % "proportion", {"reclaimable": False}),
        (UPSTREAM % "proportion", {"weight": 9}),
        (UPSTREAM.replace(", {name: %s}", ""), {}),
        ((FULL % "proportion").replace("allocate,", "allocate, reclaim,"), {}),
    ],
    ids=["not reclaimable", "within its share", "no shares", "all is set"],
)
def test_what_others_may_keep_is_not_taken_back(text: str, rich: dict[str, Any]) -> None:
    assert shared(text, **rich) == []


def test_plugin_capacity_takes_back_what_a_queue_deserves_and_is_told_what_that_is() -> None:
    reclaims = (FULL % "capacity").replace("allocate,", "allocate, reclaim,")
    (item,) = shared(reclaims)
    assert "spec.deserved of queue owed" in item.problem.todo
    (command,) = item.changes
    assert yaml.safe_load(shlex.split(command)[-1]) == [
        {"op": "add", "path": "/spec/deserved", "value": {"cpu": "2000m"}}
    ]
    assert shared(reclaims, owed={"deserved": {"cpu": "2"}}) == []
    assert shared(reclaims, owed={"deserved": {"cpu": "1"}}) == []
    (item,) = shared(UPSTREAM % "capacity", owed={"deserved": {"cpu": "2"}}, deserved={"cpu": "6"})
    assert "add reclaim" in item.problem.todo
    assert "spec.deserved" not in item.problem.todo
    assert shared(UPSTREAM % "capacity", owed={"deserved": {"cpu": "2"}}, deserved={"cpu": "8"}) == []
