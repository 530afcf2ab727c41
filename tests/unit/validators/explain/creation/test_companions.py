"""What a job needs beside its pods: Services that cannot have their names, and what was refused."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.jobs import event, explained, group, member, reasons, tfjob, vcjob

TOO_LONG = "recommender-two-tower-retrieval-nightly-full-dataset-261127"
REFUSED = 'Error creating: Service "x" is invalid: metadata.name: Invalid value: must be no more than 63 characters'


def running(job: Object) -> list[Object]:
    return [group(job, phase="Running"), member(job, 0, on="n1"), member(job, 1, on="n2")]


def test_a_job_that_runs_without_its_services_has_not_got_what_it_needs() -> None:
    job = tfjob(TOO_LONG)
    answer = explained(job, *running(job), event(job, "FailedCreateService", REFUSED))
    assert [(item.reason, item.blocks) for item in answer.findings] == [("ServiceNameInvalid", True)]
    assert f"{TOO_LONG}-worker-1" in answer.findings[0].problem.found
    assert "at most 54 characters" in answer.findings[0].problem.needed
    assert answer.blocked


def test_a_name_that_cannot_be_is_known_before_anything_is_refused() -> None:
    job = tfjob("mnist.v2")
    assert reasons(explained(job, *running(job))) == ["ServiceNameInvalid"]


def test_a_digit_first_is_a_matter_of_the_api_server() -> None:
    job = tfjob("7b-finetune")
    assert reasons(explained(job, *running(job))) == []
    refused = event(job, "FailedCreateService", "Error creating: a DNS-1035 label must start with a letter")
    assert reasons(explained(job, *running(job), refused)) == ["ServiceNameInvalid"]


def test_a_service_that_is_refused_for_another_reason_is_no_pod() -> None:
    job = tfjob()
    quota = event(job, "FailedCreateService", 'Error creating: services "x" is forbidden: exceeded quota: few')
    answer = explained(job, *running(job), quota)
    assert [(item.reason, item.blocks) for item in answer.findings] == [("CompanionRefused", True)]
    assert "exceeded quota" in answer.findings[0].problem.found


def test_what_the_operator_got_past_is_past() -> None:
    job = tfjob(status={"conditions": [{"type": "Running", "status": "True"}]})
    job["status"] = job["spec"].pop("status")
    assert reasons(explained(job, *running(job), event(job, "FailedCreateService", REFUSED))) == []


@pytest.mark.parametrize(
    ("name", "plugins", "found"),
    [
        ("a" * 60, {}, []),
        ("a" * 63, {"svc": []}, []),
        ("a.b", {"svc": []}, ["ServiceNameInvalid"]),
        ("a.b", {"pytorch": []}, ["ServiceNameInvalid"]),
        ("a.b", {"env": [], "ssh": []}, []),
    ],
)
def test_a_job_of_volcano_has_a_service_where_a_plugin_makes_one(name: str, plugins: Any, found: list[str]) -> None:
    job = vcjob(name, plugins=plugins)
    assert reasons(explained(job, *running(job))) == found


def test_a_plugin_that_fails_keeps_the_group_from_being_made_and_no_restart_helps() -> None:
    job = vcjob(plugins={"svc": []})
    failed = event(job, "PluginError", "Execute plugin when job add failed, err: services is forbidden: no rights")
    answer = explained(job, failed)
    assert reasons(answer) == ["CompanionRefused"]
    assert answer.findings[0].changes == ()


def test_rights_to_create_what_is_beside_pods_are_asked_for_too() -> None:
    job = tfjob()
    answer = explained(job, group(job), access={"training-operator": {"create services": False}})
    assert "ControllerMayNot" in reasons(answer)
