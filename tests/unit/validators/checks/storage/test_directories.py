"""D8: directories of volumes on nodes, by the report of a pod that looked; its script runs on a real directory here."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.ended import End
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.validators.checks.storage.directories import node_directories
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.storage.directories import SCRIPT, Base, Seen, account, bases
from kubeflow_volcano.validators.probes.storage.storage import STORAGE, StorageEvidence
from tests.samples.facts import facts, node, obj

BASE = Base("node-1", "/data/k8s")
GOOD = Seen(
    BASE,
    mode="0711",
    uid=0,
    free_bytes=80 * 10**9,
    file_system="ext4",
    options=frozenset({"rw"}),
    volumes=3,
    open=0,
)
REPORT = """ls drwx--x--x    5 0        0             4096 Nov 22 01:00 /kfv
label drwx--x--x    5 system_u:object_r:container_file_t:s0 0 0 4096 Nov 22 01:00 /kfv
df /dev/sdb1            102400000  22400000  80000000  22% /kfv
mount /dev/sdb1 /kfv ext4 rw,relatime 0 0
volumes 3 1
"""


def end(said: str = REPORT, reason: str = "", trouble: str = "") -> End:
    return End(succeeded=not reason, node="node-1", said=said, reason=reason, failure=trouble, seconds=1)


def judged(*seen: Seen, objects: tuple[Object, ...] = (), **evidence: Any) -> Outcome:
    snapshot = facts(obj("Node", "node-1"), *objects)
    return node_directories(replace(snapshot, evidences={STORAGE: StorageEvidence(bases=seen, **evidence)}))


def test_a_report_is_read_whole() -> None:
    seen = account(BASE, end())
    assert (seen.mode, seen.uid, seen.free_bytes, seen.file_system) == ("0711", 0, 80_000_000 * 1024, "ext4")
    assert (seen.volumes, seen.open, seen.label) == (3, 1, "system_u:object_r:container_file_t:s0")
    assert seen.options == {"rw", "relatime"}


def test_a_directory_that_is_not_there_and_a_pod_that_did_not_run_are_told_apart() -> None:
    assert account(BASE, end("", "FailedMount", "hostPath type check failed")).missing
    assert account(BASE, end("", "TimedOut", "still Pending")).failure == "still Pending"
    assert account(BASE, end("ls x\n")).failure


@pytest.mark.programs
def test_the_script_counts_volumes_that_are_open_to_everybody(tmp_path: Path) -> None:
    base = tmp_path / "base"
    for name, mode in (
        ("pvc-1", 0o777),
        ("pvc-2", 0o770),
        ("pvc-of-a-probe", 0o777),
        ("static/kubeflow_mysql", 0o1777),
    ):
        (base / name).mkdir(parents=True)
        (base / name).chmod(mode)
    base.chmod(0o755)
    log = tmp_path / "log"
    script = SCRIPT.replace("/dev/termination-log", str(log)).replace("/kfv", str(base))
    environment = {"KFV_VOLUMES": "pvc-1 pvc-2 static/kubeflow_mysql gone"}
    done = subprocess.run(["sh", "-c", script], check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    seen = account(BASE, end(log.read_text()))
    assert (seen.mode, seen.volumes, seen.open) == ("0755", 3, 2)
    assert seen.free_bytes is not None
    assert seen.free_bytes > 0


class Cluster:
    """Stands in for a connection: it knows the provisioner's configuration."""

    def get(self, ref: Ref) -> Object:
        assert ref == Ref("v1", "ConfigMap", "local-path-storage", "local-path-config")
        paths = {"DEFAULT_PATH_FOR_NON_LISTED_NODES": "/opt/volumes", "node-2": "/fast", "fake": "/fake"}
        nodes = [{"node": node, "paths": [path]} for node, path in paths.items()]
        return {"data": {"config.json": json.dumps({"nodePathMap": nodes})}}


