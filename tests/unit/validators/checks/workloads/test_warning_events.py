"""C10 on literal facts, and how events are read."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kubeflow_volcano.catalog.symptoms.read import symptoms
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.workloads import warning_events as checks
from kubeflow_volcano.validators.checks.workloads.warning_events import WARNING_EVENTS, Warned
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status
from tests.samples.facts import NOW, deployment, facts, instant, obj, pod

OWNER = Ref("apps/v1", "Deployment", "kubeflow", "a")
SPACE = obj("Namespace", "kubeflow", status={"phase": "Active"})


def warned(
    kind: str = "Pod", name: str = "a", *, ago: float = 100, reason: str = "FailedMount", count: int = 1
) -> Warned:
    version = {"Pod": "v1", "PersistentVolumeClaim": "v1", "Service": "v1", "HorizontalPodAutoscaler": "autoscaling/v2"}
    about = Ref(version.get(kind, "apps/v1"), kind, "kubeflow", name)
    return Warned(about, "", reason, f"{reason} of {name}", count, NOW - ago)


def ready(name: str = "kubeflow/a", *, ago: float) -> Object:
    made = pod(name)
    made["status"]["conditions"][0]["lastTransitionTime"] = instant(ago)
    return made


def judged(event: Warned, *objects: Object) -> Any:
    return checks.no_warning_events(facts(SPACE, *objects, known={WARNING_EVENTS: (event,)}))


def test_without_events_the_namespaces_pass() -> None:
    outcome = checks.no_warning_events(facts(SPACE))
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["kubeflow"])


def test_without_any_namespace_of_the_release_there_is_nothing_to_look_at() -> None:
    assert checks.no_warning_events(facts()).status is Status.SKIP


def test_an_event_about_a_pod_that_became_ready_after_it_is_history() -> None:
    outcome = judged(warned(ago=100), ready(ago=90))
    assert outcome.status is Status.PASS
    assert "1 are about objects" in outcome.message


def test_an_event_about_a_pod_that_was_ready_before_it_stands() -> None:
    outcome = judged(warned(ago=100, count=7), ready(ago=200))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.WARN, "FailedMount", ())
    assert outcome.observed == {"FailedMount": 7}
    assert "FailedMount of a" in outcome.evidence["events.log"]


def test_a_probe_that_failed_without_turning_its_pod_is_history_while_that_is_ready() -> None:
    event = warned(ago=100, reason="Unhealthy", count=2)
    assert judged(event, ready(ago=200)).status is Status.PASS
    unready = ready(ago=200)
    unready["status"]["conditions"][0]["status"] = "False"
    assert judged(event, unready).status is Status.WARN


def test_a_node_that_was_lost_is_history_while_the_pod_is_ready() -> None:
    event = warned(ago=100, reason="NodeNotReady")
    assert judged(event, ready(ago=200)).status is Status.PASS
    unready = ready(ago=200)
    unready["status"]["conditions"][0]["status"] = "False"
    assert judged(event, unready).status is Status.WARN


def test_events_about_what_is_gone_are_history() -> None:
    assert judged(warned(name="gone")).status is Status.PASS
    replaced = Warned(Ref("v1", "Pod", "kubeflow", "a"), "another-uid", "Failed", "", 1, NOW - 5)
    assert judged(replaced, ready(ago=200)).status is Status.PASS


def test_a_replica_set_speaks_for_its_deployment() -> None:
    event = replace(warned("ReplicaSet", "a-5d9", reason="FailedCreate"), owner=OWNER)
    assert judged(event, deployment("kubeflow/a")).status is Status.PASS
    outcome = judged(event, deployment("kubeflow/a", available=0))
    assert (outcome.status, outcome.because) == (Status.WARN, ("C2",))
    assert judged(event).status is Status.PASS
    assert judged(replace(event, owner=None, gone=True), deployment("kubeflow/a", available=0)).status is Status.PASS


def test_a_certificate_request_speaks_for_its_certificate() -> None:
    """cert-manager warns of an empty Issuer DN, as the PVC viewer's Certificate has one, and issues it all the same."""
    certificate = obj("Certificate", "kubeflow/viewer")
    event = replace(warned("CertificateRequest", "viewer-1", reason="BadConfig"), owner=Ref.of(certificate))
    for status, expected in (("True", Status.PASS), ("False", Status.WARN)):
        certificate["status"] = {"conditions": [{"type": "Ready", "status": status}]}
        assert judged(event, certificate).status is expected
    assert judged(replace(event, owner=None), certificate).status is Status.WARN


