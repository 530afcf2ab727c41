"""A1 and A4 on literal facts."""

from __future__ import annotations

import pytest

from validators.checks.reach import api_server, nodes
from validators.facts import Unread
from validators.model import CannotJudgeError, Status
from validators.testing import facts, node, pod

OK = ("ok", "ok", "ok")


def test_a_ready_server_inside_the_range_passes_and_is_named() -> None:
    outcome = api_server(facts(ready_answers=OK))
    assert (outcome.status, [str(item) for item in outcome.objects]) == (Status.PASS, ["Service default/kubernetes"])


def test_one_bad_answer_of_three_fails() -> None:
    outcome = api_server(facts(ready_answers=("ok", "500 etcd failed", "ok")))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NotReady")
    assert "etcd failed" in outcome.message


@pytest.mark.parametrize(("version", "status"), [("v1.29.0", "pass"), ("v1.28.15", "fail"), ("v1.35.4+k3s1", "pass")])
def test_the_server_version_is_held_against_the_release(version: str, status: str) -> None:
    outcome = api_server(facts(ready_answers=OK, server_version=version))
    assert outcome.status == status
    assert version in outcome.message


def test_readyz_that_may_not_be_asked_cannot_be_judged() -> None:
    with pytest.raises(CannotJudgeError, match="no"):
        api_server(facts(unread={"readyz": Unread("Forbidden", "no", "ask")}))


def test_healthy_nodes_pass_and_simulated_ones_are_told() -> None:
    simulated = node("gpu-1", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    outcome = nodes(facts(node(), simulated))
    assert outcome.status is Status.PASS
    assert "1 of them simulated" in outcome.message


def test_a_node_under_pressure_fails_with_its_condition() -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]}
    outcome = nodes(facts(node(), node("n2", status=status)))
    assert (outcome.status, outcome.reason, [item.name for item in outcome.objects]) == (
        Status.FAIL,
        "DiskPressure",
        ["n2"],
    )


def test_no_node_at_all_fails() -> None:
    assert nodes(facts()).reason == "NoNodes"


def test_a_cordoned_node_is_a_warning_and_only_cordoned_nodes_a_failure() -> None:
    cordoned = node("n2", spec={"unschedulable": True})
    assert nodes(facts(node(), cordoned)).reason == "Cordoned"
    assert nodes(facts(cordoned)).reason == "AllCordoned"


def test_pods_that_have_ended_take_no_room_and_running_ones_do() -> None:
    hungry = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1900m"}}}], "nodeName": "n1"}
    running = pod("default/big", spec=hungry)
    ended = pod("default/big", spec=hungry, status={"phase": "Succeeded"})
    assert nodes(facts(node(), running)).reason == "NoRoom"
    assert nodes(facts(node(), ended)).status is Status.PASS
