"""When a probe pod counts as ended."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.experiment.ended import UNSEEN, is_progress, phase_of, watch_to_end
from kubeflow_volcano.experiment.session import Session
from tests.samples.facts import pod

RUNS: dict[str, Any] = {"running": {}}
ENDED: dict[str, Any] = {"terminated": {"exitCode": 0}}
FAILED: dict[str, Any] = {"terminated": {"exitCode": 1}}


@pytest.mark.parametrize(
    ("phase", "states", "expected"),
    [
        ("Pending", {}, "Pending"),
        ("Running", {"probe": RUNS}, "Running"),
        ("Succeeded", {"probe": ENDED}, "Succeeded"),
        ("Running", {"probe": ENDED, "linkerd-proxy": RUNS}, "Succeeded"),
        ("Running", {"linkerd-proxy": RUNS, "probe": FAILED}, "Failed"),
        ("Running", {"probe": RUNS, "linkerd-proxy": FAILED}, "Running"),
    ],
)
def test_a_container_beside_the_probes_own_does_not_keep_it_from_ending(
    phase: str, states: dict[str, Any], expected: str
) -> None:
    statuses = [{"name": name, "state": state} for name, state in states.items()]
    assert phase_of(pod("kfv/a", status={"phase": phase, "containerStatuses": statuses})) == expected


def test_a_pod_that_nobody_has_looked_at_is_pending() -> None:
    assert phase_of(pod("kfv/a", status={})) == "Pending"


NORMAL, WARNING = {"type": "Normal"}, {"type": "Warning"}


@pytest.mark.parametrize(
    ("kind", "news", "obj"), [("Pod", "MODIFIED", {}), ("Event", "ADDED", NORMAL)], ids=["pod", "event"]
)
def test_a_change_of_the_pod_and_news_about_it_are_progress(kind: str, news: Any, obj: Any) -> None:
    assert is_progress(Change(Subject("v1", kind), news, (obj,), 0.0))


@pytest.mark.parametrize(
    ("kind", "news", "obj"),
    [("Pod", "RESET", {}), ("Event", "ADDED", WARNING), ("Event", "MODIFIED", NORMAL), ("Event", "RESET", NORMAL)],
)
def test_what_is_repeated_or_warns_is_no_progress(kind: str, news: Any, obj: Any) -> None:
    assert not is_progress(Change(Subject("v1", kind), news, (obj,), 0.0))


@pytest.mark.parametrize(
    ("annotations", "reason"), [({}, UNSEEN), ({"volume.kubernetes.io/selected-node": "n1"}, "TimedOut")]
)
def test_a_scheduler_that_waits_for_a_claim_has_looked_at_the_pod(
    annotations: dict[str, str], reason: str, api: Any
) -> None:
    resources = [
        {"kind": kind, "name": f"{kind.lower()}s", "namespaced": True}
        for kind in ("Pod", "Event", "PersistentVolumeClaim")
    ]
    claim = {"metadata": {"name": "c", "namespace": "kfv", "uid": "c", "annotations": annotations}}
    empty = {"metadata": {"resourceVersion": "1"}, "items": []}
    api.on("GET", "/api/v1", api.reply(body={"resources": resources}))
    api.on("GET", "/api/v1/namespaces/kfv/persistentvolumeclaims/c", api.reply(body=claim))
    for plural in ("events", "pods"):
        api.on("GET", f"/api/v1/namespaces/kfv/{plural}", api.reply(body=empty))
    waiting = pod("kfv/a", status={"phase": "Pending"})
    waiting["spec"] = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    assert watch_to_end(Session(api.connect()), waiting, 0.2).reason == reason
