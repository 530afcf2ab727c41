"""F10 on literal facts, and what its dry runs come to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.policies import BINDING, POLICY, VERSIONS
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.validators.checks.volcano.team_queues import NEW_JOBS, Landing, NewJobs, team_queues
from kubeflow_volcano.validators.core.expectations import expect
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import obj, with_volcano

TEAM = obj("Namespace", "vision", metadata={"annotations": {QUEUE_NAME: "vision"}})
GROUP = Ref("scheduling.volcano.sh/v1beta1", "PodGroup", "vision", "job")


def group(namespace: str, **spec: str) -> Any:
    return obj("PodGroup", f"{namespace}/job", spec=spec)


@pytest.mark.parametrize(
    ("group_", "status", "reason", "objects"),
    [
        (group("vision", queue="default"), Status.WARN, "InDefault", (GROUP,)),
        (group("vision"), Status.WARN, "InDefault", (GROUP,)),
        (group("vision", queue="vision"), Status.PASS, "AsClaimed", (GROUP,)),
        (group("vision", queue="chosen"), Status.PASS, "AsClaimed", (GROUP,)),
        (group("plain", queue="default"), Status.SKIP, "NoTeamJobs", ()),
    ],
)
def test_only_jobs_of_a_team_that_are_in_queue_default_are_named(
    group_: Any, status: Status, reason: str, objects: Any
) -> None:
    outcome = team_queues(with_volcano(TEAM, obj("Namespace", "plain"), group_))
    assert (outcome.status, outcome.reason or "", tuple(outcome.objects)) == (status, reason, objects)


def test_a_team_whose_queue_is_default_has_none_to_be_in() -> None:
    team = obj("Namespace", "vision", metadata={"annotations": {QUEUE_NAME: "default"}})
    assert team_queues(with_volcano(team, group("vision"))).reason == "NoTeamJobs"


VISION = Ref("v1", "Namespace", "", "vision")
REFUSED = Landing("PodGroup", "vision", refused='admission webhook "guard" denied the request: no')
UNTRIED = Landing("PodGroup", "vision", untried="you may not create podgroups.scheduling.volcano.sh")


OWN = "Job of Volcano"
WRITTEN = "PodGroup of the training operator"


def lands(queue: str, what: str = "PodGroup") -> Landing:
    return Landing(what, "vision", queue)


@pytest.mark.parametrize(
    ("landings", "policies", "status", "reason", "objects"),
    [
        ((lands("vision"), lands("vision", OWN)), True, Status.PASS, "AsClaimed", (VISION,)),
        ((lands("default"),), False, Status.WARN, "NewElsewhere", (VISION,)),
        ((lands("speech"),), True, Status.WARN, "NewElsewhere", (VISION,)),
        ((lands("vision"), lands("default", OWN)), True, Status.WARN, "NewElsewhere", (VISION,)),
        ((lands("vision"), lands("default", OWN)), False, Status.PASS, "AsClaimed", (VISION,)),
        ((lands("vision"), lands("default", WRITTEN)), False, Status.WARN, "NewElsewhere", (VISION,)),
        ((REFUSED,), True, Status.WARN, "NewRefused", (VISION,)),
        ((UNTRIED,), True, Status.SKIP, "NoTeamJobs", ()),
    ],
)
def test_a_team_without_jobs_is_judged_by_what_a_new_one_would_get(
    landings: tuple[Landing, ...], *, policies: bool, status: Status, reason: str, objects: Any
) -> None:
    outcome = team_queues(with_volcano(TEAM, known={NEW_JOBS: NewJobs(landings, policies)}))
    assert (outcome.status, outcome.reason, tuple(outcome.objects)) == (status, reason, objects)
    assert all(text in outcome.message for item in landings if (text := item.refused or item.untried))


def test_jobs_that_are_there_outweigh_a_refused_dry_run() -> None:
    known = {NEW_JOBS: NewJobs((REFUSED,))}
    outcome = team_queues(with_volcano(TEAM, group("vision", queue="vision"), known=known))
    assert (outcome.status, REFUSED.refused in outcome.message) == (Status.PASS, True)


class Server:
    """The part of a cluster that takes dry runs: of these kinds, with these answers; what else is sent is an error."""

    def __init__(self, *, served: bool = True, may: bool = True, **answers: ApiError | Object) -> None:
        self.served, self.may, self.answers = served, may, answers
        self.tried: list[tuple[str, str, str]] = []

    def resource(self, api_version: str, kind: str) -> Resource:
        return Resource(api_version, kind, "selfsubjectaccessreviews", namespaced=False)

    def request(self, _method: str, _path: str, *, body: Object) -> Any:
        assert body["kind"] == "SelfSubjectAccessReview"
        assert body["spec"]["resourceAttributes"]["namespace"].startswith("vision")
        return {"status": {"allowed": self.may}}

    def kinds(self, api_version: str) -> Any:
        return dict.fromkeys((POLICY, BINDING)) if self.served and api_version == VERSIONS[0] else {}

    def create(self, sent: Object, *, dry_run: bool, deadline: Any) -> Object:
        assert dry_run
        assert deadline.remaining > 0
        self.tried.append((sent["metadata"]["namespace"], sent["kind"], sent["spec"].get("queue", "")))
        answer = self.answers.get(sent["kind"], sent)
        if isinstance(answer, ApiError):
            raise answer
        return answer


def tried(server: Server, *namespaces: Any) -> NewJobs:
    cluster: Any = server
    return NEW_JOBS.fetch(cluster, with_volcano(*namespaces))


def test_one_of_each_kind_is_tried_in_namespaces_that_name_a_queue_and_stay() -> None:
    going = obj("Namespace", "visions", metadata={**TEAM["metadata"], "name": "visions", "deletionTimestamp": "now"})
    server = Server(PodGroup={"spec": {"queue": "vision"}})
    found = tried(server, TEAM, going, obj("Namespace", "plain"))
    assert found == NewJobs((lands("vision"), lands("default", OWN)), policies=True)
    assert server.tried == [("vision", "PodGroup", ""), ("vision", "Job", "")]


@pytest.mark.parametrize(("version", "writes"), [("", False), ("v1.7.0", False), ("v1.9.4", True)])
def test_what_the_training_operator_writes_is_tried_where_it_does(version: str, *, writes: bool) -> None:
    expected = replace(expect("1.9.1"), operator_version=version)
    cluster: Any = (server := Server())
    NEW_JOBS.fetch(cluster, with_volcano(TEAM, expected=expected))
    assert (("vision", "PodGroup", "default") in server.tried) is writes


def test_so_many_namespaces_are_tried_and_the_others_are_told() -> None:
    names = [f"vision{number:02}" for number in range(22)]
    teams = [obj("Namespace", name, metadata=TEAM["metadata"] | {"name": name}) for name in names]
    found = tried(Server(PodGroup={"spec": {"queue": "vision"}}, Job={"spec": {"queue": "vision"}}), *teams)
    assert len({item.namespace for item in found.landings}) == 20
    assert "2 further namespaces" in team_queues(with_volcano(*teams, known={NEW_JOBS: found})).message


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        (ApiError(403, "Forbidden", "exceeded quota"), "refused"),
        (ApiError(422, "Invalid", "denied by a policy"), "refused"),
        (ApiError(400, "Unknown", 'admission webhook "guard" denied the request: no'), "refused"),
        (ApiError(400, "BadRequest", 'admission webhook "old" does not support dry run'), "untried"),
        (ApiError(500, "InternalError", 'failed calling webhook "mute": timeout'), "untried"),
        (ApiError(0, "", "no answer"), "untried"),
    ],
)
def test_only_what_admission_says_is_a_refusal(answer: ApiError, field: str) -> None:
    found = tried(Server(served=False, PodGroup=answer, Job=NotServed("batch.volcano.sh/v1alpha1", "Job")), TEAM)
    assert found == NewJobs((replace(Landing("PodGroup", "vision"), **{field: answer.message}),))


def test_what_the_caller_may_not_create_is_not_tried() -> None:
    server = Server(may=False)
    assert [item.untried.split()[-1] for item in tried(server, TEAM).landings] == [
        "podgroups.scheduling.volcano.sh",
        "jobs.batch.volcano.sh",
    ]
    assert server.tried == []
