"""site.yml and upgrade.yml on three API servers in turn: the gate of each is met before the next one is touched."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.removing.managed import preferred_kinds
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import writes_for_us
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from kubeflow_volcano.rollout.state.lock import LEASE
from tests.archives import archive_of
from tests.bench.plane import Plane
from tests.playing import ansible, started
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

ARCHIVE, NEXT = archive_of("1.9.1"), archive_of("1.10.2")
NAMES = ("first", "second", "third")
WEBHOOK = Ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "things")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")


@pytest.fixture(scope="module")
def tools() -> Tools:
    if not ARCHIVE.is_file():
        pytest.skip(f"no {ARCHIVE}")
    return ensure_tools(load_generation("1.30"), progress=lambda _line: None)


@pytest.fixture(scope="module")
def planes(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Plane]]:
    place = tmp_path_factory.mktemp("clusters")
    with ExitStack() as stack:
        yield {name: stack.enter_context(Plane(tools.programs, place / name, ["kubeflow"])) for name in NAMES}


@pytest.fixture
def inventory(planes: dict[str, Plane], tools: Tools, tmp_path: Path) -> Path:
    common = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "kubeflow_release": "1.9.1",
        "kubeflow_components": ["training-operator"],
        "kubeflow_source": str(ARCHIVE),
        "kustomize_binary": str(tools.programs["kustomize"]),
        "gang_scheduling_scheduler": "none",
        "local_path_storage_mode": "existing",
        "validation_select": ["A1", "B1", "B6"],
        "validation_report_directory": str(tmp_path / "reports"),
        "upgrade_report_directory": str(tmp_path / "reports"),
        "backup_directory": str(tmp_path / "backups"),
    }
    hosts = {name: {"kubeflow_kubeconfig": str(plane.kubeconfig)} for name, plane in planes.items()}
    file = tmp_path / "hosts.json"
    file.write_text(json.dumps({"all": {"children": {"clusters": {"hosts": hosts, "vars": common}}}}), "utf-8")
    return file


def table(inventory: Path) -> list[tuple[str, str, str]]:
    """Name, roll-out and verdict of every cluster, as the report on all of them says."""
    text = (inventory.parent / "reports/clusters-latest.json").read_text("utf-8")
    return [(item["name"], item["rollout"], item["verdict"]) for item in json.loads(text)["clusters"]]


def recap(output: str, name: str) -> dict[str, int]:
    (line,) = re.findall(rf"^{name} +: (.*)$", output, re.MULTILINE)
    return {key: int(value) for key, value in (item.split("=") for item in line.split())}


def ours(cluster: Cluster) -> list[str]:
    """Objects of any kind that this project wrote."""
    return [
        f"{kind.kind} {obj['metadata']['name']}"
        for kind in preferred_kinds(cluster)
        if "patch" in kind.verbs
        for page in cluster.pages(kind.api_version, kind.kind, brief=True)
        for obj in page.items
        if any(writes_for_us(entry.get("manager", "")) for entry in obj["metadata"].get("managedFields") or ())
    ]


def namespaces(cluster: Cluster) -> set[str]:
    return {obj["metadata"]["name"] for obj in cluster.list("v1", "Namespace").items}


def orphan() -> Object:
    """A webhook that calls a Service which does not exist, for a kind that does not exist either."""
    rule = {"apiGroups": ["example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    webhook = {
        "name": "things.example.org",
        "rules": [rule],
        "clientConfig": {"service": {"namespace": "default", "name": "nowhere"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind: dict[str, Any] = {"apiVersion": WEBHOOK.api_version, "kind": WEBHOOK.kind}
    return {**kind, "metadata": {"name": WEBHOOK.name}, "webhooks": [webhook]}


def storage_class() -> Object:
    meta = {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    kind: dict[str, Any] = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    return {**kind, "metadata": meta, "provisioner": "kubernetes.io/no-provisioner"}


def test_a_cluster_that_fails_keeps_the_next_from_being_touched_and_a_rerun_goes_on(
    planes: dict[str, Plane], inventory: Path
) -> None:
    """The second cluster has a broken webhook of others, so that its roll-out ends well and its gate is not met."""
    first, second, third = (Cluster.connect(planes[name].kubeconfig) for name in NAMES)
    for cluster in (first, second, third):
        cluster.create(storage_class())
    broken = second.create(orphan())
    before = ours(third), namespaces(third)  # the node, the volumes and the class come from the same client

    stopped = ansible("-i", inventory, "playbooks/site.yml", merged=True)

    assert stopped.returncode == 2, stopped.stdout
    assert "Traceback" not in stopped.stdout
    assert table(inventory) == [
        ("first", "changed", "pass"),
        ("second", "changed", "fail"),
        ("third", "not begun", "incomplete"),
    ]
    assert "fail: B6 no-orphan-webhooks" in stopped.stdout
    assert "Not begun: " in stopped.stdout
    assert [recap(stopped.stdout, name)["failed"] for name in NAMES] == [0, 1, 1]
    assert first.get(OPERATOR)
    assert second.get(OPERATOR)
    assert third.get(LEASE) is None
    assert (ours(third), namespaces(third)) == before
    assert {"Deployment training-operator", "Lease rollout"} <= set(ours(first))

    second.delete(WEBHOOK, uid=broken["metadata"]["uid"])
    resumed = ansible("-i", inventory, "playbooks/site.yml", merged=True)

    assert resumed.returncode == 0, resumed.stdout
    assert table(inventory) == [
        ("first", "unchanged", "pass"),
        ("second", "unchanged", "pass"),
        ("third", "changed", "pass"),
    ]
    assert third.get(OPERATOR)

    one = ansible("-i", inventory, "playbooks/site.yml", "--limit", "third", merged=True)

    assert one.returncode == 0, one.stdout
    assert table(inventory) == [("third", "unchanged", "pass")]


def test_an_upgrade_that_is_killed_goes_on_where_it_ended(planes: dict[str, Plane], inventory: Path) -> None:
    """Behind the test above: Kubeflow 1.9.1 is on all three."""
    if not NEXT.is_file():
        pytest.skip(f"no {NEXT}")
    clusters = {name: Cluster.connect(planes[name].kubeconfig) for name in NAMES}
    newer = ("-e", "kubeflow_release=1.10.2", "-e", f"kubeflow_source={NEXT}")
    before = {name: versions(cluster) for name, cluster in clusters.items()}

    planned = ansible("-i", inventory, "playbooks/upgrade.yml", *newer, "--check", merged=True)
    assert planned.returncode == 0, planned.stdout
    assert {name: versions(cluster) for name, cluster in clusters.items()} == before

    with started("-i", inventory, "playbooks/upgrade.yml", *newer) as running:
        until(lambda: versions(clusters["second"]) != before["second"], 240)
        running.kill()
        running.communicate()
    assert versions(clusters["third"]) == before["third"]

    resumed = ansible("-i", inventory, "playbooks/upgrade.yml", *newer, merged=True)

    assert resumed.returncode == 0, resumed.stdout
    assert [(name, verdict) for name, _, verdict in table(inventory)] == [(name, "pass") for name in NAMES]
    assert table(inventory)[0][1] == "unchanged"
    assert table(inventory)[2][1] == "changed"
    assert len({versions(cluster) for cluster in clusters.values()}) == 1
    assert versions(clusters["third"]) != before["third"]


def versions(cluster: Cluster) -> str:
    """The image of the training operator."""
    live = cluster.get(OPERATOR)
    assert live is not None
    return str(live["spec"]["template"]["spec"]["containers"][0]["image"])
