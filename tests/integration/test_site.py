"""The playbooks on a rehearsal cluster of their own, from empty to proved, as the first command runs them."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.rehearsal.spec import ClusterPaths
from kubeflow_volcano.rollout.state.holder import Life
from kubeflow_volcano.rollout.state.lock import holder_of
from tests.playing import ansible, started
from tests.rehearsed import cluster_name
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]

NAME = cluster_name("site")
NAMESPACES = {"kubeflow", "local-path-storage", "volcano-system"}


@dataclass(frozen=True)
class Played:
    """One run of playbooks: its exit code, everything it printed, and the numbers of its recap."""

    code: int
    output: str

    @property
    def ending(self) -> str:
        """What says why it failed, short enough for a log of all tests."""
        return self.output[-3000:]

    @property
    def recap(self) -> dict[str, int]:
        (line,) = re.findall(r"^localhost +: (.*)$", self.output, re.MULTILINE)
        return {key: int(value) for key, value in (item.split("=") for item in line.split())}


def words(*arguments: str, reports: Path | None = None, **variables: Any) -> list[str]:
    """Playbooks with the inventory of the rehearsal, against the cluster of these tests."""
    given = {"rehearsal_cluster_name": NAME, **variables}
    if reports:
        given["validation_report_directory"] = str(reports)
    return ["-i", "inventory/rehearsal", "-e", json.dumps(given), *arguments]


def play(*arguments: str, reports: Path | None = None, **variables: Any) -> Played:
    """Run a command line to its end."""
    done = ansible(*words(*arguments, reports=reports, **variables), merged=True)
    return Played(done.returncode, done.stdout)


@pytest.fixture(scope="module")
def empty() -> Iterator[Cluster]:
    """A rehearsal cluster on which nothing is installed when the first test of this file starts."""
    if os.geteuid() != 0:
        pytest.skip("a rehearsal cluster needs root")
    up = play("playbooks/rehearsal.yml")
    assert up.code == 0, up.ending
    yield Cluster.connect(ClusterPaths.of(NAME).kubeconfig)
    down = play("playbooks/rehearsal.yml", rehearsal_cluster_state="absent")
    assert down.code == 0, down.ending


def everything(cluster: Cluster) -> set[tuple[str, str, str]]:
    """Kind, namespace and name of what a roll-out would create; what changes by itself is left out."""
    kinds = (
        ("v1", "Namespace"),
        ("v1", "ServiceAccount"),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("apps/v1", "Deployment"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    )
    return {
        (kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        for version, kind in kinds
        for obj in cluster.list(version, kind).items
    }


def test_check_mode_lists_what_would_be_created_and_creates_nothing(empty: Cluster, tmp_path: Path) -> None:
    before = everything(empty)

    done = play("playbooks/site.yml", "--check", "--diff", reports=tmp_path / "reports")

    assert done.code == 0, done.ending
    assert everything(empty) == before
    for header in ("Deployment volcano-system/volcano-scheduler", "Deployment kubeflow/training-operator"):
        assert f"+++ after: {header}" in done.output
    assert "CustomResourceDefinition podgroups.scheduling.volcano.sh" in done.output
    assert done.recap["changed"] == 1  # the roll-out
    assert not (tmp_path / "reports").exists()


def test_every_missing_source_is_told_before_the_cluster_is_changed(empty: Cluster, tmp_path: Path) -> None:
    before = everything(empty)
    sources: dict[str, Any] = {
        "volcano_source": f"{tmp_path}/v.yaml",
        "kubeflow_sources": {"training-operator": f"{tmp_path}/t"},
    }

    done = play("playbooks/install.yml", **sources)

    assert done.code == 2
    assert f"no {tmp_path}/v.yaml" in done.output
    assert f"no {tmp_path}/t," in done.output
    assert everything(empty) == before


@pytest.mark.long
def test_a_tag_installs_that_role_alone(empty: Cluster, tmp_path: Path) -> None:
    done = play("playbooks/site.yml", "--tags", "volcano", reports=tmp_path)

    assert done.code == 0, done.ending
    present = {obj["metadata"]["name"] for obj in empty.list("v1", "Namespace").items}
    assert present & NAMESPACES == {"volcano-system"}


def test_the_site_is_installed_and_proved_and_a_second_run_changes_nothing(empty: Cluster, tmp_path: Path) -> None:
    first = play("playbooks/site.yml", reports=tmp_path)
    second = play("playbooks/site.yml", reports=tmp_path / "second", validation_select=["reach"])

    assert first.code == 0, first.ending
    assert first.recap["changed"] >= 1
    assert second.code == 0, second.ending
    assert (second.recap["changed"], second.recap["failed"]) == (0, 0), second.ending
    report = json.loads((tmp_path / "latest.json").read_text("utf-8"))
    assert report["summary"]["verdict"] in {"pass", "warn"}
    assert report["cleanup"]["left"] == []
    assert (tmp_path / "latest.md").is_file()
    present = {obj["metadata"]["name"] for obj in empty.list("v1", "Namespace").items}
    assert present >= NAMESPACES


def test_a_finding_fails_the_run_and_names_the_check(empty: Cluster, tmp_path: Path) -> None:
    """The default mark of the StorageClass is taken away and given back, around one validation each."""
    path = "/apis/storage.k8s.io/v1/storageclasses/local-path"
    mark = "storageclass.kubernetes.io/is-default-class"
    merge = "application/merge-patch+json"

    empty.request("PATCH", path, body={"metadata": {"annotations": {mark: None}}}, content_type=merge)
    broken = play("playbooks/validate.yml", reports=tmp_path, validation_select=["D1"])
    healed = play("playbooks/site.yml", reports=tmp_path, validation_select=["D1"])

    assert broken.code == 2
    assert "exit code 1" in broken.output
    assert "fail: D1 default-class" in broken.output
    assert healed.code == 0, healed.ending
    assert healed.recap["changed"] == 1


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_an_interrupted_validation_removes_its_probes_and_writes_a_partial_report(
    empty: Cluster, tmp_path: Path, number: signal.Signals
) -> None:
    """Ansible ends its own process at once; the worker that runs the validators cleans up behind it."""
    log = tmp_path / "log"
    command = words("playbooks/validate.yml", reports=tmp_path, validation_select=["gang"])
    with log.open("w") as output:
        running = started(*command, output=output)
        until(lambda: "H2 all-or-nothing" in log.read_text("utf-8") or running.poll() is not None, seconds=600)
        running.send_signal(number)
        code = running.wait(300)

    assert code != 0
    until((tmp_path / "latest.json").exists, seconds=300)
    report = json.loads((tmp_path / "latest.json").read_text("utf-8"))
    assert report["run"]["interrupted"]
    assert report["cleanup"]["created"] > 0
    assert report["cleanup"]["left"] == []
    names = [obj["metadata"]["name"] for obj in empty.list("v1", "Namespace").items]
    assert [name for name in names if name.startswith("kfv-")] == []


@pytest.mark.long
def test_one_conflict_does_not_keep_the_rest_from_being_finished_and_validated(empty: Cluster, tmp_path: Path) -> None:
    """Another manager has the replicas of the provisioner; Deployments of Volcano and the operator are missing."""
    provisioner = Ref("apps/v1", "Deployment", "local-path-storage", "local-path-provisioner")
    operator = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
    missing = [operator, Ref("apps/v1", "Deployment", "volcano-system", "volcano-controllers")]
    healed = play("playbooks/install.yml")
    assert healed.code == 0, healed.ending
    take(empty, provisioner, {"spec": {"replicas": 2}})
    for ref in missing:
        live = empty.get(ref)
        assert live
        empty.delete(ref, uid=live["metadata"]["uid"])

    partly = play("playbooks/site.yml", reports=tmp_path, validation_select=["B1"])

    assert partly.code == 2
    shown = partly.output.replace("\\n", "\n")
    assert "finished: volcano, training-operator\n" in shown
    assert "not finished: local-path (1 failed)\n" in shown
    for ref in missing:
        made = empty.get(ref)
        assert made
        assert made["status"]["readyReplicas"] == 1
        if ref == operator:
            assert "--gang-scheduler-name=volcano" in str(made["spec"]["template"]["spec"]["containers"])
    report = json.loads((tmp_path / "latest.json").read_text("utf-8"))
    assert [item["id"] for item in report["checks"] if item["status"] != "skip"] == ["B1"]
    assert ['conflict with "other-tool"' in item for item in report["run"]["rollout_problems"]] == [True]
    assert f"{provisioner} was refused" in partly.output.rpartition("TASK [")[2]  # at the end, after the validation

    empty.patch(provisioner, {"metadata": {"managedFields": [{}]}})  # as the message says; the next test installs


@pytest.mark.long
def test_nothing_is_validated_if_the_rollout_was_refused_before_its_first_change(tmp_path: Path) -> None:
    refused = play("playbooks/site.yml", reports=tmp_path, kubeflow_kubeconfig=str(tmp_path / "none"))
    assert refused.code == 2
    assert not list(tmp_path.iterdir())


def take(cluster: Cluster, ref: Ref, change: Any) -> None:
    """Change fields of an object as another tool does, which then owns them."""
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
    content = "application/merge-patch+json"
    cluster.request("PATCH", f"{path}?fieldManager=other-tool", body=change, content_type=content)


@pytest.mark.long
def test_a_worker_whose_ansible_was_killed_ends_and_releases_the_lock(empty: Cluster, tmp_path: Path) -> None:
    """No node takes pods, so that the roll-out would wait for a Deployment until its deadline."""
    ref, log = Ref("apps/v1", "Deployment", "volcano-system", "volcano-controllers"), tmp_path / "log"
    healed = play("playbooks/install.yml")
    assert healed.code == 0, healed.ending
    nodes = [Ref.of(obj) for obj in empty.list("v1", "Node").items]
    try:
        for node in nodes:
            empty.patch(node, {"spec": {"unschedulable": True}})
        live = empty.get(ref)
        assert live
        empty.delete(ref, uid=live["metadata"]["uid"])
        with log.open("w") as output:
            command = words("playbooks/install.yml")
            running = started(*command, output=output)
            until(lambda: "volcano-controllers has 0 of 1" in log.read_text("utf-8"), seconds=300)
            held = holder_of(empty)
            assert held
            assert held.life() is Life.ALIVE
            running.kill()
            running.wait(60)
        until(lambda: held.life() is Life.GONE, seconds=10)
        assert holder_of(empty) is None
    finally:
        for node in nodes:
            empty.patch(node, {"spec": {"unschedulable": False}})
    again = play("playbooks/install.yml")
    assert again.code == 0, again.output
    assert "holds the lock" not in again.output
