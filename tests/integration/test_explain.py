"""Jobs that wait on a real cluster, each made to wait by hand, and what `explain job` says of them."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Collection, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.__main__ import main
from kubeflow_volcano.validators.explain.model import Explanation, State
from kubeflow_volcano.validators.explain.reading.situation import read_situation, rules
from kubeflow_volcano.validators.explain.stages import explain

pytestmark = pytest.mark.cluster

SPACE = f"explain-{secrets.token_hex(3)}"
SMALL, SHUT = f"{SPACE}-small", f"{SPACE}-shut"
SIMULATED = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
GPU = {"resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "10m"}}}
LITTLE = {"resources": {"requests": {"cpu": "10m"}}}
FIELDS = {
    "TFJob": ("tfReplicaSpecs", "tensorflow"),
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
    "MPIJob": ("mpiReplicaSpecs", "mpi"),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost"),
    "PaddleJob": ("paddleReplicaSpecs", "paddle"),
}


def pod(container: str = "c", *, spec: Object | None = None, **more: Any) -> Object:
    """A pod template of one container that pauses."""
    one = {"name": container, "image": PAUSE, **LITTLE, **more}
    return {"spec": {"terminationGracePeriodSeconds": 0, "containers": [one], **(spec or {})}}


def job(name: str, kind: str, roles: dict[str, int], *, spec: Object | None = None, **rest: Any) -> Object:
    """A job of the training operator; `policy` is its runPolicy, the rest goes into the container."""
    field, container = FIELDS[kind]
    policy = rest.pop("policy", {})
    template = pod(container, spec=spec, **rest)
    replicas = {
        role: {"replicas": count, "restartPolicy": "OnFailure", "template": template} for role, count in roles.items()
    }
    return made("kubeflow.org/v1", kind, name, {field: replicas, "runPolicy": policy})


def vcjob(name: str, count: int, queue: str, **container: Any) -> Object:
    task = {"name": "worker", "replicas": count, "template": pod(**container)}
    spec = {"minAvailable": count, "queue": queue, "schedulerName": "volcano", "tasks": [task]}
    return made("batch.volcano.sh/v1alpha1", "Job", name, spec)


def made(api_version: str, kind: str, name: str, spec: Object, namespace: str = SPACE) -> Object:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


def queue(name: str, **spec: Any) -> Object:
    return made("scheduling.volcano.sh/v1beta1", "Queue", name, {"weight": 1, **spec}, "")


CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}]}
SETTING = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "gone", "key": "k"}}}]
WAITS = {"name": "wait", "image": BUSYBOX, "command": ["false"], **LITTLE}
JOBS = (
    job("six-gpus", "TFJob", {"PS": 2, "Worker": 4}, spec={"tolerations": SIMULATED}, **GPU),
    job("taint", "PyTorchJob", {"Master": 1, "Worker": 1}, spec={"nodeSelector": {"type": "kwok"}}),
    job("claim", "MPIJob", {"Launcher": 1, "Worker": 2}, spec=CLAIM),
    job("suspended", "XGBoostJob", {"Master": 1, "Worker": 1}, policy={"suspend": True}),
    job("image", "PaddleJob", {"Worker": 2}, image="registry.invalid/none:v1"),
    job("settings", "TFJob", {"Worker": 1}, env=SETTING),
    job("init", "TFJob", {"Worker": 1}, spec={"initContainers": [WAITS]}),
    job("minimum", "TFJob", {"Worker": 2}, policy={"schedulingPolicy": {"minAvailable": 3}}),
    job("scheduler", "TFJob", {"Worker": 1}, spec={"schedulerName": "kube-batch"}),
    job("priority", "PyTorchJob", {"Master": 1}, spec={"priorityClassName": "explain-none"}),
    job("limited", "TFJob", {"Worker": 1}, spec={"tolerations": SIMULATED}, resources={"requests": {"cpu": "3"}}),
    job("runs", "TFJob", {"Worker": 2}),
    vcjob("over", 2, SMALL, resources={"requests": {"cpu": "700m"}}),
    vcjob("shut", 5, SHUT, spec={"tolerations": SIMULATED}, **GPU),
    made("scheduling.volcano.sh/v1beta1", "PodGroup", "bare", {"minMember": 2, "queue": "nowhere"}),
)

EXPECTED = {
    "six-gpus": "GangNeverFits",
    "taint": "NoNodeFits",
    "claim": "ClaimMissing",
    "suspended": "Suspended",
    "image": "ImageMissing",
    "settings": "CreateContainerConfigError",
    "init": "InitContainerFails",
    "minimum": "MinMemberTooHigh",
    "scheduler": "SchedulerUnknown",
    "priority": "PriorityClassMissing",
    "limited": "QuotaTooSmall",
    "over": "OverCapability",
    "shut": "QueueClosed",
    "bare": "QueueMissing",
}
ALSO = {"bare": ("NotEnoughPods",), "shut": ("GangNeverFits",)}


@pytest.fixture(scope="module", autouse=True)
def jobs(cluster: Cluster) -> Iterator[None]:
    """All of them at once in a namespace with a quota, and nothing of them afterwards."""
    space = made("v1", "Namespace", SPACE, {}, "")
    hard = {"hard": {"requests.cpu": "2"}}
    queues = [queue(SMALL, capability={"cpu": "1"}), queue(SHUT)]
    own = [cluster.create(item) for item in (space, *queues)]
    try:
        cluster.create(made("v1", "ResourceQuota", "small", hard))
        _opened(cluster)
        for item in JOBS:
            _create(cluster, item)
        _close(cluster, SHUT)
        yield
    finally:
        for kind in dict.fromkeys((item["apiVersion"], item["kind"]) for item in JOBS):
            for item in cluster.list(*kind, namespace=SPACE).items:
                cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])
        _gone(cluster, own)


def _create(cluster: Cluster, item: Object) -> None:
    """A webhook configuration that another test healed a moment ago may still be refused."""
    for _ in range(5):
        try:
            cluster.create(item)
        except Exception:  # noqa: BLE001  the last try tells
            time.sleep(1)
        else:
            return
    cluster.create(item)


def _opened(cluster: Cluster) -> None:
    """Volcano opens a new queue after a moment; what is closed before that is opened again."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        queues = [cluster.get(Ref("scheduling.volcano.sh/v1beta1", "Queue", "", name)) for name in (SMALL, SHUT)]
        if all(item and item.get("status", {}).get("state") == "Open" for item in queues):
            return
        time.sleep(0.2)
    pytest.fail("Volcano did not open the new queues within 120 s")


