"""What dry runs are refused with."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.explain.manifest.rules.admission import OBJECTS, PODS
from kubeflow_volcano.validators.reading.dry_runs import Answer
from tests.samples.manifests import findings, made, reasons, tfjob, vcjob

PLACE = ("jobs.yaml", 1, ())
TEMPLATE = ("spec", "tfReplicaSpecs", "Worker", "template")
INJECT: Object = {"metadata": {"labels": {"sidecar.istio.io/inject": "true"}}}


def told(kind: str, text: str, *others: Object, pods: bool = False) -> list[tuple[str, bool]]:
    answer = Answer(kind, "", text)
    known: dict[Any, Any] = {PODS: {(PLACE, TEMPLATE): answer}} if pods else {OBJECTS: {PLACE: answer}}
    return [(item.reason, item.blocks) for item in findings(tfjob(), *others, known=known)]


def test_what_the_api_server_refuses_is_told_in_its_words() -> None:
    assert told("denied", "replicas must be 1") == [("Refused", True)]
    assert told("invalid", "volumeMounts[0].name: Not found", pods=True) == [("PodRefused", True)]


def test_a_webhook_may_judge_the_account_of_a_controller_otherwise() -> None:
    assert told("denied", "no", pods=True) == [("PodRefused", False)]


def test_what_the_files_bring_is_no_reason_to_refuse() -> None:
    queue = made("scheduling.volcano.sh/v1beta1", "Queue", "gold", namespace="")
    said = "queue gold not found"
    assert told("denied", said) == [("Refused", True)]
    assert told("denied", said, queue) == []


def admitted(*containers: str) -> dict[Any, Any]:
    return {PODS: {(PLACE, TEMPLATE): {"spec": {"containers": [{"name": name} for name in containers]}}}}


def test_a_proxy_that_admission_does_not_add_or_that_ends_is_no_flaw() -> None:
    assert reasons(tfjob(INJECT)) == ["SidecarInjected"]
    assert reasons(tfjob(INJECT), known=admitted("tensorflow", "istio-proxy")) == ["SidecarInjected"]
    assert reasons(tfjob(INJECT), known=admitted("tensorflow")) == []


@pytest.mark.parametrize("fact", [OBJECTS, PODS])
def test_who_may_not_make_dry_runs_gets_no_verdict(fact: Any) -> None:
    assert reasons(tfjob(), known={fact: Unread("Forbidden", "you may not.", "ask.")}) == []


@pytest.mark.parametrize(
    ("manifest", "text", "expected"),
    [
        (
            vcjob(queue="gold"),
            'unable to find job queue: queues.scheduling.volcano.sh "gold" not found;',
            ["QueueMissing"],
        ),
        (
            vcjob(minAvailable=9),
            "job 'minAvailable' should not be greater than total replicas in tasks;",
            ["MinMemberTooHigh"],
        ),
        (
            vcjob(minAvailable=9),
            "job 'minAvailable' should not be greater than total replicas in tasks;duplicated task name t;",
            ["Refused", "MinMemberTooHigh"],
        ),
    ],
)
def test_a_refusal_is_not_told_beside_the_flaws_that_it_names(manifest: Object, text: str, expected: list[str]) -> None:
    assert reasons(manifest, known={OBJECTS: {PLACE: Answer("denied", "w", text)}}) == expected


def test_a_refusal_of_several_lines_is_one_sentence() -> None:
    known: dict[Any, Any] = {OBJECTS: {PLACE: Answer("denied", "w", "1 error:\n\t* no such policy\n\n;")}}
    (found,) = findings(tfjob(), known=known)
    assert found.problem.found.endswith("1 error: * no such policy.")  # the webhook's own words
