"""A6 and C2 to C8 on literal facts: what is not well, which check owns it, which only follows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.catalog.symptoms.read import Symptom, recognise, symptoms
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.reach.images import images_arrive
from kubeflow_volcano.validators.checks.workloads import workloads as checks
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status
from kubeflow_volcano.validators.subjects.pods import POD_NOTES, WINDOW, PodNotes, Window
from tests.samples.facts import deployment, facts, instant, node, obj, pod, ref


def waiting(reason: str, message: str = "", **container: Any) -> Object:
    state = {"waiting": {"reason": reason, "message": message}}
    return {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [{"name": "main", "image": "example/image:v1", "state": state} | container],
    }


def unplaced(message: str) -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


NO_NODE: Object = {"containers": [{"name": "main"}]}


def test_a_healthy_deployment_and_its_pod_pass() -> None:
    known = facts(deployment("kubeflow/a"), pod("kubeflow/a-5d9-x", owner="a"))
    assert checks.deployments(known).status is Status.PASS
    assert [item.name for item in checks.pods_ready(known).objects] == ["a-5d9-x"]


def test_nothing_to_look_at_is_a_skip_unless_something_is_expected() -> None:
    assert checks.deployments(facts()).status is Status.SKIP
    outcome = checks.deployments(facts(workloads=["training-operator Deployment kubeflow/training-operator"]))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "Missing", ())


def test_an_image_that_does_not_exist_belongs_to_a6_and_c2_follows() -> None:
    message = 'failed to resolve reference "docker.io/x/y:z": docker.io/x/y:z: not found'
    known = facts(
        deployment("ns/a", available=0), pod("ns/a-5d9-x", owner="a", status=waiting("ErrImagePull", message))
    )
    cause, consequence = images_arrive(known), checks.deployments(known)
    assert (cause.status, cause.reason, cause.because) == (Status.FAIL, "ImageMissing", ())
    assert "example/image:v1" in cause.message
    assert (consequence.status, consequence.because) == (Status.FAIL, ("A6",))
    assert checks.no_restart_loop(known).status is Status.PASS


def test_while_a_pull_backs_off_the_events_say_why() -> None:
    sick = pod("ns/a", status=waiting("ImagePullBackOff", 'Back-off pulling image "x"'))
    notes = {sick["metadata"]["uid"]: PodNotes(("Failed to pull image: x509: unknown authority",))}
    outcome = images_arrive(facts(sick, known={POD_NOTES: notes}))
    assert (outcome.reason, "x509" in outcome.message) == ("RegistryCertificate", True)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("dial tcp: lookup gcr.io: no such host", "RegistryNameUnknown"),
        ("dial tcp 142.251.8.82:443: i/o timeout", "RegistryUnreachable"),
        ("unexpected status from HEAD request to https://m.lan/v2/a/manifests/1: 403 Forbidden", "RegistryRefuses"),
        ("no match for platform in manifest: not found", "OtherArchitecture"),
        ("x509: certificate has expired or is not yet valid: current time 2022 is before 2026", "ClockBehind"),
        ("unexpected status code 401 Unauthorized", "ImageDenied"),
        ("toomanyrequests: rate limit", "RegistryRateLimit"),
        ("something nobody knows", "ErrImagePull"),
    ],
)
def test_the_class_of_a_pull_failure_is_told(message: str, reason: str) -> None:
    assert images_arrive(facts(pod("ns/a", status=waiting("ErrImagePull", message)))).reason == reason


def test_each_pod_keeps_its_own_remedy() -> None:
    messages = {"ns/a": "502 Bad Gateway", "ns/b": "403 Forbidden", "ns/c": "403 Forbidden"}
    sick = [pod(name, status=waiting("ErrImagePull", message)) for name, message in messages.items()]
    outcome = images_arrive(facts(*sick))
    assert outcome.observed == {"Pod ns/a": "RegistryUnavailable"} | {
        f"Pod ns/{name}": "RegistryRefuses" for name in "bc"
    }
    first, _, second = outcome.todo.partition(" For Pod ns/b, Pod ns/c: ")
    assert first.startswith("For Pod ns/a: wait")
    assert "another mirror" in second
    alone = images_arrive(facts(sick[0]))
    assert alone.todo.startswith("wait")


def test_a_container_that_is_not_created_is_no_failed_pull() -> None:
    outcome = images_arrive(facts(pod("ns/a", status=waiting("CreateContainerError", "context deadline exceeded"))))
    assert outcome.reason == "CreateContainerError"


CREATING = {"name": "m", "image": "example/image:v1", "state": {"waiting": {"reason": "ContainerCreating"}}}


def creating(*events: str, **more: Any) -> tuple[Object, Facts]:
    sick = pod("ns/a", status={"phase": "Pending", "containerStatuses": [CREATING]})
    sick["spec"]["nodeName"] = "n1"
    return sick, facts(sick, known={POD_NOTES: {sick["metadata"]["uid"]: PodNotes(events, **more)}})


def test_a_sandbox_image_that_cannot_be_pulled_is_a6s_and_says_what_to_set() -> None:
    (symptom,) = (item for item in symptoms() if item.id == "sandbox-image")
    _, known = creating(symptom.example)
    outcome = images_arrive(known)
    assert (outcome.status, outcome.reason, outcome.todo) == (Status.FAIL, "SandboxImage", symptom.todo)
    assert "registry" in outcome.message
    assert outcome.commands[1:] == ("ssh n1 'crictl info | grep -i sandboxImage'",)
    assert checks.pods_ready(known).status is Status.PASS


def test_a_pull_that_goes_on_and_on_is_told_from_a_pod_that_is_set_up() -> None:
    _, known = creating(pulling='Pulling image "example/image:v1"', since=instant(900))
    outcome = checks.pods_ready(known)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ImagePulling")
    assert re.search('Node n1 .* 900 s: Pulling image "example/image:v1"', outcome.message)


def test_a_crash_loop_belongs_to_c7_with_the_last_words_of_the_log() -> None:
    ended = {"terminated": {"exitCode": 2, "reason": "Error"}}
    sick = pod("ns/a", status=waiting("CrashLoopBackOff", restartCount=4, lastState=ended))
    log = "starting\npanic: no configuration\n"
    known = facts(sick, known={POD_NOTES: {sick["metadata"]["uid"]: PodNotes((), log)}})
    outcome = checks.no_restart_loop(known)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "CrashLoopBackOff")
    assert "panic: no configuration" in outcome.message
    assert outcome.evidence == {"ns_a.log": log}
    others = checks.pods_ready(known)
    assert (others.status, others.message.startswith("0 pods ")) == (Status.PASS, True)
    assert "1 more reported" in others.message


def test_a_user_s_job_that_crashes_is_told_and_not_held_against_the_platform() -> None:
    sick = pod("kubeflow/job-worker-0", status=waiting("CrashLoopBackOff", restartCount=4))
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "job", "controller": True}
    sick["metadata"]["ownerReferences"] = [owner]
    outcome = checks.no_restart_loop(facts(sick))
    assert (outcome.status, outcome.reason) == (Status.WARN, "CrashLoopBackOff")


def test_a_crash_loop_of_volcano_may_come_from_a_panic() -> None:
    sick = pod("volcano-system/s", owner="volcano-scheduler", status=waiting("CrashLoopBackOff", restartCount=4))
    known = facts(sick, workloads=("volcano Deployment volcano-system/volcano-scheduler",))
    assert checks.no_restart_loop(known).because == ("F7",)
    assert checks.no_restart_loop(facts(sick)).because == ()


def test_a_crash_loop_of_the_training_operator_may_come_from_its_arguments() -> None:
    sick = pod("kubeflow/o-5d9-x", owner="training-operator", status=waiting("CrashLoopBackOff", restartCount=4))
    sick["metadata"]["ownerReferences"][0]["name"] = "training-operator-5d9"
    assert checks.no_restart_loop(facts(sick)).because == ("G1",)


def test_one_own_cause_beside_a_consequence_stands() -> None:
    known = facts(
        pod("kubeflow/o", owner="training-operator", status=waiting("CrashLoopBackOff", restartCount=4)),
        pod("ns/a", status=waiting("CrashLoopBackOff", restartCount=4)),
    )
    outcome = checks.no_restart_loop(known)
    assert (outcome.because, len(outcome.objects)) == ((), 2)


def test_restarts_within_the_window_fail_and_old_ones_warn() -> None:
    calm = pod("ns/a")
    assert checks.no_restart_loop(
        facts(calm, known={WINDOW: Window(10, restarted={ref("Pod", "ns/a"): 1})})
    ).reason == ("Restarting")
    calm["status"]["containerStatuses"][0]["restartCount"] = 6
    assert checks.no_restart_loop(facts(calm)).status is Status.WARN
    calm["status"]["containerStatuses"][0]["restartCount"] = 5
    assert checks.no_restart_loop(facts(calm)).status is Status.PASS


@pytest.mark.parametrize(
    ("ends", "reason", "told"),
    [
        ([(3, "Error", 2)], "Restarting", "Error, exit code 2"),
        ([(3, "OOMKilled", 137)], "OOMKilled", "OOMKilled, exit code 137"),
        ([(500, "OOMKilled", 137), (3, "Error", 2)], "Restarting", "Error, exit code 2"),
    ],
    ids=["crash", "memory", "memory of another one long ago"],
)
def test_a_pod_that_is_ready_again_tells_how_its_container_ended(
    ends: list[tuple[float, str, int]], reason: str, told: str
) -> None:
    states = [{"reason": why, "exitCode": code, "finishedAt": instant(ago)} for ago, why, code in ends]
    again = pod("ns/a")
    again["status"]["containerStatuses"] = [
        {"name": "main", "ready": True, "restartCount": 1, "lastState": {"terminated": state}} for state in states
    ]
    outcome = checks.no_restart_loop(facts(again, known={WINDOW: Window(10, restarted={ref("Pod", "ns/a"): 1})}))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason)
    assert told in outcome.message


@pytest.mark.parametrize("ready", [True, False], ids=["ready now", "not ready now"])
def test_a_pod_that_flaps_fails_whatever_it_is_now(*, ready: bool) -> None:
    flapping = pod("ns/a")
    if not ready:
        flapping["status"]["conditions"] = [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "False"},
        ]
        flapping["status"]["containerStatuses"][0]["ready"] = False
    outcome = checks.pods_ready(facts(flapping, known={WINDOW: Window(10, flapped={ref("Pod", "ns/a"): 2})}))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "Flapping")


def test_without_a_window_nothing_of_pods_is_judged() -> None:
    with pytest.raises(CannotJudgeError):
        checks.pods_ready(facts(pod("ns/a"), known={WINDOW: Unread("Forbidden", "no", "ask")}))


@pytest.mark.parametrize(("seconds", "status"), [(59, Status.WARN), (61, Status.FAIL)])
def test_a_pod_without_a_node_fails_after_a_minute(seconds: float, status: Status) -> None:
    late = pod("ns/a", metadata={"creationTimestamp": instant(seconds)}, spec=NO_NODE, status=unplaced("0/1 nodes"))
    assert checks.pods_placed(facts(late)).status is status


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu", "Insufficient"),
        ("0/3 nodes are available: 3 node(s) had untolerated taint", "Taints"),
        ("0/3 nodes are available: 1 node(s) had untolerated taint, 2 Insufficient cpu", "Insufficient"),
        ("0/3 nodes are available: 1 node(s) had untolerated taint, 2 didn't match node affinity/selector", "Affinity"),
        ("pod has unbound immediate PersistentVolumeClaims", "UnboundClaim"),
    ],
)
def test_the_class_of_a_placement_failure_is_told(message: str, reason: str) -> None:
    assert checks.pods_placed(facts(pod("ns/a", spec=NO_NODE, status=unplaced(message)))).reason == reason


def test_a_pod_that_no_scheduler_looked_at_names_its_scheduler() -> None:
    lost = pod("ns/a", spec=NO_NODE | {"schedulerName": "volcano"}, status={"phase": "Pending"})
    outcome = checks.pods_placed(facts(lost))
    assert (outcome.reason, outcome.because) == ("NotJudged", ("F1",))


def test_members_of_a_waiting_gang_are_not_counted() -> None:
    annotations = {"scheduling.k8s.io/group-name": "job"}
    member = pod("ns/w0", metadata={"annotations": annotations}, spec=NO_NODE, status=unplaced("gang"))
    outcome = checks.pods_placed(facts(member, pod("ns/a")))
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["a"])
    assert "1 members of gangs" in outcome.message


def test_pods_that_ran_to_their_end_or_are_being_deleted_do_not_count() -> None:
    ended = pod("ns/a", status={"phase": "Succeeded"})
    going = pod("ns/b", metadata={"deletionTimestamp": instant(5)}, status={"phase": "Pending"})
    assert checks.pods_ready(facts(ended, going)).status is Status.PASS


def test_an_evicted_pod_with_a_ready_replacement_is_a_warning_and_without_one_a_failure() -> None:
    evicted = pod("kubeflow/a-5d9-x", owner="a", status={"phase": "Failed", "reason": "Evicted"})
    newer = pod("kubeflow/a-5d9-y", owner="a")
    assert checks.pods_ready(facts(evicted, newer)).status is Status.WARN
    assert (checks.pods_ready(facts(evicted)).status, checks.pods_ready(facts(evicted)).reason) == ("fail", "Evicted")


def test_what_a_provisioner_left_of_a_volume_is_a_warning() -> None:
    name = "helper-pod-create-pvc-0a1b2c3d-0000-4000-8000-000000000001"
    failed = {"phase": "Failed", "reason": "Error"}
    outcome = checks.pods_ready(facts(pod(f"local-path-storage/{name}", status=failed)))
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.WARN, [name])
    assert "D5" in outcome.todo
    assert checks.pods_ready(facts(pod("local-path-storage/helper-pod-create", status=failed))).status is Status.FAIL


def test_an_expected_deployment_that_is_scaled_to_zero_fails_and_another_is_left_alone() -> None:
    known = facts(deployment("ns/a", replicas=0), deployment("ns/b"))
    assert checks.deployments(known).status is Status.PASS
    operator = ["training-operator Deployment kubeflow/training-operator"]
    outcome = checks.deployments(facts(deployment("kubeflow/training-operator", replicas=0), workloads=operator))
    assert (outcome.reason, outcome.because) == ("ScaledToZero", ())
    scheduler = ["volcano Deployment volcano-system/volcano-scheduler"]
    outcome = checks.deployments(facts(deployment("volcano-system/volcano-scheduler", replicas=0), workloads=scheduler))
    assert outcome.because == ("F1",)


def test_stale_status_is_not_ready() -> None:
    stale = deployment("ns/a")
    stale["metadata"]["generation"] = 2
    assert checks.deployments(facts(stale)).reason == "NotObserved"


def test_a_daemonset_for_no_node_warns() -> None:
    nowhere = obj("DaemonSet", "ns/d", spec={}, status={"desiredNumberScheduled": 0})
    assert (checks.daemon_sets(facts(nowhere)).status, checks.daemon_sets(facts(nowhere)).reason) == ("warn", "NoNodes")


def test_a_statefulset_with_too_few_ready_fails() -> None:
    spec = {"replicas": 2}
    half = obj("StatefulSet", "ns/s", spec=spec, status={"readyReplicas": 1, "updatedReplicas": 2})
    whole = obj("StatefulSet", "ns/s", spec=spec, status={"readyReplicas": 2, "updatedReplicas": 2})
    assert checks.stateful_sets(facts(half)).status is Status.FAIL
    assert checks.stateful_sets(facts(whole)).status is Status.PASS


def job(status: Object) -> Object:
    return obj("Job", "volcano-system/volcano-admission-init", spec={}, status=status)


def test_a_failed_job_fails_where_it_is_expected_and_warns_elsewhere() -> None:
    failed = job({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]})
    expected = ["kfp Job volcano-system/volcano-admission-init"]
    assert checks.jobs(facts(failed, workloads=expected)).reason == "BackoffLimitExceeded"
    assert checks.jobs(facts(failed)).status is Status.WARN


def test_a_running_job_is_late_only_where_it_is_expected() -> None:
    running = job({"active": 1})
    assert checks.jobs(facts(running)).status is Status.PASS
    assert (
        checks.jobs(facts(running, workloads=["kfp Job volcano-system/volcano-admission-init"])).reason == "NotComplete"
    )


def test_a_failed_pod_is_answered_for_by_its_job() -> None:
    dead = pod("volcano-system/i-x", owner="Job/volcano-admission-init", status={"phase": "Failed"})
    assert checks.pods_ready(facts(dead, pod("ns/a"))).status is Status.PASS


def test_probe_namespaces_and_ignored_ones_are_not_judged() -> None:
    space = obj("Namespace", "kfv-smoke-1", metadata={"labels": {"kfv.io/run": "1"}})
    sick = pod("kfv-smoke-1/p", status=waiting("ErrImagePull", "not found"))
    assert checks.pods_ready(facts(space, sick)).status is Status.SKIP
    labelled = pod("mine/p", metadata={"labels": {"kfv.io/run": "1"}}, status=waiting("ErrImagePull"))
    assert checks.pods_ready(facts(labelled)).status is Status.SKIP


def test_what_could_not_be_read_ends_the_judgement() -> None:
    known = facts(unread={"pods": Unread("Forbidden", "pods may not be read", "grant it")})
    with pytest.raises(CannotJudgeError) as caught:
        checks.pods_ready(known)
    assert (caught.value.outcome.status, caught.value.outcome.reason) == (Status.ERROR, "Forbidden")


def test_many_troubles_are_told_in_three_sentences_and_a_list() -> None:
    known = facts(*(pod(f"ns/p{index}", status=waiting("ErrImagePull", "not found")) for index in range(5)))
    outcome = images_arrive(known)
    assert "2 more: Pod ns/p3, Pod ns/p4." in outcome.message
    assert len(outcome.objects) == 5


# DaemonSets and nodes that are lost


def on_two_nodes(ready: int) -> Facts:
    """A DaemonSet of the system on a node that is Ready and on one that is lost."""
    status = {"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": ready}
    template = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "main", "image": "example/image:v1"}]}}
    found = obj(
        "DaemonSet", "kube-system/proxy", metadata={"generation": 1}, spec={"template": template}, status=status
    )
    of_set: Object = {
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "proxy", "controller": True}]
    }
    lost = pod(
        "kube-system/proxy-2",
        metadata=of_set,
        spec={"nodeName": "n2", "containers": [{"name": "main", "image": "example/image:v1"}]},
        status={"phase": "Pending"},
    )
    gone = {"conditions": [{"type": "Ready", "status": "Unknown"}], "allocatable": {"cpu": "2", "memory": "4Gi"}}
    return facts(found, pod("kube-system/proxy-1", metadata=of_set), lost, node("n1"), node("n2", status=gone))


def test_a_daemon_set_without_its_pod_on_a_lost_node_is_a_warning() -> None:
    known = on_two_nodes(ready=1)
    assert checks.pods_ready(known).status is Status.WARN
    assert checks.daemon_sets(known).status is Status.WARN


def test_a_daemon_set_that_lacks_more_pods_than_its_lost_one_fails() -> None:
    assert checks.daemon_sets(on_two_nodes(ready=0)).status is Status.FAIL


def test_a_crash_says_what_its_log_shows_and_each_pod_keeps_its_remedy() -> None:
    known = {item.id: item for item in symptoms()}
    ids = ("webhook-port-of-service", "cookie-secret-length")
    sick = {name: pod(f"ns/{name}", status=waiting("CrashLoopBackOff", restartCount=4)) for name in ids}
    frames = "\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:102 +0x2a\n"
    notes = {item["metadata"]["uid"]: PodNotes((), known[name].example + frames) for name, item in sick.items()}
    outcome = checks.no_restart_loop(facts(*sick.values(), known={POD_NOTES: notes}))
    assert "main.go:102" not in outcome.message
    for name in ids:
        assert known[name].example in outcome.message
        assert f"For Pod ns/{name}: {recognised(known[name].example).todo}" in outcome.todo


def recognised(text: str) -> Symptom:
    found = recognise(text, "exit")
    assert found
    return found


def leaving(ago: float, *finalizers: str) -> Object:
    meta = {"deletionTimestamp": instant(ago), "finalizers": list(finalizers)}
    return pod("kubeflow/a-5d9-old", owner="a", metadata=meta)


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        (leaving(900, "corp.example/audit"), "HeldByFinalizer"),
        (leaving(900), "NotEnded"),
    ],
)
def test_a_pod_that_does_not_go_is_a_warning_and_says_what_holds_it(old: Object, reason: str) -> None:
    outcome = checks.pods_ready(facts(deployment("kubeflow/a"), pod("kubeflow/a-5d9-x", owner="a"), old))
    assert (outcome.status, outcome.reason) == (Status.WARN, reason)
    assert [item.name for item in outcome.objects] == ["a-5d9-old"]
    assert ("corp.example/audit" in outcome.todo) == bool(old["metadata"]["finalizers"])


@pytest.mark.parametrize("old", [leaving(20, "corp.example/audit"), leaving(-3600)])
def test_a_pod_may_take_its_time_to_end(old: Object) -> None:
    known = facts(deployment("kubeflow/a"), pod("kubeflow/a-5d9-x", owner="a"), old)
    assert checks.pods_ready(known).status is Status.PASS
