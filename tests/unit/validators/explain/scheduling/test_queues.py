"""What the queue says to a gang."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.facts import instant
from tests.samples.jobs import configured, event, explained, group, healthy, hooks, member, reasons, tfjob


def queue(name: str = "default", state: str = "Open", **spec: Any) -> Object:
    found = next(item for item in healthy() if item["kind"] == "Queue")
    found["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    return found | {"spec": {"weight": 1, **spec}, "status": {"state": state}}


def test_a_queue_that_does_not_exist_is_named_with_those_that_do() -> None:
    job = tfjob()
    answer = explained(job, group(job, phase="", queue="gpu"))
    assert reasons(answer) == ["QueueMissing"]
    assert "there are default" in answer.findings[0].problem.needed


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown"])
def test_a_queue_that_is_not_open_takes_no_new_pods(state: str) -> None:
    job = tfjob()
    answer = explained(job, group(job), queue(state=state))
    assert reasons(answer) == [f"Queue{state}"]
    assert "kubectl patch queues.scheduling.volcano.sh default" in answer.findings[0].changes[0]


def test_the_admission_of_volcano_does_not_say_the_same_again() -> None:
    job = tfjob()
    dump = (
        'Error creating pods: [err: &errors.StatusError{Status:"Failure", Message:"admission webhook '
        '\\"validatepod.volcano.sh\\" denied the request: queue is Closed;", Reason:""}]'
    )
    said = event(job, "FailedCreate", dump)
    assert reasons(explained(job, group(job), queue(state="Closed"), said)) == ["QueueClosed"]


def test_a_queue_that_was_opened_again_leaves_the_pause_of_the_controller() -> None:
    job = tfjob()
    dump = 'admission webhook "validatepod.volcano.sh" denied the request: queue `default` status is `Closed`;'
    answer = explained(
        job, group(job, phase="Inqueue"), event(job, "FailedCreate", dump), hooks("validatepod.volcano.sh")
    )
    assert reasons(answer) == ["NotTriedAgain"]
    for word in ("0 of 2", dump, "3 times", instant(5), "queue default was opened"):
        assert word in answer.findings[0].problem.found


def test_what_is_in_a_closed_queue_goes_on() -> None:
    job = tfjob()
    pods = [member(job, 0, on="n1"), member(job, 1, on="n2")]
    answer = explained(job, group(job, phase="Running"), *pods, queue(state="Closed"))
    assert [(item.reason, item.blocks) for item in answer.findings] == [("QueueClosed", False)]


def volcano_at(version: str) -> Object:
    """The scheduler of another version."""
    found = next(item for item in healthy() if item["metadata"]["name"] == "volcano-scheduler")
    found["spec"]["template"]["spec"]["containers"][0]["image"] = f"docker.io/volcanosh/vc-scheduler:v{version}"
    return found


def test_from_1_12_on_pods_of_a_queue_that_is_not_open_get_no_node() -> None:
    job = tfjob()
    around = [group(job, phase="Inqueue"), *(member(job, number) for number in range(2)), queue(state="Closed")]
    for version, blocks in (("1.11.2", False), ("1.12.2", True), ("1.15.1", True)):
        found = explained(job, *around, volcano_at(version)).findings
        assert [item.blocks for item in found if item.reason == "QueueClosed"] == [blocks], version


def test_without_the_plugins_that_read_it_a_capability_limits_nobody() -> None:
    job = tfjob(workers=4)
    around = [
        group(job, 4, cpu="4"),
        queue(capability={"cpu": "3"}),
        queue("other", guarantee={"resource": {"cpu": "7"}}),
    ]
    text = "actions: enqueue, allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}%s]}]"
    assert "OverCapability" in reasons(explained(job, *around, configured(text % ", {name: proportion}")))
    assert reasons(explained(job, *around, configured(text % ""))) == ["Unexplained"]


def test_an_admitted_gang_does_not_wait_for_what_is_promised_to_others() -> None:
    job, other = tfjob(workers=2), tfjob("other")
    around = [group(other, 1, phase="Inqueue", cpu="3"), queue(capability={"cpu": "4"})]
    assert reasons(explained(job, group(job, 2, cpu="2"), *around)) == ["QueueFull"]
    pods = [member(job, number) for number in range(2)]
    assert "QueueFull" not in reasons(explained(job, group(job, 2, phase="Inqueue", cpu="2"), *pods, *around))
    assert "QueueFull" not in reasons(explained(job, group(job, 2), *around)), "without minResources it is admitted"


def test_a_gang_larger_than_its_queue_never_starts() -> None:
    job = tfjob(workers=4)
    answer = explained(job, group(job, 4, cpu="4"), queue(capability={"cpu": "3"}))
    assert reasons(answer) == ["OverCapability"]
    assert "requests 4, 0 of 3" in answer.findings[0].problem.found
    assert "never starts" in answer.findings[0].problem.todo


def test_a_queue_that_others_fill_names_who_holds_what() -> None:
    job, other = tfjob(), tfjob("other")
    around = [group(other, phase="Running"), member(other, 0, on="n1"), member(other, 1, on="n1")]
    answer = explained(job, group(job, cpu="2"), queue(capability={"cpu": "3"}), *around)
    assert reasons(answer) == ["QueueFull"]
    assert answer.findings[0].details == ("PodGroup team-a/other holds 2 cpu",)
    assert "QueueFull" not in reasons(explained(job, group(job, cpu="2"), queue(capability={"cpu": "4"}), *around))


def test_what_is_promised_to_an_admitted_gang_counts_before_its_pods_are_placed() -> None:
    job, other = tfjob(), tfjob("other")
    answer = explained(job, group(job, cpu="2"), queue(capability={"cpu": "3"}), group(other, cpu="2", phase="Inqueue"))
    assert reasons(answer) == ["QueueFull"]


def test_without_action_enqueue_nothing_is_promised() -> None:
    job, other = tfjob(), tfjob("other")
    text = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: proportion}]}]"
    around = [queue(capability={"cpu": "3"}), group(other, cpu="2", phase="Inqueue"), configured(text)]
    assert reasons(explained(job, group(job, cpu="2"), *around)) == ["Unexplained"]


def tree() -> list[Object]:
    """A queue org of 3 CPUs with the queues a and b below it."""
    return [
        queue("root"),
        queue("org", parent="root", capability={"cpu": "3"}),
        queue("a", parent="org"),
        queue("b", parent="org"),
    ]


def scheduler(version: str, *, hierarchy: bool) -> list[Object]:
    """Volcano's scheduler of a version with plugin capacity."""
    deployment = next(item for item in healthy() if item["metadata"]["name"] == "volcano-scheduler")
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = f"volcanosh/vc-scheduler:{version}"
    plugins = [{"name": "gang"}, {"name": "predicates"}, {"name": "capacity", "enableHierarchy": hierarchy}]
    text = json.dumps({"actions": "enqueue, allocate", "tiers": [{"plugins": plugins}]})
    found = next(item for item in healthy() if item["kind"] == "ConfigMap")
    return [deployment, found | {"data": {"volcano-scheduler.conf": text}}]