def test_what_only_has_a_similar_name_answers_for_nothing() -> None:
    """A ReplicaSet of its own beside a Deployment, and two Services of which one name begins with the other."""
    alone = warned("ReplicaSet", "a-5d9", reason="FailedCreate")
    assert judged(alone, deployment("kubeflow/a")).status is Status.WARN
    assert judged(alone, deployment("kubeflow/a", available=0)).because == ()
    longer = replace(alone, about=alone.about._replace(name="ab-5d9"), owner=OWNER._replace(name="ab"))
    broken = deployment("kubeflow/a", available=0), deployment("kubeflow/ab")
    assert judged(longer, *broken).status is Status.PASS
    labels = {"labels": {"kubernetes.io/service-name": "a-b"}}
    found = obj("EndpointSlice", "kubeflow/a-b-x", metadata=labels, endpoints=[{}], ports=[{"port": 80}])
    unbacked, backed = (
        obj("Service", f"kubeflow/{name}", spec={"selector": {"app": name}, "ports": [{"port": 80}]})
        for name in ("a", "a-b")
    )
    of_slice = warned("EndpointSlice", "a-b-x", reason="FailedToUpdateEndpointSlices")
    assert judged(of_slice, unbacked, backed, found).status is Status.PASS


def test_a_claim_that_is_bound_by_now_is_no_trouble() -> None:
    event = warned("PersistentVolumeClaim", reason="ProvisioningFailed")
    bound = obj("PersistentVolumeClaim", "kubeflow/a", spec={}, status={"phase": "Bound"})
    assert judged(event, bound).status is Status.PASS
    assert judged(event, bound | {"status": {"phase": "Pending"}}).status is Status.WARN


def test_an_event_about_a_kind_that_is_not_read_stands() -> None:
    assert judged(warned("HorizontalPodAutoscaler", reason="FailedGetResourceMetric")).status is Status.WARN


def test_an_autoscaler_of_simulated_pods_is_not_held_against_the_cluster() -> None:
    simulated = pod("kubeflow/a", metadata={"labels": {"rehearsal.kubeflow-volcano.io/simulated": "true"}})
    outcome = judged(warned("HorizontalPodAutoscaler", reason="FailedGetResourceMetric"), simulated)
    assert outcome.status is Status.PASS
    assert re.search("1 .*autoscalers of simulated", outcome.message)


def test_events_about_users_jobs_are_not_held_against_the_release() -> None:
    about = Ref("kubeflow.org/v1", "PaddleJob", "kubeflow", "gone")
    outcome = judged(Warned(about, "", "PaddleJobFailed", "it failed", 1, NOW - 5))
    assert outcome.status is Status.PASS
    assert re.search("1 .*users' jobs", outcome.message)


def test_events_about_endpoints_are_history_when_the_service_is_backed() -> None:
    labels = {"labels": {"kubernetes.io/service-name": "a"}}
    event = warned("Service", reason="FailedToUpdateEndpointSlices")
    service = obj("Service", "kubeflow/a", spec={"selector": {"app": "a"}, "ports": [{"port": 80}]})
    backed = obj("EndpointSlice", "kubeflow/a-x", metadata=labels, endpoints=[{}], ports=[{"port": 80}])
    assert judged(event, service, backed).status is Status.PASS
    assert judged(event, service).status is Status.WARN