def _close(cluster: Cluster, name: str) -> None:
    path = cluster.resource("scheduling.volcano.sh/v1beta1", "Queue").path("", name) + "/status"
    shut = {"status": {"state": "Closed"}}
    cluster.request("PATCH", path, body=shut, content_type="application/merge-patch+json")


def _gone(cluster: Cluster, objects: Sequence[Object]) -> None:
    """Delete, and wait until it is so: Volcano's admission keeps a queue that is open or in use."""
    for item in objects:
        if item["kind"] == "Queue":
            _close(cluster, item["metadata"]["name"])
    deadline = time.monotonic() + 240
    left = list(objects)
    while left and time.monotonic() < deadline:
        for item in left:
            try:
                cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])
            except Exception:  # noqa: BLE001  asked again until the deadline
                time.sleep(0.5)
        time.sleep(0.5)
        left = [item for item in left if cluster.get(Ref.of(item))]
    assert left == []


def answer(cluster: Cluster, name: str, reasons: Collection[str], seconds: float = 240) -> Explanation:
    """What is said of the job, as soon as just this is in its way, at the latest after some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        found = explain(read_situation(cluster, SPACE, name))
        seen = {item.reason for item in found.findings if item.blocks}
        if (seen == set(reasons) and (seen or found.state is State.STARTED)) or time.monotonic() > deadline:
            return found
        time.sleep(1)


@pytest.mark.parametrize(("name", "reason"), EXPECTED.items())
def test_a_job_that_waits_is_told_its_cause_and_no_other(cluster: Cluster, name: str, reason: str) -> None:
    reasons = {reason, *ALSO.get(name, ())}
    found = answer(cluster, name, reasons)
    assert {item.reason for item in found.findings if item.blocks} == reasons, [
        item.problem.found for item in found.findings
    ]
    assert found.unread == ()


def test_a_job_that_runs_has_nothing_in_its_way(cluster: Cluster) -> None:
    found = answer(cluster, "runs", ())
    assert (found.state, found.findings) == (State.STARTED, ())


def test_the_command_prints_text_or_a_document(
    cluster: Cluster, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(cluster, "over", ["OverCapability"])
    given = ["explain", "job", f"{SPACE}/over", "--kubeconfig", str(kubeconfig)]
    assert main(given) == 1
    text = capsys.readouterr().out
    assert text.startswith(f"Job {SPACE}/over is not starting: 1 cause.\n")
    assert "the gang requests 1.4, 0 of 1 in use" in " ".join(text.split())
    assert main([*given, "--json", "--kind", "vcjob"]) == 1
    schema = json.loads(files("kubeflow_volcano.validators").joinpath("schemas/explanation.v1.json").read_text("utf-8"))
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)


def test_a_job_that_is_not_there_is_told_as_such(cluster: Cluster) -> None:
    with pytest.raises(InvalidInput, match=f"no job {SPACE}/nobody"):
        read_situation(cluster, SPACE, "nobody")


def _as_user(cluster: Cluster, kubeconfig: Path, directory: Path, without: str = "") -> Path:
    """Credentials of a service account with the rules of an explanation, but for those on one resource."""
    name = f"reader-{without or 'whole'}"
    subject = {"kind": "ServiceAccount", "name": name, "namespace": SPACE}
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": SPACE}})
    by_space: dict[str, list[Object]] = {}
    for rule in rules(SPACE):
        if rule.resource != without:
            granted = {"apiGroups": [rule.group], "resources": [rule.resource], "verbs": [rule.verb]}
            by_space.setdefault(rule.namespace, []).append(granted)
    there = {"", *(item["metadata"]["name"] for item in cluster.list("v1", "Namespace").items)}
    for space in by_space.keys() & there:
        prefix = "" if space else "Cluster"
        meta = {"name": f"{SPACE}-{name}", **({"namespace": space} if space else {})}
        group = "rbac.authorization.k8s.io"
        role: Object = {
            "apiVersion": f"{group}/v1",
            "kind": f"{prefix}Role",
            "metadata": meta,
            "rules": by_space[space],
        }
        role_ref = {"apiGroup": group, "kind": f"{prefix}Role", "name": meta["name"]}
        binding = {**role, "kind": f"{prefix}RoleBinding", "roleRef": role_ref, "subjects": [subject]}
        del binding["rules"]
        for item in (role, binding):
            cluster.create(item)
    path = cluster.resource("v1", "ServiceAccount").path(SPACE, name) + "/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = cluster.request("POST", path, body=asked)["status"]["token"]
    config = yaml.safe_load(kubeconfig.read_text("utf-8"))
    config["users"] = [{"name": item["name"], "user": {"token": token}} for item in config["users"]]
    for item in config["clusters"]:
        if authority := item["cluster"].pop("certificate-authority", ""):
            text = (kubeconfig.parent / authority).read_bytes()
            item["cluster"]["certificate-authority-data"] = base64.b64encode(text).decode()
    own = directory / f"{name}.kubeconfig"
    own.write_text(yaml.safe_dump(config), "utf-8")
    return own


@pytest.fixture
def roles_removed(cluster: Cluster) -> Iterator[None]:
    yield
    group = "rbac.authorization.k8s.io/v1"
    for kind in ("ClusterRoleBinding", "RoleBinding", "ClusterRole", "Role"):
        for item in cluster.list(group, kind).items:
            if item["metadata"]["name"].startswith(f"{SPACE}-reader"):
                cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])


@pytest.mark.usefixtures("roles_removed")
def test_the_rules_are_enough_and_a_missing_one_is_told(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    whole = Cluster.connect(_as_user(cluster, kubeconfig, tmp_path))
    found = answer(whole, "six-gpus", ["GangNeverFits"])
    told = [(item.problem.found, item.details) for item in found.findings]
    assert ([item.reason for item in found.findings], found.unread) == (["GangNeverFits"], ()), told
    less = Cluster.connect(_as_user(cluster, kubeconfig, tmp_path, without="nodes"))
    blind = explain(read_situation(less, SPACE, "six-gpus"))
    assert "GangNeverFits" not in {item.reason for item in blind.findings}  # the scheduler's own word may be there
    assert [item.message.rpartition(" ")[2] for item in blind.unread] == ["nodes."]
    assert "resources: ['nodes'], verbs: ['list']" in blind.unread[0].todo
