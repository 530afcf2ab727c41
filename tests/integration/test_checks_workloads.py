"""C1, C9, C10, D4 and D7 on a real cluster: what is absent, unreached, warned of, kept, or not writable."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.exec import execute
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.outcome import Outcome
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import absent, bad, judge, made, patched, pods_of
from tests.waiting import until

pytestmark = pytest.mark.cluster

CHECKS = ("C1", "C2", "C9", "C10", "D4")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
METRICS = Ref("v1", "Service", "volcano-system", "volcano-scheduler-service")
OWN = Ref("v1", "Service", "kubeflow", "training-operator")
ROLE = Ref("rbac.authorization.k8s.io/v1", "Role", "volcano-system", "volcano-admission-init")
"""Of a Job that is complete: nobody needs it any more."""
USER = 999


def outcomes(kubeconfig: Path, *select: str, timing: Timing | None = None, **options: Any) -> Mapping[str, Outcome]:
    chosen = Options(kubeconfig, select=select, stability_seconds=1, report_dir=None, **options)
    report = validate(chosen, silent, timing=timing or Timing())
    return {item.check.id: item.outcome for item in report.results}


def test_what_the_roll_out_brought_is_complete_and_every_service_is_backed(kubeconfig: Path) -> None:
    found = outcomes(kubeconfig, "C1", "C9", read_only=True)
    assert {str(item.status) for item in found.values()} == {"pass"}
    assert "rollout-objects" in found["C1"].message
    assert len(found["C1"].objects) > 50


def test_each_is_found_beside_the_others_and_healed_again(kubeconfig: Path, cluster: Cluster) -> None:
    timing = Timing(grace_seconds=1.0)  # the operator may have just come up
    pod = pods_of(cluster, OPERATOR)[0]
    gone = secrets.token_hex(4)
    with (
        absent(cluster, ROLE),
        patched(cluster, OWN, json_patch=True) as metrics,
        patched(cluster, METRICS) as selector,
        made(cluster, event(pod), volume(f"kept-{gone}", "Retain"), volume(f"failed-{gone}", "Delete")) as items,
    ):
        metrics([{"op": "replace", "path": "/spec/ports/0/targetPort", "value": "nobody"}])
        selector({"spec": {"selector": {"app": "nobody"}}})
        refs = [Ref.of(item) for item in items[1:]]
        until(lambda: [phase(cluster, ref) for ref in refs] == ["Released", "Failed"])
        until(lambda: not ready_ports(cluster, METRICS) and "monitoring-port" not in ready_ports(cluster, OWN))
        found = outcomes(kubeconfig, *CHECKS, timing=timing, read_only=True)
    assert {id_: (str(item.status), item.reason) for id_, item in found.items()} == {
        "C1": ("fail", "Absent"),
        "C2": ("pass", "AsClaimed"),
        "C9": ("fail", "PortNotServed"),
        "C10": ("warn", "Tested"),
        "D4": ("fail", "Failed"),
    }
    assert found["C1"].objects == (ROLE,)
    assert {ref: found["C9"].observed[str(ref)] for ref in (OWN, METRICS)} == {
        OWN: "PortNotServed",
        METRICS: "NoPod",
    }
    assert f"failed-{gone}" in found["D4"].message
    until(lambda: bad(judge(kubeconfig, *CHECKS, seconds=1, timing=timing)) == {})


def test_a_plan_s_list_is_held_against_the_cluster(kubeconfig: Path, tmp_path: Path) -> None:
    kinds = {"v1 ServiceAccount": ["kubeflow/training-operator", "kubeflow/nobody"], "kubeflow.org/v2 Unknown": ["x"]}
    plan = tmp_path / "objects.json"
    plan.write_text(json.dumps({"schema": "kfv.objects/v1", "components": {"training-operator": kinds}}))
    found = outcomes(kubeconfig, "C1", read_only=True, expected=plan)["C1"]
    assert {item.name for item in found.objects} == {"nobody", "x"}
    assert str(plan) in found.message


def phase(cluster: Cluster, ref: Ref) -> str:
    found: str = (cluster.get(ref) or {}).get("status", {}).get("phase", "")
    return found


def ready_ports(cluster: Cluster, service: Ref) -> set[str]:
    labels = f"kubernetes.io/service-name={service.name}"
    slices = cluster.list("discovery.k8s.io/v1", "EndpointSlice", namespace=service.namespace, labels=labels).items
    return {port["name"] for item in slices if item.get("endpoints") for port in item.get("ports") or ()}


def event(pod: Object) -> Object:
    """A Warning about a pod that is ready, a moment ago."""
    meta = {"name": f"test.{secrets.token_hex(6)}", "namespace": pod["metadata"]["namespace"]}
    about = {key: pod["metadata"][key] for key in ("name", "namespace", "uid")}
    now = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta,
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about},
        "type": "Warning",
        "reason": "Tested",
        "message": "an event of a test",
        "lastTimestamp": now,
        "count": 1,
    }


def volume(name: str, policy: str) -> Object:
    """A volume whose claim is gone; kube-controller-manager refuses to delete a hostPath outside of /tmp."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Mi"},
            "claimRef": {"namespace": "kubeflow", "name": name, "uid": "00000000-0000-0000-0000-000000000000"},
            "hostPath": {"path": "/nowhere"},
            "persistentVolumeReclaimPolicy": policy,
            "storageClassName": "none-of-the-cluster",
        },
    }


