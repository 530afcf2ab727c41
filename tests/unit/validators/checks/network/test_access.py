"""E7: who is asked about, how the server is asked, and what its answers come to."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.network.access import FOREIGN_ACCESS, TRIED, profile_isolated
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status
from tests.samples.facts import facts, obj

NOBODY = "system:serviceaccount:default:default"


class Reviewer:
    """The part of a cluster that judges who may do what; `granted` are (user or group, namespace)."""

    def __init__(self, *granted: tuple[str, str]) -> None:
        self.granted = granted
        self.asked: list[tuple[str, str]] = []

    def resource(self, api_version: str, kind: str) -> Resource:
        return Resource(api_version, kind, "subjectaccessreviews", namespaced=False)

    def request(self, _method: str, _path: str, *, body: Object) -> Any:
        spec = body["spec"]
        where = spec["resourceAttributes"]["namespace"]
        self.asked.append((spec["user"], where))
        return {"status": {"allowed": any((who, where) in self.granted for who in (spec["user"], *spec["groups"]))}}


def access(reviewer: Reviewer, *names: str) -> Any:
    objects = [item for name in names for item in (obj("Profile", name), obj("Namespace", name))]
    return FOREIGN_ACCESS.fetch(cast("Cluster", reviewer), facts(*objects))


def test_each_profile_is_tried_by_nobody_and_by_the_editor_of_the_next() -> None:
    reviewer = Reviewer()
    found = access(reviewer, "a", "b")
    assert found == {
        "a": {NOBODY: (), "system:serviceaccount:b:default-editor": ()},
        "b": {NOBODY: (), "system:serviceaccount:a:default-editor": ()},
    }
    assert len(reviewer.asked) == 4 * len(TRIED)


def test_a_single_profile_is_tried_by_nobody_alone_and_one_without_a_namespace_not_at_all() -> None:
    assert access(Reviewer(), "a") == {"a": {NOBODY: ()}}
    assert FOREIGN_ACCESS.fetch(cast("Cluster", Reviewer()), facts(obj("Profile", "a"))) == {}


@pytest.mark.parametrize(
    "who", [NOBODY, "system:serviceaccounts", "system:authenticated", "system:serviceaccounts:default"]
)
def test_a_right_of_the_user_or_of_a_group_is_seen(who: str) -> None:
    found = access(Reviewer((who, "a")), "a")
    assert found["a"][NOBODY] == tuple(map(str, TRIED))


def test_strangers_that_are_denied_pass() -> None:
    outcome = profile_isolated(facts(known={FOREIGN_ACCESS: {"a": {NOBODY: ()}}}))
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["a"])


def test_a_stranger_that_is_allowed_fails_with_the_command_that_tells_why() -> None:
    outcome = profile_isolated(facts(known={FOREIGN_ACCESS: {"a": {NOBODY: ("get secrets",)}, "b": {NOBODY: ()}}}))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "StrangerAllowed")
    assert outcome.commands == (f"kubectl auth can-i --list -n a --as {NOBODY}",)
    assert [item.name for item in outcome.objects] == ["a"]


def test_without_profiles_there_is_nothing_to_judge_and_a_refused_review_is_no_pass() -> None:
    assert profile_isolated(facts()).reason == "NoProfile"
    with pytest.raises(CannotJudgeError) as stop:
        profile_isolated(facts(known={FOREIGN_ACCESS: Unread("Forbidden", "you may not", "ask")}))
    assert stop.value.outcome.status is Status.ERROR
