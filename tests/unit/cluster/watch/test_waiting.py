"""Waits end when there is nothing to wait for, early on what cannot heal, and with the cause in words."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Ref, new_object
from kubeflow_volcano.cluster.readiness import State
from kubeflow_volcano.cluster.watch import waiting
from kubeflow_volcano.cluster.watch.observer import Change
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent

REF = Ref("apps/v1", "Deployment", "ns", "web")
DEPLOYMENTS, SETS = "/apis/apps/v1/namespaces/ns/deployments", "/apis/apps/v1/namespaces/ns/replicasets"
PODS = "/api/v1/namespaces/ns/pods"
REVISION = {"deployment.kubernetes.io/revision": "2"}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_GRACE_SECONDS", 0.5)
    monkeypatch.setattr(waiting, "_SETTLE_SECONDS", 0.2)
    monkeypatch.setattr(waiting, "_TICK_SECONDS", 0.1)


def web(available: int) -> dict[str, Any]:
    return new_object(
        "apps/v1",
        "Deployment",
        "web",
        "ns",
        meta={"uid": "d", "generation": 1, "annotations": REVISION, "resourceVersion": "9"},
        spec={"replicas": 1},
        status={"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": available},
    )


def replica_set(uid: str, revision: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"web-{uid}",
            "namespace": "ns",
            "uid": uid,
            "annotations": {"deployment.kubernetes.io/revision": revision},
            "ownerReferences": [{"uid": "d"}],
        }
    }


def pod(owner: str, reason: str) -> dict[str, Any]:
    container = {"name": "c", "image": "example.com/a:1", "state": {"waiting": {"reason": reason}}, "restartCount": 2}
    meta = {"name": f"web-{owner}-x", "namespace": "ns", "uid": f"p{owner}", "ownerReferences": [{"uid": owner}]}
    return {"metadata": meta, "status": {"phase": "Pending", "containerStatuses": [container]}}


def serve(api: Any, path: str, *items: dict[str, Any], events: list[Any] | None = None) -> None:
    def answer(request: Any) -> Any:
        if "watch" in request.query:
            lines, events_left = list(events or ()), events
            if events_left:
                events_left.clear()
            return api.reply(lines=lines, hold=20.0)
        return api.reply(body={"metadata": {"resourceVersion": "5"}, "items": list(items)})

    api.on("GET", path, answer)


def test_nothing_to_wait_for_asks_nothing(api: Any) -> None:
    assert wait_ready(api.connect(), [], Deadline(1), silent) == {}
    assert [request.path for request in api.requests] == ["/version"]


def test_it_ends_when_a_change_makes_the_object_ready(api: Any) -> None:
    serve(api, DEPLOYMENTS, web(0), events=[{"type": "MODIFIED", "object": web(1)}])
    serve(api, SETS)
    serve(api, PODS)
    answers = wait_ready(api.connect(), [REF], Deadline(3600), silent)
    assert answers[REF].state is State.READY


def test_a_bad_image_ends_it_early_and_is_named(api: Any) -> None:
    serve(api, DEPLOYMENTS, web(0))
    serve(api, SETS, replica_set("new", "2"))
    serve(api, PODS, pod("new", "ImagePullBackOff"))
    answer = wait_ready(api.connect(), [REF], Deadline(3600), silent)[REF]
    assert (answer.state, answer.reason) == (State.FAILED, "ImagePullBackOff")
    assert "0 of 1 " in answer.message
    assert "example.com/a:1" in answer.message


def late(condition: str = "ProgressDeadlineExceeded") -> dict[str, Any]:
    found = web(0)
    found["status"]["conditions"] = [{"type": "Progressing", "status": "False", "reason": condition}]
    return found


def test_images_may_be_pulled_for_longer_than_a_deployment_waits(api: Any) -> None:
    serve(api, DEPLOYMENTS, late(), events=[{"type": "MODIFIED", "object": web(1)}])
    serve(api, SETS, replica_set("new", "2"))
    serve(api, PODS, pod("new", "ContainerCreating"))
    answer = wait_ready(api.connect(), [REF], Deadline(30), silent)[REF]
    assert answer.ready
    serve(api, DEPLOYMENTS, late())
    answer = wait_ready(api.connect(), [REF], Deadline(1.5), silent)[REF]
    assert (answer.state, answer.reason) == (State.WAIT, "ProgressDeadlineExceeded")
    assert "ContainerCreating" in answer.message


@pytest.mark.parametrize("reason", ["ErrImagePull", "CrashLoopBackOff", "Other"])
def test_the_deadline_of_a_deployment_ends_a_wait_in_which_nothing_is_pulled(api: Any, reason: str) -> None:
    serve(api, DEPLOYMENTS, late())
    serve(api, SETS, replica_set("new", "2"))
    serve(api, PODS, pod("new", reason))
    answer = wait_ready(api.connect(), [REF], Deadline(30), silent)[REF]
    assert answer.state is State.FAILED


def test_pods_of_an_older_revision_do_not_count(api: Any) -> None:
    serve(api, DEPLOYMENTS, web(0))
    serve(api, SETS, replica_set("old", "1"), replica_set("new", "2"))
    serve(api, PODS, pod("old", "ImagePullBackOff"), pod("new", "ContainerCreating"))
    answer = wait_ready(api.connect(), [REF], Deadline(1), silent)[REF]
    assert answer.state is State.WAIT
    assert "ContainerCreating" in answer.message
    assert "ImagePullBackOff" not in answer.message


def test_an_object_that_vanishes_is_told(api: Any) -> None:
    serve(api, DEPLOYMENTS, web(0), events=[{"type": "DELETED", "object": web(0)}])
    serve(api, SETS)
    serve(api, PODS)
    answer = wait_ready(api.connect(), [REF], Deadline(60), silent)[REF]
    assert (answer.state, answer.reason) == (State.FAILED, "Vanished")


def test_an_object_that_goes_before_all_is_listed_has_vanished() -> None:
    view = waiting.View((REF,))
    own, *others = sorted(waiting.subjects([REF]), key=lambda subject: subject.kind != REF.kind)
    view.take(Change(own, "RESET", (web(0),), 0))
    view.take(Change(own, "DELETED", (web(0),), 0))
    for subject in others:
        view.take(Change(subject, "RESET", (), 0))
    assert view.complete
    assert view.answer(REF).reason == "Vanished"


def test_an_object_that_never_comes_is_waited_for_until_the_deadline(api: Any) -> None:
    serve(api, DEPLOYMENTS)
    serve(api, SETS)
    serve(api, PODS)
    started = time.monotonic()
    answer = wait_ready(api.connect(), [REF], Deadline(1.5), silent)[REF]
    assert (answer.state, answer.reason) == (State.WAIT, "NotFound")
    assert time.monotonic() - started >= 1.5


def test_progress_tells_what_is_waited_for(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PACE_SECONDS", 0.4)
    serve(api, DEPLOYMENTS, web(0))
    serve(api, SETS)
    serve(api, PODS)
    lines: list[str] = []
    wait_ready(api.connect(), [REF], Deadline(1), lines.append)
    assert lines
    assert lines[0].startswith("waiting for 1 of 1: Deployment ns/web has 0 of 1 replicas available")
    assert len(lines) <= 2