@pytest.fixture(scope="module")
def consumers(cluster: Cluster) -> Iterator[Object]:
    """A pod in the release's namespace, of which root, an ordinary user and a program without shell mount one claim."""
    name = f"own-volumes-{secrets.token_hex(4)}"
    meta = {"name": name, "namespace": "kubeflow"}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta,
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    mounted = [{"name": "data", "mountPath": "/data"}]
    sleep = {"image": BUSYBOX, "command": ["sleep", "3600"], "volumeMounts": mounted}
    containers = [
        {"name": "root", **sleep},
        {"name": "user", **sleep, "securityContext": {"runAsUser": USER}},
        {"name": "mute", "image": PAUSE, "volumeMounts": mounted},
    ]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": containers,
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        },
    }
    with made(cluster, claim, pod) as (_, running):
        until(lambda: phase(cluster, Ref.of(running)) == "Running")
        yield running


def test_the_release_s_own_programs_are_asked_whether_they_may_write(
    kubeconfig: Path, cluster: Cluster, consumers: Object
) -> None:
    name = consumers["metadata"]["name"]
    assert outcomes(kubeconfig, "D7")["D7"].reason == "NotAsked"
    assert execute(cluster, "kubeflow", name, "root", ["chmod", "0755", "/data"], seconds=60).code == 0
    found = outcomes(kubeconfig, "D7", exec_in_pods=True)["D7"]
    assert (found.status, found.reason) == ("fail", "NotWritable")
    assert f"uid {USER}" in found.message
    assert list(found.observed) == [f"Pod kubeflow/{name} /data"]
    assert execute(cluster, "kubeflow", name, "root", ["chown", str(USER), "/data"], seconds=60).code == 0
    found = outcomes(kubeconfig, "D7", exec_in_pods=True)["D7"]
    assert found.status == "pass"
    assert "container mute" in found.message


def test_a_command_ends_with_its_code_its_words_or_in_time(cluster: Cluster, consumers: Object) -> None:
    where = ("kubeflow", consumers["metadata"]["name"])
    assert execute(cluster, *where, "user", ["sh", "-c", "id -u; exit 3"], seconds=60).code == 3
    assert execute(cluster, *where, "user", ["id", "-u"], seconds=60).output == f"{USER}\n"
    with pytest.raises(Exception, match="within 1 s"):
        execute(cluster, *where, "user", ["sleep", "3600"], seconds=1)
    with pytest.raises(Exception, match="not found"):
        execute(cluster, "kubeflow", "nobody", "user", ["id"], seconds=5)
