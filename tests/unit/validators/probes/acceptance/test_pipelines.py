"""A run by the API of Pipelines, against a stand-in for it: what is asked for, followed, explained and removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from kubeflow_volcano.catalog.examples import example_images
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.remains import Tracked
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks.acceptance.acceptance import pipeline_run
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.acceptance import pipelines as module
from kubeflow_volcano.validators.probes.acceptance.examples import PROFILE, Acceptance
from kubeflow_volcano.validators.probes.acceptance.states import State
from kubeflow_volcano.validators.probes.acting import ProbeOptions
from tests.samples.facts import facts, node, obj, pod
from tests.samples.pipelines import TOKEN, StandIn, pipelines

VERSIONS = pytest.mark.parametrize(("version", "release"), [("v1beta1", "1.8.1"), ("v2beta1", "1.9.1")])
SPACE, CLAIM = "team-a", "x-kfv-0a1b2c3d-pipeline"


class Listed:
    """What a list has."""

    def __init__(self, *items: Object) -> None:
        self.items = items


class Kubernetes:
    """The part of the client that the probe uses: what is in the namespace, logs, and tokens for its account."""

    def __init__(self, *pods: Object, log: str = "", denied: ApiError | None = None) -> None:
        self.pods = pods
        self.log = log
        self.denied = denied
        self.asked: list[tuple[str, Any]] = []

    def request(self, method: str, path: str, *, body: Any) -> Any:
        self.asked.append((f"{method} {path}", body["spec"]))
        if self.denied:
            raise self.denied
        return {"status": {"token": TOKEN}}

    def list(self, _version: str, kind: str, *, namespace: str, labels: str) -> Listed:
        assert namespace == SPACE
        others = obj("PersistentVolumeClaim", f"{SPACE}/of-a-person")
        if kind == "PersistentVolumeClaim":
            return Listed(others, obj(kind, f"{SPACE}/{CLAIM}"))
        assert labels == "pipeline/runid=r"
        if kind == "Pod":
            return Listed(*self.pods)
        meta = {"name": "train-and-predict-1", "namespace": SPACE, "uid": "workflow"}
        status = {"phase": "Failed", "message": "exceeded quota"}
        return Listed({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": meta, "status": status})

    def logs(self, _namespace: str, _pod: str, _container: str) -> str:
        return self.log


class Stage:
    """A session that only notes what it is given."""

    def __init__(self, cluster: Kubernetes, **options: Any) -> None:
        self.cluster = cluster
        self.run = "0a1b2c3d"
        self.options = ProbeOptions(**{"namespace": SPACE, **options})
        self.stopped = False
        self.adopted: set[str] = set()
        self.closing: list[Callable[[], tuple[Tracked, ...]]] = []

    def adopt(self, item: Object) -> None:
        self.adopted.add(f"{item['kind']} {item['metadata']['name']}")

    def at_close(self, remove: Callable[[], tuple[Tracked, ...]]) -> None:
        self.closing.append(remove)


def cluster_facts(
    release: str = "1.9.1",
    *,
    profile: bool = True,
    provisioner: str = "a/b",
    real: bool = True,
    seconds: float = 120.0,
) -> Facts:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    spec = {"selector": {"app": "ml-pipeline"}, "ports": [{"port": 8888, "targetPort": "http"}, {"port": 8887}]}
    containers = [{"name": "ml-pipeline-api-server", "ports": [{"name": "http", "containerPort": 8888}]}]
    kwok = node("kwok", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    server = pod("kubeflow/ml-pipeline-0", metadata={"labels": {"app": "ml-pipeline"}}, spec={"containers": containers})
    if not real:
        server["spec"]["nodeName"] = "kwok"
    space = {"metadata": {"name": SPACE, "labels": dict([PROFILE]) if profile else {}}}
    return facts(
        obj("StorageClass", "fast", provisioner=provisioner, metadata=default),
        {"apiVersion": "v1", "kind": "Namespace", **space},
        obj("Service", "kubeflow/ml-pipeline", spec=spec),
        kwok,
        server,
        expected=Expectations(release=release, components=frozenset({"pipelines"})),
        timing=Timing(pipeline_seconds=seconds),
    )


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_POLL_SECONDS", 0.01)


def tried(
    server: StandIn, monkeypatch: pytest.MonkeyPatch, found: Facts | None = None, stage: Stage | None = None
) -> tuple[Acceptance, Stage]:
    monkeypatch.setattr(module, "port_forward", server.connect)
    stage = stage or Stage(Kubernetes())
    return module.run(cast("Session", stage), found or cluster_facts(), silent), stage


def judged(evidence: Acceptance) -> Outcome:
    expected = Expectations(components=frozenset({"pipelines"}))
    return pipeline_run(facts(expected=expected, evidences={module.PIPELINE_RUN: evidence}))


def test_a_run_whose_workflow_is_not_seen_is_judged_by_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutArgo(Kubernetes):
        def list(self, version: str, kind: str, *, namespace: str, labels: str) -> Listed:
            found = super().list(version, kind, namespace=namespace, labels=labels)
            return Listed() if kind == "Workflow" else found

    with pipelines("v2beta1") as server:
        evidence, _ = tried(server, monkeypatch, stage=Stage(WithoutArgo()))
    outcome = judged(evidence)
    assert (outcome.status, outcome.objects) == (Status.PASS, (module.SERVICE,))


@VERSIONS
def test_it_is_uploaded_run_and_removed(version: str, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (image,) = {item for item in example_images() if item.startswith("docker.io/library/python:")}
    stage = Stage(Kubernetes(pod(f"{SPACE}/train-1")), images={image: f"m.example.com/{image}"})
    with pipelines(version) as server:
        evidence, _ = tried(server, monkeypatch, cluster_facts(release), stage)
    assert judged(evidence).status is Status.PASS
    assert server.kept == {}
    assert server.requests[-1] == "DELETE experiments/e"
    (asked,) = stage.cluster.asked
    assert asked[0] == f"POST /api/v1/namespaces/{SPACE}/serviceaccounts/default-editor/token"
    assert asked[1]["audiences"] == ["pipelines.kubeflow.org"]
    documents = str(server.sent("POST pipelines/upload"))
    assert f"m.example.com/{image}" in documents
    assert ("argostub/createpvc" in documents) is (version == "v2beta1")
    assert {"Pod train-1", f"PersistentVolumeClaim {CLAIM}", "Workflow train-and-predict-1"} == stage.adopted
    given, experiment = server.sent("POST runs"), server.sent("POST experiments")
    if version == "v1beta1":
        assert experiment["resource_references"][0]["key"] == {"type": "NAMESPACE", "id": SPACE}
        parameters = {item["name"]: item["value"] for item in given["pipeline_spec"]["parameters"]}
        keys = [item["key"] for item in given["resource_references"]]
        assert keys == [{"type": "EXPERIMENT", "id": "e"}, {"type": "PIPELINE_VERSION", "id": "v"}]
    else:
        assert experiment["namespace"] == SPACE
        parameters = given["runtime_config"]["parameters"]
        assert given["pipeline_version_reference"] == {"pipeline_id": "p", "pipeline_version_id": "v"}
    assert parameters == {"storage_class": "fast", "suffix": "-kfv-0a1b2c3d-pipeline"}


@VERSIONS
def test_a_run_that_fails_is_told_with_what_its_pods_said(
    version: str, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 1}}}]}
    log = "KFP driver: driver.Container failed: rpc error: code = PermissionDenied desc = RBAC: access denied"
    stage = Stage(Kubernetes(pod(f"{SPACE}/driver-1", status=status), log=log))
    with pipelines(version, states=("RUNNING", "FAILED"), error="a child failed") as server:
        evidence, _ = tried(server, monkeypatch, cluster_facts(release), stage)
    outcome = judged(evidence)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ExampleFailed")
    assert "a child failed" in outcome.message
    assert "Failed: exceeded quota" in outcome.message
    assert f"driver-1: {log}" in outcome.message
    assert evidence.attempts[0].todo in outcome.todo
    assert server.kept == {}


def test_a_run_that_hangs_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipelines("v2beta1", states=("RUNNING",)) as server:
        evidence, _ = tried(server, monkeypatch, cluster_facts(seconds=0.1))
    assert judged(evidence).reason == "ExampleNotReached"
    assert evidence.attempts[0].state is State.RUNNING
    assert server.kept == {}


def test_an_image_that_cannot_be_pulled_ends_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = {"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such"}}}
    stage = Stage(Kubernetes(pod(f"{SPACE}/a", status={"phase": "Pending", "containerStatuses": [waits]})))
    with pipelines("v2beta1", states=("RUNNING",)) as server:
        evidence, _ = tried(server, monkeypatch, stage=stage)
    assert server.polls == 1
    assert "ImagePullBackOff" in judged(evidence).message


@pytest.mark.parametrize(
    ("refused", "word"),
    [
        ({("POST", "experiments"): (401, {"error": "Review.Status.Authenticated is false", "code": 16})}, "401"),
        ({("POST", "pipelines"): (403, b"RBAC: access denied")}, "RBAC: access denied"),
        ({("POST", "runs"): (500, {"error_message": "no object store", "error_details": "long"})}, "no object store"),
        ({("GET", "runs"): (404, {"message": "run r not found"})}, "run r not found"),
        ({("POST", "experiments"): (200, {})}, "without experiment_id"),
        ({("POST", "experiments"): (200, [1])}, "no JSON object"),
    ],
)
def test_a_refusal_fails_and_what_was_made_before_it_is_removed(
    refused: Any, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pipelines("v2beta1", refused=refused) as server:
        evidence, _ = tried(server, monkeypatch)
    outcome = judged(evidence)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ExampleFailed")
    assert word in outcome.message
    assert "\n" not in outcome.message
    assert server.kept == {}


def test_an_answer_that_does_not_come_once_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipelines("v2beta1") as server:
        shown = server.answer

        def at_first(method: str, path: str, *more: Any) -> tuple[int, Any]:
            status, answer = shown(method, path, *more)
            return (
                (503, b"upstream connect error") if path.endswith("runs/r") and server.polls == 1 else (status, answer)
            )

        monkeypatch.setattr(server, "answer", at_first)
        evidence, _ = tried(server, monkeypatch)
    assert judged(evidence).status is Status.PASS


def test_what_cannot_be_removed_is_tried_again_and_told_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipelines("v2beta1", refused={("DELETE", "runs"): (500, {"error": "no database"})}) as server:
        _, stage = tried(server, monkeypatch)
        assert {*server.kept} == {"r"}
        (left,) = stage.closing[0]()
        assert (left.ref.kind, left.ref.name, left.uid) == ("Run", "r", "r")
        assert "no database" in left.why
        server.refused = {}
        assert stage.closing[0]() == ()
        assert server.kept == {}


def test_a_run_that_is_ending_makes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipelines("v2beta1") as server:
        stage = Stage(Kubernetes())
        monkeypatch.setattr(stage, "at_close", lambda remove: remove())
        evidence, _ = tried(server, monkeypatch, stage=stage)
    assert evidence.failure is not None
    assert evidence.failure[0] == "ProbeRefused"
    assert not [item for item in server.requests if item.startswith("POST")]


@pytest.mark.parametrize(
    "found",
    [
        cluster_facts(profile=False),
        cluster_facts(provisioner="kubernetes.io/no-provisioner"),
        cluster_facts(real=False),
    ],
    ids=["no profile", "static volumes", "a simulated server"],
)
def test_without_what_it_needs_nothing_is_asked(found: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    with pipelines("v2beta1") as server:
        evidence, stage = tried(server, monkeypatch, found)
    assert (judged(evidence).status, judged(evidence).reason) == (Status.SKIP, "NothingToTry")
    assert server.requests == []
    assert stage.cluster.asked == []


def test_pipelines_of_one_user_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipelines("v2beta1", multi_user=False) as server:
        evidence, stage = tried(server, monkeypatch)
    assert judged(evidence).status is Status.SKIP
    assert server.requests == ["GET healthz"]
    assert stage.cluster.asked == []


def test_an_api_of_another_version_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipelines("v1beta1") as server:
        evidence, _ = tried(server, monkeypatch)
    assert judged(evidence).reason == "ExampleFailed"
    assert server.requests == ["GET healthz"]


def test_a_server_that_does_not_answer_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise ConnectionError("connection refused")

    monkeypatch.setattr(module, "port_forward", refused)
    evidence = module.run(cast("Session", Stage(Kubernetes())), cluster_facts(), silent)
    assert (judged(evidence).status, judged(evidence).reason) == (Status.ERROR, "ProbeInterrupted")


@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (404, "ProbeInterrupted")])
def test_a_token_that_is_not_given_is_no_verdict(status: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(Kubernetes(denied=ApiError(status, "Refused", "serviceaccounts default-editor")))
    with pipelines("v2beta1") as server:
        evidence, _ = tried(server, monkeypatch, stage=stage)
    assert (judged(evidence).status, judged(evidence).reason) == (Status.ERROR, reason)


def test_a_component_that_is_not_chosen_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipelines("v2beta1") as server:
        evidence, _ = tried(server, monkeypatch, facts(expected=Expectations(release="1.9.1")))
    assert evidence.attempts == []
    assert server.requests == []
