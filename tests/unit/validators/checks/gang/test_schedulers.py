"""The checks of F and G where scheduler-plugins make the gangs: what they are held against, and what is left out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS, SCHEDULER_PLUGINS, VOLCANO, podgroup_of
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.record import Group, Member
from kubeflow_volcano.experiment.stage import Step, was_judged
from kubeflow_volcano.validators.checks.gang.steps import blocked, fit
from kubeflow_volcano.validators.checks.machinery.served import crds_served
from kubeflow_volcano.validators.checks.operator import operator
from kubeflow_volcano.validators.checks.operator.verdict import operator_verdict
from kubeflow_volcano.validators.checks.volcano import aftermath, volcano
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.consequences import NOT_NEEDED, not_applicable
from kubeflow_volcano.validators.core.expectations import Expectations, expect
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence
from kubeflow_volcano.validators.probes.operator.operator import OperatorEvidence
from kubeflow_volcano.validators.subjects.crds import DISCOVERY
from kubeflow_volcano.validators.subjects.gang import runtimes
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING
from kubeflow_volcano.validators.subjects.pods import waits_for_gang
from tests.samples.facts import crd, deployment, facts, judged, pod, ref

OPERATOR = "kubeflow/training-operator"
SCHEDULER = "scheduler-plugins/scheduler-plugins-scheduler"
NAME = SCHEDULER_PLUGINS.scheduler
AT = "2026-01-01T00:00:00.000Z"


def known(
    *objects: Object,
    version: str = "v1-04f9f13",
    arguments: tuple[str, ...] = (),
    kinds: tuple[str, ...] = (SCHEDULER_PLUGINS.podgroups,),
    **fields: Any,
) -> Facts:
    container = {
        "name": "training-operator",
        "image": f"docker.io/kubeflow/training-operator:{version}",
        "args": list(arguments),
    }
    expected = Expectations(
        release="1.9.1",
        gang_scheduler=SCHEDULER_PLUGINS.name,
        workloads={
            ref("Deployment", OPERATOR): "training-operator",
            ref("Deployment", SCHEDULER): SCHEDULER_PLUGINS.name,
        },
        crds={SCHEDULER_PLUGINS.podgroups: SCHEDULER_PLUGINS.name},
        namespaces=frozenset({"kubeflow", "scheduler-plugins"}),
    )
    served = {f"{SCHEDULER_PLUGINS.group}/v1": frozenset({"podgroups"})}
    more = {DISCOVERY: served, **fields.pop("known", {})}
    around = (deployment(OPERATOR, containers=[container]), *(crd(name) for name in kinds), *objects)
    return facts(*around, expected=expected, known=more, **fields)


def test_the_second_scheduler_is_what_f1_and_b1_look_for() -> None:
    up = known(deployment(SCHEDULER))
    assert judged(volcano.components, up).status is Status.PASS
    assert judged(volcano.components, known(deployment(SCHEDULER, replicas=0))).status is Status.FAIL
    assert judged(crds_served, up).status is Status.PASS
    missing = judged(crds_served, known(kinds=()))
    assert (missing.status, missing.reason) == (Status.FAIL, "Missing")
    assert "podgroups.scheduling.x-k8s.io" in missing.message
    assert judged(aftermath.no_stale_podgroups, known(kinds=())).reason == NOT_NEEDED


@pytest.mark.parametrize(
    "check",
    [
        volcano.queue_open,
        volcano.gang_plugin,
        volcano.version_pair,
        aftermath.no_stale_podgroups,
        aftermath.no_broken_gangs,
    ],
)
def test_what_is_volcanos_alone_is_left_out_and_holds_nobody_up(check: Check) -> None:
    found = judged(check, known())
    assert (found.status, found.reason) == (Status.SKIP, NOT_NEEDED)
    assert "scheduler-plugins" in found.message
    following = replace(volcano.components, requires=(check.id,))
    assert not_applicable(following, {check.id: found}, {}) is None
    other = replace(found, reason="NotExpected")
    assert not_applicable(following, {check.id: other}, {}) is not None


@pytest.mark.parametrize(
    ("version", "arguments", "reason"),
    [
        ("v1-04f9f13", (f"--gang-scheduler-name={NAME}",), ""),
        ("v1-855e096", (f"--gang-scheduler-name={NAME}",), ""),
        ("v1-04f9f13", ("--gang-scheduler-name=volcano",), "GangOther"),
        ("v1-04f9f13", ("--gang-scheduler-name=scheduler-plugins",), "GangOther"),
        ("v1-04f9f13", (), "GangOff"),
        ("v1-5a5f92d", ("--gang-scheduler-name=scheduler-plugins",), "GangUnknown"),
    ],
)
def test_the_operator_must_name_the_scheduler_that_runs(version: str, arguments: tuple[str, ...], reason: str) -> None:
    outcome = judged(operator.gang_flag, known(version=version, arguments=arguments))
    assert (outcome.status is Status.PASS, outcome.reason) == (not reason, reason or outcome.reason)


def test_no_group_is_looked_for_that_an_old_operator_could_have_missed() -> None:
    unread = {"podgroups.scheduling.volcano.sh": Unread("Forbidden", "no", "ask")}
    assert judged(operator.operator_awake, known(version="v1-e1434f6", unread=unread)).reason == NOT_NEEDED


def test_rights_are_on_its_podgroups() -> None:
    rules = {str(rule) for rule in TRAINING.rules((), "1.8.1", SCHEDULER_PLUGINS)}
    assert "create podgroups.scheduling.x-k8s.io" in rules
    assert not any("volcano" in rule for rule in rules)


@pytest.mark.parametrize("gang", GANG_SCHEDULERS.values(), ids=lambda item: item.name)
def test_a_pod_says_in_its_schedulers_way_that_it_is_a_member(gang: Any) -> None:
    member = pod("a/b", phase="Pending")
    for part, marks in gang.marks("mnist").items():
        member[part] |= marks
    member["spec"].pop("nodeName", None)
    assert podgroup_of(member) == "mnist"
    assert waits_for_gang(member)


def member(name: str, *, node: str = "", judged: bool = False, scheduler: str = NAME, gang: str = "") -> Member:
    seen = AT if judged else ""
    return Member(name, f"uid-{name}", scheduler, group=gang, node=node, bound_at=seen, judged=seen)


def test_where_a_group_does_not_tell_its_members_do() -> None:
    members = [member("p0", judged=True), member("p1", judged=True)]
    silent = Group("h2", "uid-h2", 2, tells=False)
    assert was_judged(members, [silent])
    assert not was_judged(members, [replace(silent, tells=True)])
    assert not was_judged([*members, member("p2")], [silent])
    assert not was_judged(members, [])


def step(id_: str, members: list[Member], phase: str, **more: Any) -> Step:
    group = Group(id_.lower(), f"uid-{id_}", 3, phase, tells=False)
    return Step(id_, tuple(members), (group,), (), ((),), **{"reached": True, "seconds": 1.0, **more})


def test_its_experiment_needs_no_queue_and_its_refs_are_its_podgroups() -> None:
    bound = [member(f"h1-p{i}", node="n1") for i in range(3)]
    waiting = [member(f"h2-p{i}", judged=True) for i in range(3)]
    evidence = GangEvidence(namespace="probe", gang=SCHEDULER_PLUGINS)
    evidence.steps = {"H1": step("H1", bound, "Running"), "H2": step("H2", waiting, "Scheduling", held_seconds=5.0)}
    assert not evidence.shut
    assert replace(evidence, gang=VOLCANO).shut
    assert fit(evidence).status is Status.PASS
    outcome = blocked(evidence)
    assert outcome.status is Status.PASS
    assert Ref("scheduling.x-k8s.io/v1alpha1", "PodGroup", "probe", "h2") in outcome.objects


def test_a_scheduler_that_answers_to_another_name_is_restarted_by_its_own() -> None:
    evidence = GangEvidence(namespace="probe", gang=SCHEDULER_PLUGINS)
    silent = [member(f"h1-p{i}") for i in range(3)]
    evidence.steps = {"H1": step("H1", silent, "", reached=False)}
    outcome = fit(evidence)
    assert outcome.reason == "SchedulerNotEvaluating"
    assert outcome.changes == ("kubectl -n scheduler-plugins rollout restart deployment/scheduler-plugins-scheduler",)


def test_a_job_is_handed_over_by_label_and_name() -> None:
    job = Ref("kubeflow.org/v1", "TFJob", "probe", "job")
    group = Group("job", "uid-job", 2, "Pending", tells=False)
    pods = tuple(member(f"job-worker-{i}", node="n1", gang="job") for i in range(2))
    evidence = OperatorEvidence(job, "default", gang=SCHEDULER_PLUGINS, group=group, pods=pods)
    assert operator_verdict(evidence).status is Status.PASS
    strays = tuple(replace(item, scheduler="volcano") for item in pods)
    assert operator_verdict(replace(evidence, pods=strays)).reason == "PodsNotGanged"


def test_a_runtime_needs_its_policy_and_its_name() -> None:
    def runtime(policy: str, scheduler: str) -> Object:
        job = {"template": {"spec": {"template": {"spec": {"schedulerName": scheduler}}}}}
        spec = {"podGroupPolicy": {policy: {}}, "template": {"spec": {"replicatedJobs": [job]}}}
        return {"metadata": {"name": "torch"}, "spec": spec}

    assert runtimes.fault(runtime("coscheduling", NAME), SCHEDULER_PLUGINS) is None
    wrong = runtimes.fault(runtime("volcano", "volcano"), SCHEDULER_PLUGINS)
    assert wrong is not None
    assert re.search("no podGroupPolicy.coscheduling .* volcano$", wrong.text)


def test_the_second_scheduler_is_expected_in_volcanos_place() -> None:
    found = expect("1.9.1", gang_scheduler="scheduler-plugins", scheduler_plugins_version="0.30.6")
    assert found.gang is SCHEDULER_PLUGINS
    assert {"scheduler-plugins", "training-operator"} <= found.components
    assert "volcano" not in found.components
    assert "registry.k8s.io/scheduler-plugins/kube-scheduler:v0.30.6" in found.images.values()
