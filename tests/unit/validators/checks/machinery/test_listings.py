"""B9: kinds whose objects cannot be listed, on answers of an API server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Listing
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.validators.checks.machinery.served import kinds_listable
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.subjects.crds import LISTINGS, Listings
from tests.samples.facts import crd, facts

NAME, OTHER = "queues.scheduling.volcano.sh", "jobs.batch.volcano.sh"
EXPECTED = {NAME: "volcano", OTHER: "volcano"}
LOST = "500 InternalError: request to convert CR from an invalid group/version: scheduling.volcano.sh/v1alpha2"
WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"service": {"namespace": "volcano-system", "name": "admission"}}},
}


def of_kind(kind: str, name: str, **more: Any) -> Object:
    made = crd(name)
    made["spec"] = {**made["spec"], "names": {**made["spec"]["names"], "kind": kind}, **more}
    return made


def found(answers: Mapping[str, ApiError], **of_queue: Any) -> Facts:
    """Facts about two CRDs, of which the API server answers so, by kind."""
    crds = of_kind("Queue", NAME, **of_queue), of_kind("Job", OTHER)

    class Server:
        def pages(self, _api_version: str, kind: str, **_options: Any) -> Iterator[Listing]:
            if error := answers.get(kind):
                raise error
            yield Listing((), "1")

    server: Any = Server()
    return facts(*crds, crds=EXPECTED, known={LISTINGS: LISTINGS.fetch(server, facts(*crds, crds=EXPECTED))})


def test_kinds_that_are_listed_pass() -> None:
    outcome = kinds_listable(found({}))
    assert (outcome.status, {item.name for item in outcome.objects}) == (Status.PASS, {NAME, OTHER})


def test_a_kind_of_many_pages_has_the_time_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    class Slow:
        def pages(self, *_kind: Any, deadline: Deadline, **_options: Any) -> Iterator[Listing]:
            for _ in range(4):
                now[0] += deadline.seconds * 0.4
                if deadline.passed:
                    raise ApiError(0, "NoAnswer", "no answer in time")
                yield Listing((), "1")

    slow: Any = Slow()
    assert LISTINGS.fetch(slow, facts(of_kind("Queue", NAME), crds={NAME: "volcano"})) == Listings()


def test_a_kind_with_an_object_in_a_version_that_its_crd_lacks_fails_with_the_way_back() -> None:
    outcome = kinds_listable(found({"Queue": ApiError(500, "InternalError", LOST)}))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "VersionLost")
    assert [item.name for item in outcome.objects] == [NAME]
    assert len(outcome.changes) == 2
    assert all("v1alpha2" in command and NAME in command for command in outcome.changes)


def test_a_conversion_webhook_without_an_answer_follows_what_is_wrong_with_its_service() -> None:
    error = ApiError(500, "InternalError", f"conversion webhook for {NAME} failed: connection refused")
    outcome = kinds_listable(found({"Queue": error}, conversion=WEBHOOK))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoConversion")
    (cause,) = outcome.because
    assert Ref("v1", "Service", "volcano-system", "admission") in cause


def test_a_kind_that_is_not_served_is_left_to_the_check_of_served_kinds() -> None:
    assert kinds_listable(found({"Queue": NotServed("g/v1", "Queue")})).status is Status.PASS


def test_a_kind_that_may_not_be_listed_is_unknown_and_hides_no_failure() -> None:
    denied = ApiError(403, "Forbidden", "no")
    outcome = kinds_listable(found({"Queue": denied}))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Forbidden")
    assert "resources: ['queues']" in outcome.todo
    assert "jobs" not in outcome.todo
    both = found({"Queue": denied, "Job": ApiError(500, "InternalError", LOST)})
    assert kinds_listable(both).reason == "VersionLost"


def test_a_server_that_does_not_answer_is_no_kind_that_cannot_be_listed() -> None:
    with pytest.raises(ApiError):
        found({"Queue": ApiError(0, "NoAnswer", "no answer")})


def test_trouble_of_the_server_is_no_kind_that_cannot_be_listed_and_hides_none() -> None:
    busy = ApiError(503, "ServiceUnavailable", "starting")
    with pytest.raises(ApiError):
        found({"Queue": busy})
    assert kinds_listable(found({"Queue": busy, "Job": ApiError(500, "InternalError", LOST)})).reason == "VersionLost"


def test_only_kinds_of_expected_crds_are_listed() -> None:
    assert Rule("list", "scheduling.volcano.sh", "queues") in set(kinds_listable.rules_for([NAME]))
    assert kinds_listable.rules_with == ()
    assert LISTINGS.fetch(None, facts(crd("others.example.org"), crds=EXPECTED)) == Listings()  # type: ignore[arg-type]