def test_what_another_check_says_already_is_its_consequence() -> None:
    crashing = ready(ago=200)
    crashing["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    crashing["status"]["conditions"][0]["status"] = "False"
    assert judged(warned(reason="BackOff"), crashing).because == ("C7",)


def test_events_that_could_not_be_read_are_no_pass() -> None:
    with pytest.raises(CannotJudgeError):
        checks.no_warning_events(facts(SPACE, known={WARNING_EVENTS: Unread("Forbidden", "no", "ask")}))


def event(name: str, reason: str, **times: Any) -> Object:
    meta = {"name": name, "namespace": "kubeflow", "creationTimestamp": "2020-01-01T00:00:00Z"}
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": "kubeflow", "name": "a", "uid": "u"}
    return {"metadata": meta, "involvedObject": about, "reason": reason, "message": "m", "type": "Warning", **times}


@pytest.mark.parametrize(
    "made",
    [
        ("apps/v1", "ReplicaSet", "replicasets"),
        ("cert-manager.io/v1", "CertificateRequest", "certificaterequests"),
    ],
)
@pytest.mark.parametrize(
    ("uid", "owners", "owner", "gone"),
    [
        ("u", [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "b", "controller": True}], "b", False),
        ("u", [], None, False),
        ("v", [], None, True),
        (None, [], None, True),
    ],
)
def test_the_owner_of_what_a_controller_makes_is_read_from_it(
    api: Any,
    made: tuple[str, str, str],
    uid: str | None,
    owners: list[Object],
    owner: str | None,
    *,
    gone: bool,
) -> None:
    item = event("1", "FailedCreate", lastTimestamp=datetime.now(UTC).isoformat())
    item["involvedObject"] |= {"apiVersion": made[0], "kind": made[1]}
    other = item | {"metadata": item["metadata"] | {"name": "2"}}
    kinds = {"v1": ("Event", "events"), made[0]: made[1:]}
    for version, (kind, name) in kinds.items():
        resources = [{"kind": kind, "name": name, "namespaced": True}]
        path = "/api/v1" if version == "v1" else f"/apis/{version}"
        api.on("GET", path, api.reply(body={"resources": resources}))
    found = {"metadata": {"name": "a", "namespace": "kubeflow", "uid": uid, "ownerReferences": owners}}
    items = {"metadata": {"resourceVersion": "1"}, "items": [item, other]}
    api.on("GET", "/api/v1/namespaces/kubeflow/events", api.reply(body=items))
    path = f"/apis/{made[0]}/namespaces/kubeflow/{made[2]}/a"
    api.on("GET", path, api.reply(body=found) if uid else api.status(404, "NotFound", "no"))
    first, _ = WARNING_EVENTS.fetch(api.connect(), replace(facts(SPACE), taken=time.time()))
    assert (first.owner.name if first.owner else None, first.gone) == (owner, gone)
    assert len(api.seen("GET", path)) == 1


def test_events_of_the_last_minutes_are_read_by_either_api_s_times(api: Any) -> None:
    def stamp(ago: float) -> str:
        return datetime.fromtimestamp(time.time() - ago, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    items = [
        event("1", "Old", lastTimestamp=stamp(1000)),
        event("2", "Counted", lastTimestamp=stamp(10), count=4),
        event("3", "Series", eventTime=stamp(2000), series={"count": 6, "lastObservedTime": stamp(20)}),
        event("4", "Once", lastTimestamp=None, eventTime=stamp(30)),
    ]
    path = "/api/v1/namespaces/kubeflow/events"
    api.on("GET", "/api/v1", api.reply(body={"resources": [{"kind": "Event", "name": "events", "namespaced": True}]}))
    api.on("GET", path, api.reply(body={"metadata": {"resourceVersion": "1"}, "items": items}))
    found = WARNING_EVENTS.fetch(api.connect(), replace(facts(SPACE), taken=time.time()))
    assert [(item.reason, item.count) for item in found] == [("Once", 1), ("Series", 6), ("Counted", 4)]
    assert api.seen("GET", path)[0].query["fieldSelector"] == "type=Warning"


def test_each_object_has_the_remedy_of_what_its_event_says() -> None:
    (known,) = (item for item in symptoms() if item.id == "nfs-client-missing")
    event = replace(warned(), message=known.example)
    assert judged(event, ready(ago=200)).todo == f"For Pod kubeflow/a: {known.todo}"
