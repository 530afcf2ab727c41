"""The answer as a document and as text."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest

from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.explain.rendering import document, render
from tests.samples.jobs import event, explained, group, healthy, member, reasons, tfjob

SCHEMA = json.loads(files("kubeflow_volcano.validators").joinpath("schemas/explanation.v1.json").read_text("utf-8"))


def test_the_document_is_as_its_schema_says_and_the_text_has_all_of_it() -> None:
    job = tfjob(workers=3, cpu="5")
    said = event(job, "FailedCreatePod", "exceeded quota: pods")
    told = document(explained(job, group(job, 3), said))
    jsonschema.validate(told, SCHEMA)
    text = render(told)
    assert text.startswith("TFJob team-a/mnist is not starting: 2 causes.\n")
    assert "PodGroup mnist (phase Pending), minimum 3 pods, queue default. Pods: 3 wanted, 0 created" in text
    for item in told["findings"]:
        assert item["reason"] in text
        for key in ("found", "needed", "todo"):
            assert item[key].split()[0] in text
    assert "Last messages of schedulers and controllers" in text
    assert max(len(line) for line in text.splitlines()) <= 120


def test_a_job_that_runs_is_told_in_one_sentence() -> None:
    job = tfjob(workers=1)
    told = document(explained(job, group(job, 1, phase="Running"), member(job, 0, on="n1")))
    jsonschema.validate(told, SCHEMA)
    assert render(told).startswith("TFJob team-a/mnist has started.\n")
    assert not told["blocked"]


def test_secrets_and_terminal_sequences_of_events_do_not_come_through() -> None:
    job = tfjob()
    said = event(job, "FailedCreatePod", "\x1b[31mwebhook says password=hunter2 is wrong")
    told = document(explained(job, group(job, phase="Inqueue"), said))
    assert "hunter2" not in json.dumps(told)
    assert "\x1b" not in render(told)


def test_what_a_job_says_of_itself_is_text_for_a_terminal_too() -> None:
    job = tfjob()
    waiting = group(job, phase="Inq\x1b[2Jueue")
    waiting["spec"]["queue"] = "q\x1b]0;owned\x07"
    shown = render(document(explained(job, waiting, event(job, "FailedCreatePod", "a\x1b[31m\r\u202eb"))))
    assert set(shown).isdisjoint("\x1b\x07\r\u202e")
    assert "Inq\\x1b[2Jueue" in shown
    assert "a\\x1b[31m\\r\\u202eb" in shown


@pytest.mark.parametrize("resource", ["nodes", "queues.scheduling.volcano.sh", "pods", "persistentvolumeclaims"])
def test_what_may_not_be_read_is_told_and_nothing_is_made_up(resource: str) -> None:
    missing = {resource: Unread("Forbidden", f"you may not list {resource}.", "have it granted:\n- {rule}")}
    job = tfjob(template={"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]})
    answer = explained(job, group(job), unread=missing)
    assert "Unexplained" not in reasons(answer)
    told = document(answer)
    jsonschema.validate(told, SCHEMA)
    text = render(told)
    assert f"{missing[resource].message} have it granted:" in text
    assert "    - {rule}" in text


def test_a_right_that_is_missing_is_told_once() -> None:
    missing = {"nodes": Unread("Forbidden", "you may not list nodes.", "have it granted.")}
    job = tfjob()
    assert len(explained(job, group(job), unread=missing).unread) == 1


def test_what_is_not_in_the_way_stands_behind_what_is() -> None:
    operator = next(item for item in healthy() if item["metadata"]["name"] == "training-operator")
    operator["spec"]["template"]["spec"]["containers"][0]["args"] = []
    job = tfjob(workers=1, cpu="9")
    text = render(document(explained(job, operator, member(job, 0, cpu="9", spec={"schedulerName": "x"}))))
    assert text.index("1. ") < text.index("- GangOff")


def test_a_job_just_created_is_given_some_seconds() -> None:
    job = tfjob()
    job["metadata"]["creationTimestamp"] = "2027-01-15T07:59:58Z"
    answer = explained(job, group(job))
    assert [item.reason for item in answer.findings] == ["Young"]
    assert not answer.blocked