def volume(name: str, path: str, node: str) -> Object:
    rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    where = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    return obj("PersistentVolume", name, spec={"hostPath": {"path": path}, "nodeAffinity": where})


def test_directories_are_those_of_the_provisioner_and_of_volumes_on_real_nodes_that_are_ready() -> None:
    simulated = {"annotations": {"kwok.x-k8s.io/node": "fake"}}
    snapshot = facts(
        node("node-1"),
        node("node-2"),
        node("lost", status={}),
        node("fake", metadata=simulated),
        obj("StorageClass", "local-path", provisioner="rancher.io/local-path"),
        volume("a", "/opt/volumes/pvc-a_x_y", "node-1"),
        volume("b", "/data/static/kubeflow_mysql", "node-1"),
        volume("c", "/data/of pvc", "node-1"),
        volume("d", "/fake/pvc-d", "fake"),
        volume("e", "/lost/pvc-e", "lost"),
        workloads=["local-path Deployment local-path-storage/local-path-provisioner"],
    )
    found = bases(cast("Session", SimpleNamespace(cluster=Cluster())), snapshot)
    assert found == (
        Base("node-1", "/data", ("static/kubeflow_mysql",)),
        Base("node-1", "/opt/volumes", ("pvc-a_x_y",)),
        Base("node-2", "/fast"),
    )


def test_a_directory_as_it_should_be_passes_and_names_its_node() -> None:
    outcome = judged(GOOD)
    assert (outcome.status, outcome.objects) == (Status.PASS, (Ref("v1", "Node", "", "node-1"),))


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"options": frozenset({"ro"})}, Status.FAIL, "ReadOnly"),
        ({"free_bytes": 10**8}, Status.FAIL, "Full"),
        ({"mode": "0777"}, Status.WARN, "OpenToEverybody"),
        ({"mode": "0755", "open": 1}, Status.WARN, "OpenVolumes"),
        ({"label": "system_u:object_r:default_t:s0"}, Status.WARN, "WrongLabel"),
        ({"file_system": "tmpfs"}, Status.WARN, "Volatile"),
        ({"options": frozenset({"rw", "noexec"})}, Status.WARN, "NoExec"),
        ({"missing": True, "mode": ""}, Status.WARN, "Missing"),
        ({"failure": "still Pending"}, Status.ERROR, "NotSeen"),
    ],
)
def test_what_is_wrong_with_it_has_its_own_word(changes: dict[str, Any], status: Status, reason: str) -> None:
    outcome = judged(GOOD, replace(GOOD, base=Base("node-2", "/data/k8s"), **changes))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert "node-2" in outcome.message
    assert "node-1" not in outcome.message
    assert outcome.todo


def test_open_volumes_in_a_directory_that_nobody_can_list_are_told_and_pass() -> None:
    outcome = judged(replace(GOOD, open=2))
    assert outcome.status is Status.PASS
    assert "2 volumes" in outcome.message


def test_claims_that_wait_for_more_than_there_is_are_a_warning() -> None:
    claim = Claim("kubeflow", "mysql", "200Gi", Ref("apps/v1", "Deployment", "kubeflow", "mysql"), None, None, None)
    snapshot = facts(obj("Node", "node-1"))
    asked = replace(
        snapshot,
        expectations=replace(snapshot.expectations, claims=(claim,)),
        evidences={STORAGE: StorageEvidence(bases=(GOOD,))},
    )
    outcome = node_directories(asked)
    assert (outcome.status, outcome.reason) == (Status.WARN, "LittleRoom")
    assert re.search("80 GB free .* 1 unbound .* 215 GB", outcome.message)


def test_without_volumes_on_nodes_there_is_nothing_to_judge() -> None:
    assert (judged().status, judged().reason) == (Status.SKIP, "NoNodeDisks")


def test_a_refused_pod_leaves_the_question_open() -> None:
    outcome = judged(bases_failure=("ProbeRefused", "hostPath is forbidden"))
    assert outcome.status is Status.ERROR
    assert "hostPath is forbidden" in outcome.message
