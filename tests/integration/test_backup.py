"""What people made is saved from a real cluster, deleted there, and restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.backup import files
from kubeflow_volcano.rollout.backup.admitted import Platform
from kubeflow_volcano.rollout.backup.choice import Choice
from kubeflow_volcano.rollout.backup.collect import collect
from kubeflow_volcano.rollout.backup.restore import restore
from kubeflow_volcano.rollout.running import running_jobs
from kubeflow_volcano.rollout.settings.settings import parse
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

NAME = "kfv-test-backup"
SETTINGS = parse({})
PLATFORM = Platform.of(SETTINGS.known_components, SETTINGS.volcano_namespace)
SPACE = Ref("v1", "Namespace", "", NAME)
QUEUE = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", NAME)
JOB = Ref("kubeflow.org/v1", "PyTorchJob", NAME, "waits")
ENDED = Ref("batch.volcano.sh/v1alpha1", "Job", NAME, "ended")


def made(ref: Ref, spec: dict[str, Any], **meta: Any) -> Object:
    where = {"namespace": ref.namespace} if ref.namespace else {}
    meta = {"name": ref.name, **where, **meta}
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": meta, **({"spec": spec} if spec else {})}


def pytorch_job(queue_uid: str) -> Object:
    container = {"name": "pytorch", "image": "registry.invalid/none:1"}
    spec = {
        "runPolicy": {"suspend": True, "schedulingPolicy": {"queue": NAME}},
        "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": {"containers": [container]}}}},
    }
    owner = {"apiVersion": QUEUE.api_version, "kind": "Queue", "name": NAME, "uid": queue_uid}
    return made(JOB, spec, labels={"team": "a"}, ownerReferences=[owner], finalizers=["kubeflow-volcano.test/hold"])


@pytest.fixture
def work(cluster: Cluster) -> Iterator[None]:
    """A namespace, a queue, a job that it owns, and one that has ended."""
    remove(cluster)
    cluster.create(made(SPACE, {}, labels={"team": "a"}))
    queue = cluster.create(made(QUEUE, {"weight": 3}))
    cluster.create(pytorch_job(queue["metadata"]["uid"]))
    ended = cluster.create(made(ENDED, {"minAvailable": 1, "queue": "default", "tasks": [task()]}))
    until(lambda: phase(cluster), 60)
    cluster.create(termination(ended))
    until(lambda: phase(cluster) == "Terminated", 90)
    yield
    remove(cluster)


def task() -> dict[str, Any]:
    container = {"name": "a", "image": "registry.invalid/none:1"}
    return {"name": "a", "replicas": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}


def termination(job: Object) -> Object:
    """The command that vcctl writes to end a job."""
    meta = job["metadata"]
    target = {
        "apiVersion": ENDED.api_version,
        "kind": "Job",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    ref = Ref("bus.volcano.sh/v1alpha1", "Command", NAME, "end")
    return made(ref, {}, ownerReferences=[target]) | {"action": "TerminateJob", "target": target}


def phase(cluster: Cluster) -> str:
    return str(((live(cluster, ENDED).get("status") or {}).get("state") or {}).get("phase") or "")


def live(cluster: Cluster, ref: Ref) -> Object:
    found = cluster.get(ref)
    assert found is not None
    return found


def remove(cluster: Cluster) -> None:
    """Delete all of it, as a person would."""
    for ref in (JOB, SPACE, QUEUE):
        if found := cluster.get(ref):
            if found["metadata"].get("finalizers") and ref == JOB:
                cluster.patch(ref, {"metadata": {"finalizers": None}})
            cluster.delete(ref, uid=found["metadata"]["uid"])
    until(lambda: all(cluster.get(ref) is None for ref in (JOB, SPACE, QUEUE)), 90)


def actions(result: ApplyResult, refs: tuple[Ref, ...]) -> dict[Ref, Action]:
    return {item.ref: item.action for item in result.outcomes if item.ref in refs}


@pytest.mark.usefixtures("work")
def test_what_was_saved_comes_back(cluster: Cluster, tmp_path: Path) -> None:
    mine = (SPACE, QUEUE, JOB)
    before = {ref: live(cluster, ref) for ref in mine}
    assert ENDED not in running_jobs(cluster)
    place = files.write(tmp_path, collect(cluster, silent))
    backup = files.read(place)
    assert {*mine, ENDED} <= {Ref.of(obj) for obj in backup.objects}
    assert not [obj for obj in backup.objects if obj["kind"] in {"PodGroup", "CustomResourceDefinition"}]
    assert backup.origin.kubernetes == cluster.version["gitVersion"]
    assert backup.origin.versions["volcano"]

    remove(cluster)
    foretold = restore(cluster, backup, PLATFORM, Choice(), check=True, progress=silent)
    assert actions(foretold, mine) == dict.fromkeys(mine, Action.CREATED)
    assert cluster.get(SPACE) is None

    done = restore(cluster, backup, PLATFORM, Choice(), check=False, progress=silent)
    assert not done.problems, done.problems
    assert actions(done, mine) == dict.fromkeys(mine, Action.CREATED)
    assert cluster.get(ENDED) is None
    after = {ref: live(cluster, ref) for ref in mine}
    assert after[JOB]["spec"] == before[JOB]["spec"]
    assert after[JOB]["metadata"]["labels"] == {"team": "a"}
    assert after[SPACE]["metadata"]["labels"]["team"] == "a"
    owners = [owner["uid"] for owner in after[JOB]["metadata"]["ownerReferences"]]
    assert owners == [after[QUEUE]["metadata"]["uid"]] != [before[QUEUE]["metadata"]["uid"]]

    assert {JOB, ENDED}.isdisjoint(running_jobs(cluster)), "one is suspended, the other is gone"
    cluster.patch(JOB, {"spec": {"runPolicy": {"suspend": False}}})
    assert JOB in running_jobs(cluster)
    cluster.patch(JOB, {"spec": {"runPolicy": {"suspend": True}}})

    again = restore(cluster, backup, PLATFORM, Choice(), check=False, progress=silent)
    assert not again.changed
    cluster.patch(QUEUE, {"spec": {"weight": 5}})
    differs = restore(cluster, backup, PLATFORM, Choice(only=("Queue",)), check=False, progress=silent)
    assert not differs.changed
    assert live(cluster, QUEUE)["spec"]["weight"] == 5
    assert any(f"Queue {NAME}" in item.found for item in differs.warnings)


def test_what_the_cluster_does_not_serve_is_refused_before_the_first_change(cluster: Cluster) -> None:
    origin = files.Origin("2026-01-01T00:00:00Z", "v1.30.0", {}, {}, ())
    unknown = made(Ref("none.kubeflow-volcano.test/v1", "Relic", "", NAME), {})
    backup = files.Backup(origin, (made(QUEUE, {"weight": 1}), unknown))
    choice = Choice(only=("Queue", "Relic", "Relict"))
    with pytest.raises(InvalidInput, match="Relic of none") as caught:
        restore(cluster, backup, PLATFORM, choice, check=False, progress=silent)
    assert "restore_kinds has Relict" in str(caught.value)
    assert cluster.get(QUEUE) is None
