"""Pods that have a node and do not run."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import Explanation
from kubeflow_volcano.validators.subjects.pods import PodNotes
from tests.samples.jobs import explained, group, member, node, reasons, tfjob


def on_node(
    state: Object, *, init: bool = False, events: tuple[str, ...] = (), log: str = "", **more: Any
) -> Explanation:
    """The answer for one pod that was placed and is in that state."""
    job = tfjob(workers=1)
    field = "initContainerStatuses" if init else "containerStatuses"
    container = {"name": "c", "image": "example/image:v1", "restartCount": 0, "state": state, **more}
    status = {"phase": "Pending", field: [container], "conditions": [{"type": "PodScheduled", "status": "True"}]}
    pod = member(job, 0, on="n1", status=status)
    if init:
        del pod["status"]["containerStatuses"]
    notes = {pod["metadata"]["uid"]: PodNotes(events, log)}
    return explained(job, group(job, 1, phase="Running"), pod, notes=notes)


@pytest.mark.parametrize(
    ("waiting", "reason", "text"),
    [
        ({"reason": "ImagePullBackOff", "message": "manifest unknown"}, "ImageMissing", "example/image:v1"),
        (
            {"reason": "ErrImageNeverPull", "message": "image is not present with pull policy of Never"},
            "ErrImageNeverPull",
            "pull policy of Never",
        ),
        ({"reason": "ErrImagePull", "message": "x509: unknown authority"}, "RegistryCertificate", "x509"),
        (
            {"reason": "CreateContainerConfigError", "message": 'configmap "settings" not found'},
            "CreateContainerConfigError",
            'configmap "settings" not found',
        ),
    ],
)
def test_a_container_that_waits_says_for_what(waiting: Object, reason: str, text: str) -> None:
    answer = on_node({"waiting": waiting})
    assert reasons(answer) == [reason]
    assert text in answer.findings[0].problem.found


def test_a_container_that_crashes_shows_its_last_words() -> None:
    ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
    answer = on_node({"waiting": {"reason": "CrashLoopBackOff"}}, log="no such dataset", lastState=ended)
    assert reasons(answer) == ["CrashLoopBackOff"]
    assert answer.findings[0].details == ("no such dataset",)


def test_an_init_container_that_fails_or_runs_on() -> None:
    failed = on_node({"terminated": {"exitCode": 3}}, init=True, log="cannot resolve mnist-master-0")
    assert reasons(failed) == ["InitContainerFails"]
    assert "exit code 3" in failed.findings[0].problem.found
    assert failed.findings[0].details == ("cannot resolve mnist-master-0",)
    running = on_node({"running": {"startedAt": "2027-01-01T00:00:00Z"}}, init=True)
    assert reasons(running) == ["InitContainerRuns"]


def test_a_pod_that_the_node_cannot_start_shows_what_the_node_said() -> None:
    said = ('MountVolume.SetUp failed for volume "keys": secret "keys" not found',)
    answer = on_node({"waiting": {"reason": "ContainerCreating"}}, events=said)
    assert reasons(answer) == ["SecretMissing"]
    assert 'secret "keys"' in answer.findings[0].problem.found


def test_pods_with_the_same_trouble_are_one_finding() -> None:
    job = tfjob()
    bad = {"name": "c", "image": "i", "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    pods = [member(job, number, on="n1", status={"phase": "Pending", "containerStatuses": [bad]}) for number in (0, 1)]
    answer = explained(job, group(job, phase="Running"), *pods)
    assert len(answer.findings) == 1
    assert len(answer.findings[0].objects) == 2
    assert "Pod team-a/mnist-worker-1" in answer.findings[0].details[0]


def test_an_init_container_that_waits_for_a_pod_with_trouble_is_a_consequence() -> None:
    job = tfjob(workers=2)
    waits = {"name": "init", "restartCount": 0, "state": {"running": {"startedAt": "2027-01-01T00:00:00Z"}}}
    waiting = member(job, 0, on="n1", status={"phase": "Pending", "initContainerStatuses": [waits]})
    del waiting["status"]["containerStatuses"]
    missing = {"name": "c", "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}
    failing = member(job, 1, on="n1", status={"phase": "Pending", "containerStatuses": [missing]})
    around = group(job, 2, phase="Running"), waiting
    assert reasons(explained(job, *around, failing)) == ["ImageMissing"]
    assert reasons(explained(job, *around, member(job, 1, on="n1"))) == ["InitContainerRuns"]


def test_a_container_that_is_about_to_be_restarted_shows_its_exit_code() -> None:
    ended = {"terminated": {"exitCode": 3, "reason": "Error"}}
    job = tfjob(workers=1)
    container = {"name": "c", "image": "example/image:v1", "restartCount": 2, "state": ended}
    pod = member(job, 0, on="n1", ready=False, status={"phase": "Running", "containerStatuses": [container]})
    notes = {pod["metadata"]["uid"]: PodNotes((), "no data")}
    (found,) = explained(job, group(job, 1, phase="Running"), pod, notes=notes).findings
    assert (found.reason, found.details) == ("ContainerFails", ("no data",))
    for word in ("container c ", "exit code 3", "2 restarts"):
        assert word in found.problem.found
    assert found.commands == ("kubectl -n team-a logs mnist-worker-0 -c c",)


def test_pods_whose_containers_fail_alike_are_one_finding() -> None:
    job = tfjob(workers=2)
    state = {"name": "c", "restartCount": 2, "state": {"terminated": {"exitCode": 3}}}
    status = {"phase": "Running", "containerStatuses": [state]}
    pods = [member(job, number, on="n1", ready=False, status=status) for number in range(2)]
    assert reasons(explained(job, group(job, 2, phase="Running"), *pods)) == ["ContainerFails"]


def test_a_pod_on_a_node_that_is_missing_or_not_ready() -> None:
    job = tfjob(workers=1)
    around = group(job, 1, phase="Running"), member(job, 0, on="ghost", status={"phase": "Pending"}, ready=False)
    assert reasons(explained(job, *around)) == ["NodeMissing"]
    lost = node("ghost")
    lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert reasons(explained(job, *around, lost)) == ["NodeNotReady"]
    assert "NodeMissing" not in reasons(explained(job, *around, node("ghost")))