def test_a_queue_above_holds_for_all_below_where_the_scheduler_heeds_it() -> None:
    job, other = tfjob(), tfjob("other")
    around = [group(other, phase="Running", queue="b"), member(other, 0, on="n1"), member(other, 1, on="n2")]
    around += tree()
    asked = group(job, cpu="2", queue="a")
    answer = explained(job, asked, *around, *scheduler("v1.11.0", hierarchy=True))
    assert reasons(answer) == ["QueueFull"]
    assert "queue org" in answer.findings[0].problem.found
    for deaf in (scheduler("v1.11.0", hierarchy=False), scheduler("v1.10.0", hierarchy=True)):
        assert "QueueFull" not in reasons(explained(job, asked, *around, *deaf))


def test_a_queue_with_others_below_it_places_nobody() -> None:
    job = tfjob()
    asked = group(job, queue="org")
    answer = explained(job, asked, *tree(), *scheduler("v1.12.0", hierarchy=True))
    assert reasons(answer) == ["QueueNotLeaf"]
    assert " a, b" in answer.findings[0].problem.found
    assert "QueueNotLeaf" not in reasons(explained(job, asked, *tree()))


def test_zero_cpu_is_no_limit_and_zero_gpus_are_none() -> None:
    job = tfjob()
    assert "OverCapability" not in reasons(explained(job, group(job, cpu="2"), queue(capability={"cpu": "0"})))
    answer = explained(job, group(job, minResources={"nvidia.com/gpu": "1"}), queue(capability={"nvidia.com/gpu": "0"}))
    assert reasons(answer)[0] == "OverCapability"


def test_names_of_quotas_in_min_resources_are_no_resources_of_nodes() -> None:
    job, other = tfjob(), tfjob("other")
    quotas = {"cpu": "2", "requests.cpu": "2", "pods": "2", "count/pods": "2"}
    admitted = group(other, 2, phase="Inqueue", minResources=quotas)
    assert reasons(explained(job, group(job, minResources=quotas), admitted)) == ["Unexplained"]


def test_room_that_is_kept_for_gangs_admitted_before() -> None:
    """8 CPUs with overcommit 1.2 are 9.6; 8 are promised to another gang, so that 2 more are too many."""
    job, other = tfjob(), tfjob("other", workers=8)
    answer = explained(job, group(job, cpu="2"), group(other, 8, cpu="8", phase="Inqueue"))
    assert reasons(answer) == ["ReservedByOthers"]
    assert "8 of 9.6 are promised" in answer.findings[0].problem.found
    less = explained(job, group(job, cpu="2"), group(other, 7, cpu="7", phase="Inqueue"))
    assert reasons(less) == ["Unexplained"]
