"""Custom resources behind a CRD that has just changed: the API server goes on with the old schema for a moment."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.apply.crds.sending import CrdSender
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent

CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.org"},
    "spec": {"group": "example.org", "names": {"kind": "Thing"}},
}
THING: Object = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}}
UNKNOWN = "500 Unknown: failed to create typed patch object (/a): .spec.workloadType: field not declared in schema"
DENIED = '400 BadRequest: admission webhook "a" denied the request: no'


def sent(answers: list[str], presence: Presence = Presence.DIFFERS) -> tuple[ObjectOutcome, int]:
    """The outcome of a Thing with these refusals before it is accepted, and how often it was sent."""
    count = 0

    def send(obj: Object, _found: Found) -> ObjectOutcome:
        nonlocal count
        count += 1
        if count <= len(answers):
            return ObjectOutcome(Ref.of(obj), Action.FAILED, None, None, answers[count - 1])
        return ObjectOutcome(Ref.of(obj), Action.CREATED, None, obj)

    cluster: Any = None
    found = {Ref.of(CRD): Found(presence, None)}
    sender = CrdSender(cluster, found, {Ref.of(CRD): CRD}, send, deadline=Deadline(5), progress=silent, check=False)
    return sender.send(THING, Found(Presence.ABSENT, None)), count


def test_it_is_sent_until_the_new_schema_is_known() -> None:
    outcome, count = sent([UNKNOWN, UNKNOWN])
    assert (outcome.action, count) == (Action.CREATED, 3)


@pytest.mark.parametrize(("answers", "presence"), [([DENIED], Presence.DIFFERS), ([UNKNOWN], Presence.UP_TO_DATE)])
def test_another_refusal_and_one_behind_an_unchanged_crd_stay(answers: list[str], presence: Presence) -> None:
    outcome, count = sent(answers, presence)
    assert (outcome.action, count) == (Action.FAILED, 1)
