"""The checks where Kubernetes itself makes the gangs: what F looks at, what G leaves out, and what H calls placed."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.cluster.api.native_gangs import PROGRAMS, NativeGangs
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.gang import gang
from kubeflow_volcano.validators.checks.operator import operator, trainer
from kubeflow_volcano.validators.checks.volcano import aftermath, team_queues, volcano
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.consequences import NOT_NEEDED
from kubeflow_volcano.validators.core.expectations import expect
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.resources import QUEUES
from kubeflow_volcano.validators.reading.permissions import for_gang
from kubeflow_volcano.validators.subjects.gang.native import NATIVE_GANGS
from tests.samples.facts import facts, judged, obj, with_volcano

ON = dict.fromkeys(PROGRAMS, True)
CLOSED = obj("Queue", "default", status={"state": "Closed"})
OF_VOLCANO = (
    *(volcano.queue_open, volcano.gang_plugin, volcano.version_pair),
    *(aftermath.no_stale_podgroups, aftermath.no_broken_gangs, team_queues.team_queues),
)


def known(found: NativeGangs, release: str = "1.9.1") -> Facts:
    return facts(expected=expect(release, gang_scheduler=KUBERNETES.name), known={NATIVE_GANGS: found})


@pytest.mark.parametrize(
    ("found", "status", "reason"),
    [
        (NativeGangs("v1.37.2", served=True, gates=ON), Status.PASS, ""),
        (NativeGangs("v1.37.2", served=True), Status.PASS, ""),
        (NativeGangs("v1.37.2", served=True, gates={**ON, PROGRAMS[0]: False}), Status.FAIL, "GateOff"),
        (NativeGangs("v1.34.1", served=False), Status.FAIL, "NotServed"),
    ],
)
def test_f1_is_about_the_programs_of_kubernetes(found: NativeGangs, status: Status, reason: str) -> None:
    outcome = judged(volcano.components, known(found))
    assert (outcome.status, outcome.reason) == (status, reason or outcome.reason)


def test_what_no_pod_shows_is_said() -> None:
    outcome = judged(volcano.components, known(NativeGangs("v1.37.2", served=True)))
    assert all(name in outcome.message for name in PROGRAMS)


@pytest.mark.parametrize(
    "check",
    OF_VOLCANO,
    ids=lambda item: item.id,
)
def test_what_is_volcanos_alone_is_not_needed(check: Check) -> None:
    outcome = judged(check, known(NativeGangs("v1.37.2", served=True)))
    assert (outcome.status, outcome.reason) == (Status.SKIP, NOT_NEEDED)


@pytest.mark.parametrize("name", [KUBERNETES.name, SCHEDULER_PLUGINS.name])
@pytest.mark.parametrize("check", OF_VOLCANO, ids=lambda item: item.id)
def test_a_volcano_beside_it_is_judged_as_one_alone(check: Check, name: str) -> None:
    beside = expect("1.9.1", gang_scheduler=name, included=[VOLCANO.name])
    alone, mixed = (with_volcano(CLOSED, expected=item) for item in (expect("1.9.1"), beside))
    assert judged(check, mixed) == judged(check, alone)
    assert judged(check, mixed).reason != NOT_NEEDED


def test_gangs_of_another_scheduler_wait_in_no_queue_of_volcano() -> None:
    beside = expect("1.9.1", gang_scheduler=KUBERNETES.name, included=[VOLCANO.name])
    fits, open_ = for_gang([gang.gang_fits, volcano.queue_open], beside)
    assert fits.requires == ("F1",)
    assert open_.reads == volcano.queue_open.reads
    (alone,) = for_gang([volcano.queue_open], expect("1.9.1", gang_scheduler=KUBERNETES.name))
    assert QUEUES not in alone.reads
    assert QUEUES in open_.reads


@pytest.mark.parametrize(("check", "release"), [(operator.gang_flag, "1.9.1"), (trainer.runtimes_gang, "26.03.1")])
def test_no_operator_is_asked_for_groups_that_none_makes(check: Check, release: str) -> None:
    outcome = judged(check, known(NativeGangs("v1.37.2", served=True), release))
    assert (outcome.status, outcome.reason) == (Status.SKIP, "GangNotAsked")
    assert KUBERNETES.title in outcome.message


def test_no_volcano_is_expected() -> None:
    expected = expect("1.9.1", gang_scheduler=KUBERNETES.name)
    assert "volcano" not in expected.components
    assert not any("volcano" in name for name in expected.crds)
    assert "volcano" in expect("1.9.1", gang_scheduler=KUBERNETES.name, included=["volcano"]).components


def group(**status: Any) -> Object:
    return {"spec": KUBERNETES.group_spec(3), "status": status}


def test_a_group_says_by_one_condition_whether_it_is_placed() -> None:
    def of(status: str, reason: str) -> Object:
        condition = {"type": KUBERNETES.placed, "status": status, "reason": reason, "message": "m"}
        return group(conditions=[condition])

    assert KUBERNETES.minimum_of(group()) == 3
    assert (KUBERNETES.phase_of(group()), KUBERNETES.refusal_of(group())) == ("", {})
    placed, waits = of("True", "Scheduled"), of("False", "Unschedulable")
    assert (KUBERNETES.phase_of(placed), KUBERNETES.refusal_of(placed)) == (KUBERNETES.placed, {})
    assert (KUBERNETES.phase_of(waits), KUBERNETES.refusal_of(waits)["message"]) == ("Unschedulable", "m")
