"""G7 to G11 on literal facts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.record import Group, Member
from kubeflow_volcano.validators.checks.operator import trainer as checks
from kubeflow_volcano.validators.checks.operator.common import OPERATOR_ACCESS, OPERATOR_ADMISSION, OPERATOR_LOG
from kubeflow_volcano.validators.core.check import checks_in
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.probes.operator.operator import OperatorEvidence
from kubeflow_volcano.validators.probes.operator.trainer import TRAIN_JOB
from kubeflow_volcano.validators.subjects.crds import DISCOVERY
from kubeflow_volcano.validators.subjects.gang import runtimes
from tests.samples.facts import VOLCANO_KINDS, VOLCANO_SERVED, crd, deployment, facts, instant, judged, obj, pod, ref
from tests.samples.kubectl import json_patched

NAME = "kubeflow-system/kubeflow-trainer-controller-manager"
KINDS = {"trainjobs.trainer.kubeflow.org": "trainer", "jobsets.jobset.x-k8s.io": "trainer"}
SERVED = {"trainer.kubeflow.org/v1": frozenset({"trainjobs"}), "jobset.x-k8s.io/v1": frozenset({"jobsets"})}


def runtime(
    name: str = "torch-distributed",
    *schedulers: str,
    policy: str | None = "volcano",
    published: bool = True,
    mlPolicy: str = "torch",  # noqa: N803  the field's own name
) -> Object:
    jobs = [
        {"name": f"job-{number}", "template": {"spec": {"template": {"spec": {"schedulerName": scheduler}}}}}
        for number, scheduler in enumerate(schedulers or ("volcano",))
    ]
    return obj(
        "ClusterTrainingRuntime",
        name,
        metadata={"labels": {"trainer.kubeflow.org/framework": "torch"} if published else {}},
        spec={
            "mlPolicy": {mlPolicy: {}},
            "podGroupPolicy": {policy: {}} if policy else None,
            "template": {"spec": {"replicatedJobs": jobs}},
        },
    )


def known(*objects: Object, **fields: Any) -> Facts:
    expected = Expectations(
        release="26.03",
        workloads={ref("Deployment", NAME): "trainer"},
        crds={**dict.fromkeys(VOLCANO_KINDS, "volcano"), **KINDS},
        namespaces=frozenset({"kubeflow-system"}),
    )
    manager = deployment(NAME, serviceAccountName="trainer")
    more = {DISCOVERY: {**VOLCANO_SERVED, **SERVED}, **fields.pop("known", {})}
    return facts(manager, *(crd(name) for name in VOLCANO_KINDS), *objects, expected=expected, known=more, **fields)


def test_runtimes_with_policy_and_scheduler_pass() -> None:
    outcome = judged(checks.runtimes_gang, known(runtime(), runtime("other", published=False)))
    assert (outcome.status, len(outcome.objects)) == (Status.PASS, 2)


@pytest.mark.parametrize(
    ("broken", "status", "reason"),
    [
        (runtime("a", policy=None), Status.FAIL, "HalfWired"),
        (runtime("a", "default-scheduler"), Status.FAIL, "HalfWired"),
        (runtime("a", "volcano", ""), Status.FAIL, "HalfWired"),
        (runtime("a", "", policy=None), Status.FAIL, "GangOff"),
        (runtime("a", "", policy="coscheduling"), Status.FAIL, "GangOff"),
        (runtime("a", "", policy=None, published=False), Status.WARN, "OwnRuntimeWithoutGang"),
    ],
)
def test_a_runtime_that_does_not_gang_is_named(broken: Object, status: Status, reason: str) -> None:
    outcome = judged(checks.runtimes_gang, known(runtime(), broken))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert [item.name for item in outcome.objects] == ["a"]
    (command,) = outcome.changes
    healed = json_patched(command, broken)
    assert judged(checks.runtimes_gang, known(runtime(), healed)).status is Status.PASS


def test_a_runtime_that_makes_pods_in_steps_is_to_make_no_gangs() -> None:
    """Trainer would count all of its pods into one gang, of which some are made when others have ended."""
    steps = runtime("torchtune", "", "", policy=None)
    steps["spec"]["template"]["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "job-0", "status": "Complete"}]
    outcome = judged(checks.runtimes_gang, known(runtime(), steps))
    assert outcome.status is Status.PASS
    assert re.fullmatch("1 .*: torch-distributed. .*: torchtune.", outcome.message)
    steps["spec"]["podGroupPolicy"] = {"volcano": {}}
    outcome = judged(checks.runtimes_gang, known(runtime(), steps))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "HalfWired")
    assert "later pods" in outcome.message
    healed = json_patched(outcome.changes[0], steps)
    assert judged(checks.runtimes_gang, known(runtime(), healed)).status is Status.PASS


def test_no_runtime_is_no_pass_and_where_none_gangs_own_ones_fail_too() -> None:
    assert judged(checks.runtimes_gang, known()).reason == "NoRuntime"
    alone = runtime("mine", "", policy=None, published=False)
    assert judged(checks.runtimes_gang, known(alone)).status is Status.FAIL


def test_where_trainer_is_not_expected_its_checks_are_skipped() -> None:
    assert {judged(check, facts()).reason for check in checks_in([checks])} == {"NotExpected"}


def test_trainers_rights_and_its_start_are_its_own() -> None:
    of_others = {"training-operator": {"create podgroups.scheduling.volcano.sh": True}}
    assert judged(checks.trainer_may_group, known(known={OPERATOR_ACCESS: of_others})).status is Status.ERROR
    own = {"trainer": {"create podgroups.scheduling.volcano.sh": False}}
    outcome = judged(checks.trainer_may_group, known(known={OPERATOR_ACCESS: own}))
    assert "system:serviceaccount:kubeflow-system:trainer" in outcome.message
    running = {"name": "manager", "state": {"running": {"startedAt": instant(300)}}}
    early = pod(
        "kubeflow-system/t",
        owner="kubeflow-trainer-controller-manager",
        status={"phase": "Running", "containerStatuses": [running]},
    )
    group = crd("podgroups.scheduling.volcano.sh", established_ago=200)
    log = {"trainer": "PodGroup CRDs must be installed in advance"}
    assert (
        judged(checks.trainer_after_volcano, known(early, group, known={OPERATOR_LOG: log})).reason == "StartedTooEarly"
    )
    assert judged(checks.trainer_after_volcano, known(early, group)).status is Status.PASS


def test_answers_about_other_operators_jobs_are_not_trainers() -> None:
    found = known(*(crd(name) for name in KINDS), known={OPERATOR_ADMISSION: {"TFJob": "500", "TrainJob": ""}})
    outcome = judged(checks.trainer_kinds, found)
    assert (outcome.status, "dry runs of TrainJob" in outcome.message) == (Status.PASS, True)
    found = known(
        *(crd(name) for name in KINDS), known={OPERATOR_ADMISSION: {"TrainJob": "500 failed calling webhook"}}
    )
    assert judged(checks.trainer_kinds, found).reason == "WebhookUnanswered"


def evidence(scheduler: str = "volcano") -> OperatorEvidence:
    job = Ref("trainer.kubeflow.org/v1alpha1", "TrainJob", "kfv-smoke-1", "kfv-1")
    group = Group("kfv-1", "uid-g", 2, "Running", queue="default")
    pods = tuple(Member(f"p-{number}", f"p-{number}", scheduler, group="kfv-1", node="n1") for number in range(2))
    return OperatorEvidence(job, "default", group=group, pods=pods)


def test_a_trainjob_that_becomes_a_gang_passes_and_the_wiring_is_named_where_it_does_not() -> None:
    outcome = judged(checks.trainjob_ganged, known(evidences={TRAIN_JOB: evidence()}))
    assert (outcome.status, "TrainJob of 2 workers" in outcome.message) == (Status.PASS, True)
    outcome = judged(checks.trainjob_ganged, known(evidences={TRAIN_JOB: evidence("default-scheduler")}))
    assert (outcome.reason, "(G7)" in outcome.todo) == ("PodsNotGanged", True)
    assert judged(checks.trainjob_ganged, known(evidences={TRAIN_JOB: None})).reason == "NoRuntime"


def test_the_probe_takes_a_runtime_of_one_kind_of_pods_that_gangs() -> None:
    several, mpi = runtime("a", "volcano", "volcano"), runtime("b", mlPolicy="mpi")
    off, fit = runtime("c", ""), runtime("d")
    assert runtimes.for_probe(facts(several, mpi, off)) is None
    assert runtimes.for_probe(facts(several, mpi, off, fit)) == fit
    assert runtimes.for_probe(facts(fit, runtime())) == runtime()
