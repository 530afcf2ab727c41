"""G1 to G6 on literal facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.go_flags import read_flags
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.record import Group, Member
from kubeflow_volcano.validators.checks.operator import operator as checks
from kubeflow_volcano.validators.checks.operator.common import OPERATOR_ACCESS, OPERATOR_ADMISSION, OPERATOR_LOG
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.operator.operator import OperatorEvidence
from kubeflow_volcano.validators.probes.operator.training import TRAINING_JOB
from kubeflow_volcano.validators.subjects.crds import DISCOVERY
from tests.samples.facts import VOLCANO_KINDS, VOLCANO_SERVED, crd, deployment, facts, instant, judged, obj, pod, ref
from tests.samples.kubectl import json_patched

NAME = "kubeflow/training-operator"
COMPONENT = "training-operator"
IMAGE = "docker.io/kubeflow/training-operator:"
TAGS = {"1.5.0": "v1-e1434f6", "1.6.0": "v1-5a5f92d", "1.8.1": "v1-04f9f13"}
OWN = frozenset({ref("Deployment", NAME)})
JOBS = {"tfjobs.kubeflow.org": "training-operator", "pytorchjobs.kubeflow.org": "training-operator"}


def operator(*arguments: str, image: str = IMAGE + TAGS["1.8.1"], command: tuple[str, ...] = ("/manager",)) -> Object:
    container = {"name": "training-operator", "image": image, "command": list(command), "args": list(arguments)}
    return deployment(NAME, containers=[container], serviceAccountName="training-operator")


def known(*objects: Object, gang_scheduler: str = "volcano", operator_version: str = "", **fields: Any) -> Facts:
    expected = Expectations(
        release="1.9.1",
        kubernetes=MinorRange("1.29", None),
        gang_scheduler=gang_scheduler,
        operator_version=operator_version,
        workloads={ref("Deployment", NAME): "training-operator"},
        crds={**dict.fromkeys(VOLCANO_KINDS, "volcano"), **JOBS},
        namespaces=frozenset({"kubeflow"}),
    )
    more = {DISCOVERY: VOLCANO_SERVED, **fields.pop("known", {})}
    return facts(*(crd(name) for name in VOLCANO_KINDS), *objects, expected=expected, known=more, **fields)


@pytest.mark.parametrize(
    ("version", "arguments", "reason"),
    [
        ("1.8.1", ["--gang-scheduler-name=volcano"], "AsClaimed"),
        ("1.8.1", ["-gang-scheduler-name", "Volcano"], "AsClaimed"),
        ("1.8.1", ["--gang-scheduler-name=none", "--gang-scheduler-name=volcano"], "AsClaimed"),
        ("1.8.1", [], "GangOff"),
        ("1.8.1", ["--gang-scheduler-name=volcno"], "GangOther"),
        ("1.8.1", ["--enable-gang-scheduling=true"], "UnknownFlag"),
        ("1.8.1", ["--enable-gang-scheduling=true", "--gang-scheduler-name=volcano"], "UnknownFlag"),
        ("1.6.0", ["--enable-gang-scheduling"], "UnknownFlag"),
        ("1.5.0", ["--enable-gang-scheduling=true"], "AsClaimed"),
        ("1.5.0", ["--enable-gang-scheduling"], "AsClaimed"),
        ("1.5.0", ["--gang-scheduler-name=volcano"], "GangOff"),
        ("1.5.0", ["--enable-gang-scheduling=false"], "GangOther"),
    ],
)
def test_the_flag_is_judged_in_the_words_of_its_era(version: str, arguments: list[str], reason: str) -> None:
    broken = operator(*arguments, image=IMAGE + TAGS[version])
    outcome = checks.gang_flag(known(broken))
    assert outcome.reason == reason
    assert version in outcome.message
    for command in outcome.changes:
        assert checks.gang_flag(known(json_patched(command, broken))).status is Status.PASS
    assert bool(outcome.changes) is (reason != "AsClaimed")


def test_the_remedy_keeps_other_arguments_and_takes_wrong_flags_from_the_command_too() -> None:
    words = ("/manager", "--enable-gang-scheduling", "--zap-log-level=2")
    broken = operator("--gang-scheduler-name", "none", "--namespace", "a", command=words, image=IMAGE + TAGS["1.8.1"])
    (command,) = checks.gang_flag(known(broken)).changes
    (container,) = json_patched(command, broken)["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["/manager", "--zap-log-level=2"]
    assert container["args"] == ["--namespace", "a", "--gang-scheduler-name=volcano"]


def test_flags_in_the_command_count_as_well() -> None:
    outcome = checks.gang_flag(known(operator(command=("/manager", "--gang-scheduler-name=volcano"))))
    assert outcome.status is Status.PASS


def test_flags_are_read_as_go_reads_them() -> None:
    words = ["/manager", "-a", "--b=1", "--c", "2", "--a=x", "rest"]
    assert read_flags(words) == {"--a": "x", "--b": "1", "--c": "2"}


def test_an_unknown_image_asks_for_the_version() -> None:
    unknown = operator("--gang-scheduler-name=volcano", image="mine/training-operator:latest")
    outcome = judged(checks.gang_flag, known(unknown))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "UnknownOperatorVersion")
    assert "--operator-version" in outcome.todo
    assert judged(checks.gang_flag, known(unknown, operator_version="1.8.1")).status is Status.PASS
    assert judged(checks.gang_flag, known(unknown, operator_version="2.1.0")).status is Status.ERROR


@pytest.mark.parametrize(
    ("arguments", "replicas", "status"),
    [
        ((), 1, Status.FAIL),
        (("--enable-gang-scheduling=true",), 1, Status.FAIL),
        (("--gang-scheduler-name=volcano",), 1, Status.WARN),
        ((), 0, Status.PASS),
        (("--namespace=team-a",), 1, Status.PASS),
    ],
)
def test_a_second_operator_is_named(arguments: tuple[str, ...], replicas: int, status: Status) -> None:
    container = {"name": "manager", "image": "mirror.lan/kubeflow/training-operator:v1-04f9f13", "args": [*arguments]}
    second = deployment("old-kubeflow/operator", replicas=replicas, containers=[container])
    outcome = judged(checks.gang_flag, known(operator("--gang-scheduler-name=volcano"), second))
    assert outcome.status is status
    if status is not Status.PASS:
        assert outcome.reason == "SecondOperator"
        assert "old-kubeflow/operator" in outcome.message
        assert outcome.changes == ("kubectl -n old-kubeflow scale deployment operator --replicas=0",)


def test_no_gang_asked_for_is_a_skip_and_no_operator_is_its_deployments_failure() -> None:
    assert judged(checks.gang_flag, known(operator(), gang_scheduler="none")).reason == "GangNotAsked"
    assert judged(checks.gang_flag, known()).because == (OWN,)
    assert judged(checks.gang_flag, facts()).reason == "NotExpected"


def test_a_service_account_with_all_rules_passes_and_one_without_is_told_how_to_see_it() -> None:
    access = {"create podgroups.scheduling.volcano.sh": True, "update tfjobs/finalizers.kubeflow.org": True}
    assert (
        checks.operator_may_group(known(operator(), known={OPERATOR_ACCESS: {COMPONENT: access}})).status is Status.PASS
    )
    access["create podgroups.scheduling.volcano.sh"] = False
    outcome = checks.operator_may_group(known(operator(), known={OPERATOR_ACCESS: {COMPONENT: access}}))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "Denied")
    assert outcome.commands == (
        (
            "kubectl auth can-i create podgroups.scheduling.volcano.sh "
            "--as system:serviceaccount:kubeflow:training-operator -A"
        ),
    )


def test_nothing_asked_proves_nothing() -> None:
    assert checks.operator_may_group(known(operator())).status is Status.ERROR
    refused = {OPERATOR_ACCESS: Unread("Forbidden", "no", "ask")}
    assert judged(checks.operator_may_group, known(operator(), known=refused)).reason == "Forbidden"


def started(seconds_ago: float) -> Object:
    state = {"running": {"startedAt": instant(seconds_ago)}}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return pod(
        "kubeflow/o", owner="training-operator", status=status | {"containerStatuses": [{"name": "o", "state": state}]}
    )


PODGROUPS = "podgroups.scheduling.volcano.sh"


def test_an_operator_that_started_after_volcano_passes() -> None:
    found = known(operator(), started(100), crd(PODGROUPS, established_ago=200))
    assert checks.operator_after_volcano(found).status is Status.PASS


def test_an_operator_that_started_before_is_judged_by_its_log() -> None:
    early = (operator(), started(300), crd(PODGROUPS, established_ago=200))
    assert checks.operator_after_volcano(known(*early)).status is Status.PASS
    log = "E1 could not find the requested resource (post podgroups.scheduling.volcano.sh)"
    outcome = checks.operator_after_volcano(known(*early, known={OPERATOR_LOG: {COMPONENT: log}}))
    assert (outcome.reason, outcome.changes[0].split()[-1]) == ("StartedTooEarly", "deployment/training-operator")
    assert outcome.refuted_by == ("G5", "G6")
    unread = {OPERATOR_LOG: Unread("Forbidden", "no", "ask")}
    assert judged(checks.operator_after_volcano, known(*early, known=unread)).status is Status.ERROR


def test_an_operator_that_does_not_run_is_its_deployments_failure() -> None:
    outcome = checks.operator_after_volcano(known(operator(), crd(PODGROUPS)))
    assert (outcome.reason, outcome.because) == ("NotRunning", (OWN,))


SERVED = {"kubeflow.org/v1": frozenset({"tfjobs", "pytorchjobs"})}


def kinds(**fields: Any) -> Facts:
    more = {DISCOVERY: SERVED, **fields.pop("known", {})}
    return known(operator(), *(crd(name) for name in JOBS), known=more, **fields)


def test_served_kinds_with_an_answering_webhook_pass() -> None:
    outcome = checks.operator_kinds(kinds(known={OPERATOR_ADMISSION: {"TFJob": ""}}))
    assert (outcome.status, "dry runs of TFJob" in outcome.message) == (Status.PASS, True)
    assert "read-only" in checks.operator_kinds(kinds()).message


def test_a_webhook_that_does_not_answer_fails() -> None:
    outcome = checks.operator_kinds(kinds(known={OPERATOR_ADMISSION: {"TFJob": "500 failed calling webhook"}}))
    assert (outcome.reason, outcome.because) == ("WebhookUnanswered", ("B4",))


def test_kinds_that_are_not_served_follow_b1() -> None:
    assert checks.operator_kinds(kinds(known={DISCOVERY: {}})).because == ("B1",)


def test_a_dry_run_that_may_not_be_made_is_an_error() -> None:
    unread = {OPERATOR_ADMISSION: Unread("Forbidden", "no", "ask")}
    assert judged(checks.operator_kinds, kinds(known=unread)).status is Status.ERROR


def made(*pods: str) -> OperatorEvidence:
    """Evidence of a probe job of two, with these pods."""
    job = Ref("kubeflow.org/v1", "TFJob", "kfv-smoke-1", "kfv-1")
    group = Group("kfv-1", "uid-g", 2, "Inqueue", queue="default")
    members = tuple(Member(name, name, "volcano", group="kfv-1", node="n1") for name in pods)
    return OperatorEvidence(job, "default", group=group, pods=members)


def test_a_job_that_becomes_a_gang_passes() -> None:
    outcome = judged(checks.podgroup_made, known(operator(), evidences={TRAINING_JOB: made("w-0", "w-1")}))
    assert (outcome.status, bool(outcome.objects)) == (Status.PASS, True)


def test_pods_that_came_only_when_the_job_was_touched_are_a_warning() -> None:
    evidence = replace(made("w-0", "w-1"), nudged=True)
    outcome = judged(checks.podgroup_made, known(operator(), evidences={TRAINING_JOB: evidence}))
    assert (outcome.status, outcome.reason) == (Status.WARN, "Nudged")
    assert "kubeflow/trainer#1574" in outcome.todo


def test_an_operator_that_is_simulated_proves_nothing() -> None:
    node = obj("Node", "kwok", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}}, spec={}, status={})
    simulated = pod("kubeflow/o", owner=COMPONENT, spec={"nodeName": "kwok", "containers": []})
    found = known(operator(), simulated, node, evidences={TRAINING_JOB: made("w-0", "w-1")})
    assert judged(checks.podgroup_made, found).reason == "Simulated"
    assert judged(checks.operator_after_volcano, found).reason == "Simulated"


def hook(name: str, group: str, plural: str, **more: Any) -> Object:
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [plural]}
    entry = {"name": name, "clientConfig": {"url": "https://a"}, "rules": [rule], **more}
    return obj("MutatingWebhookConfiguration", name, webhooks=[entry])


HOOKS = (
    hook("groups.example", "scheduling.volcano.sh", "podgroups"),
    hook("pods.example", "", "pods"),
    hook("optional.example", "", "pods", failurePolicy="Ignore"),
    hook("others.example", "", "pods", namespaceSelector={"matchLabels": {"team": "a"}}),
)


def webhooks_among(outcome: Outcome) -> set[str]:
    (causes,) = outcome.because
    return {item.name for item in causes if isinstance(item, Ref) and item.kind == "Webhook"}


def test_pods_that_do_not_come_may_be_kept_out_by_a_webhook() -> None:
    outcome = judged(checks.podgroup_made, known(operator(), *HOOKS, evidences={TRAINING_JOB: made("w-0")}))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "PodsMissing")
    assert webhooks_among(outcome) == {"groups.example", "pods.example"}


def test_a_group_that_does_not_come_may_be_the_operators_or_a_webhooks_fault() -> None:
    missing = replace(made(), group=None)
    outcome = judged(checks.podgroup_made, known(operator(), *HOOKS, evidences={TRAINING_JOB: missing}))
    assert outcome.reason == "NoPodGroup"
    assert webhooks_among(outcome) == {"groups.example"}
    assert ref("Deployment", NAME) in outcome.because[0]


def test_the_gang_through_the_operator_is_judged_where_there_is_a_real_one() -> None:
    outcome = judged(checks.gang_through_operator, known(operator(), evidences={TRAINING_JOB: made("w-0", "w-1")}))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.ERROR, "NotReached", ("G5",))
    assert judged(checks.gang_through_operator, known(operator(), gang_scheduler="none")).reason == "GangNotAsked"
    assert judged(checks.gang_through_operator, facts()).reason == "NotExpected"


OLD = operator("--enable-gang-scheduling=true", image=IMAGE + TAGS["1.5.0"])


def gang(phase: str = "Inqueue", seconds_ago: float = 100, owner: str = "kubeflow.org/v1 TFJob") -> Object:
    version, kind = owner.split()
    owned = {"apiVersion": version, "kind": kind, "name": "mnist", "uid": "1"}
    found = obj("PodGroup", "team/mnist", spec={"minMember": 2}, status={"phase": phase})
    found["metadata"] |= {"ownerReferences": [owned], "creationTimestamp": instant(seconds_ago)}
    return found


def of_gang(name: str) -> Object:
    found = pod("team/mnist-0")
    found["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": name}
    return found


def test_a_job_whose_old_operator_missed_its_gang_is_told_with_the_kick_for_it() -> None:
    outcome = checks.operator_awake(known(OLD, gang(), of_gang("another")))
    assert (outcome.status, outcome.reason) == (Status.WARN, "OperatorAsleep")
    assert [(item.kind, item.namespace, item.name) for item in outcome.objects] == [("TFJob", "team", "mnist")]
    (command,) = outcome.changes
    assert command.startswith("kubectl -n team annotate tfjob.kubeflow.org mnist --overwrite kfv.io/look-again=")


@pytest.mark.parametrize(
    "rest",
    [
        (gang("Pending"),),
        (gang("Running"),),
        (gang(seconds_ago=30),),
        (gang(), of_gang("mnist")),
        (gang(owner="batch.volcano.sh/v1alpha1 Job"),),
        (),
    ],
    ids=["waits", "runs", "just made", "has a pod", "a Volcano job", "none"],
)
def test_a_gang_that_waits_runs_or_was_just_made_is_not_missed(rest: tuple[Object, ...]) -> None:
    assert checks.operator_awake(known(OLD, *rest)).status is Status.PASS


def test_an_operator_that_watches_podgroups_misses_none() -> None:
    outcome = checks.operator_awake(known(operator("--gang-scheduler-name=volcano"), gang()))
    assert (outcome.status, outcome.reason) == (Status.SKIP, "NotAffected")
