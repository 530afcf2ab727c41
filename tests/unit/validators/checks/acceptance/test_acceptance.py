"""J1 to J9 on literal evidence: what reached its goal, what did not, and what was never created."""

from __future__ import annotations

import re

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.examples import example_kinds, load_example
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.checks.acceptance import acceptance
from kubeflow_volcano.validators.core.check import Check, checks_in
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Probe
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.acceptance.examples import Acceptance, Attempt
from kubeflow_volcano.validators.probes.acceptance.states import State
from tests.samples.facts import facts

JOB = Ref("kubeflow.org/v1", "TFJob", "ns", "kfv-tfjob")


def attempt(state: State = State.RUNNING, *, reached: bool = True, **more: object) -> Attempt:
    return Attempt("jobs/tfjob", JOB, state, reached, 12.3, "Running: it runs", **more)  # type: ignore[arg-type]


def judged(*attempts: Attempt, failure: tuple[str, str] | None = None, chosen: bool = True) -> Outcome:
    expected = Expectations(components=frozenset({"training-operator"} if chosen else ()))
    evidence = Acceptance(State.RUNNING, 300.0, list(attempts), failure)
    return acceptance.job_examples(facts(expected=expected, evidences={acceptance.OPERATOR_JOBS: evidence}))


def test_what_runs_or_has_completed_passes_and_says_after_how_long() -> None:
    outcome = judged(attempt(), attempt(State.COMPLETED))
    assert outcome.status is Status.PASS
    for word in ("2 examples", "jobs/tfjob running after 12 s", "jobs/tfjob completed"):
        assert word in outcome.message
    assert JOB in outcome.objects
    assert "simulated" not in outcome.message


def test_a_pass_says_how_many_pods_were_simulated() -> None:
    assert "7 of their pods" in judged(attempt(simulated=7)).message


def test_what_failed_fails_with_what_its_pods_wait_for() -> None:
    outcome = judged(attempt(), attempt(State.FAILED, reached=False, waiting="p: CrashLoopBackOff"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ExampleFailed")
    for word in ("jobs/tfjob", "p: CrashLoopBackOff"):
        assert word in outcome.message


def test_what_did_not_start_in_time_fails_and_says_so() -> None:
    outcome = judged(attempt(State.PENDING, reached=False, waiting="p has no node: full"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ExampleNotReached")
    for word in ("pending after 12 s", "p has no node", ": full"):
        assert word in outcome.message
    assert "300 s" in outcome.expected


def test_what_was_left_out_is_no_failure() -> None:
    absent = Attempt("jobs/jaxjob", absent="the cluster serves no JAXJob of kubeflow.org/v1")
    assert judged(absent).status is Status.SKIP
    outcome = judged(attempt(), absent)
    assert outcome.status is Status.PASS
    assert re.search("jobs/jaxjob: .*JAXJob", outcome.message)


def test_a_component_that_is_not_chosen_is_skipped() -> None:
    assert (judged(chosen=False).status, judged(chosen=False).reason) == (Status.SKIP, "NotExpected")


def test_a_refused_object_is_no_verdict_on_the_example() -> None:
    outcome = judged(failure=("ProbeRefused", "TFJob kfv: exceeded quota"))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ProbeRefused")


@pytest.mark.parametrize("check", checks_in([acceptance]), ids=lambda item: item.id)
def test_each_check_is_on_request_and_names_a_component_of_some_release(check: Check) -> None:
    assert check.opt_in == "acceptance"
    assert check.severity == "major"
    assert not check.component or any(
        check.component in read.load_release(version).components for version in read.releases()
    )


def test_every_kind_that_has_an_example_of_its_own_is_created_by_a_check_with_its_rights() -> None:
    groups = {
        (rule.group, rule.resource)
        for check in checks_in([acceptance])
        for rule in check.rules
        if rule.verb == "create" and rule.group
    }
    plurals = {(item.api_version.partition("/")[0], f"{item.kind.lower()}s") for item in example_kinds()}
    assert groups == plurals - {("scheduling.volcano.sh", "queues"), ("trainer.kubeflow.org", "trainingruntimes")}


def test_rights_on_claims_are_needed_where_an_example_has_one() -> None:
    for check, names in ((acceptance.pipeline_example, ("pipeline",)), (acceptance.vcjob_example, ("jobs/vcjob",))):
        assert isinstance(check.probe, Probe)
        has_claims = any(
            item["kind"] == "PersistentVolumeClaim" for name in names for item in load_example(name).objects
        )
        assert (Rule("create", "", "persistentvolumeclaims") in check.rules) is has_claims
