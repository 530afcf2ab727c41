"""What a scheduler or controller says, beside what was computed: its word comes first, and both are said."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import Finding
from tests.samples.jobs import configured, event, explained, group, member, node, reasons, tfjob

GPU = {"resources": {"requests": {"nvidia.com/gpu": "1"}}}
TAINT = {"key": "dedicated", "effect": "NoSchedule"}
CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: overcommit}, {name: predicates}, {name: proportion}, {name: numa-aware}, {name: nodegroup}]
"""


def waiting(job: Object, message: str, number: int = 0, **rest: Any) -> Object:
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return member(job, number, status={"phase": "Pending", "conditions": [told]}, **rest)


def said(message: str, *around: Object, cpu: str = "1") -> list[Finding]:
    """The findings about a gang of two that fits, of which the scheduler says this."""
    job = tfjob(cpu=cpu)
    pods = [waiting(job, message, number, cpu=cpu) for number in range(2)]
    return list(explained(job, group(job, phase="Inqueue"), *pods, *around).findings)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("0/2 nodes are unavailable: 2 Insufficient nvidia.com/gpu.", "Insufficient"),
        ("0/2 nodes are unavailable: 2 numa info is empty.", "NumaUnknown"),
        ("0/2 nodes are unavailable: 2 node does not satisfy the node group affinity.", "NodeGroup"),
        ("0/2 nodes are unavailable: 2 some rule of a vendor's plugin.", "SaysOtherwise"),
        (
            "0/2 nodes are available: 1 node(s) had untolerated taint {a: b}, 1 Insufficient cpu. preemption: none",
            "Taints",
        ),
        ("queue resource quota insufficient: insufficient cpu", "QueueFull"),
    ],
)
def test_a_scheduler_that_finds_no_node_is_believed_where_there_is_room(message: str, reason: str) -> None:
    found = said(message)
    assert [(item.reason, item.blocks) for item in found] == [(reason, True)]
    assert message.rstrip(".") in found[0].problem.found
    assert "Computed: " in found[0].problem.found


@pytest.mark.parametrize(
    "message", ["3/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 2 minAvailable.", ""]
)
def test_words_that_name_no_cause_change_nothing(message: str) -> None:
    assert [item.reason for item in said(message)] == ["Unexplained"]


def test_what_was_computed_and_said_alike_is_said_once() -> None:
    message = "0/2 nodes are unavailable: 2 Insufficient cpu."
    assert [item.reason for item in said(message, cpu="9")] == ["NoNodeFitsNever"]
    more = " preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    assert [item.reason for item in said(f"{message}{more}", cpu="9")] == ["NoNodeFitsNever"]
    full = [node("n1", cpu="1"), node("n2", cpu="0")]
    assert "Insufficient" not in [item.reason for item in said(message, *full)]
    closed = [node("n1", taints=[TAINT]), node("n2", taints=[TAINT])]
    tainted = "0/2 nodes are unavailable: 2 node(s) had untolerated taint {dedicated: }."
    assert [item.reason for item in said(tainted, *closed)] == ["NoNodeFitsTaint"]


def test_a_contradiction_is_said_with_the_scheduler_first() -> None:
    closed = [node("n1", taints=[TAINT]), node("n2", taints=[TAINT])]
    found = said("0/2 nodes are unavailable: 2 node(s) had volume node affinity conflict.", *closed)
    assert [item.reason for item in found] == ["VolumeElsewhere", "NoNodeFitsTaint"]
    assert "Computed: NoNodeFitsTaint." in found[0].problem.found


def test_plugins_that_are_not_computed_are_never_room() -> None:
    job = tfjob()
    pods = [waiting(job, "") for _ in range(1)]
    found = explained(job, group(job, phase="Inqueue"), *pods, configured(CONF)).findings
    text = " ".join(item.problem.found for item in found)
    for plugin in ("numa-aware (", "nodegroup ("):
        assert plugin in text


def test_without_a_cause_the_last_warning_of_a_controller_is_quoted_with_its_meaning() -> None:
    job = tfjob()
    pods = [member(job, number) for number in range(2)]
    told = event(job, "SetFailed", "exec format error")
    found = explained(job, group(job, phase="Inqueue"), *pods, told)
    assert reasons(found) == ["Unexplained"]
    assert told["message"] in found.findings[0].details[0]
    old = event(job, "FailedCreatePod", "pods is forbidden: exceeded quota")
    assert explained(job, group(job, phase="Inqueue"), *pods, old).findings[0].details == ()
