"""Volcano 1.8.2 becomes 1.10.0 by upgrade.yml, on a cluster of this file's own where the programs of both run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import RehearsalSpec
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import made, space
from tests.integration.playing import play
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

OLD, NEW = "1.8.2", "1.10.0"
SPEC = RehearsalSpec(f"volcano-{os.getpid()}", extras=("volcano-1.8",))
PROVED = ("F1", "F3", "F4", "H1", "H2", "H3", "H4", "H5", "H6")
MANIFEST = "installer/volcano-development.yaml"
PROGRAMS = tuple(
    Ref("apps/v1", "Deployment", "volcano-system", f"volcano-{name}")
    for name in ("admission", "controllers", "scheduler")
)


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    try:
        yield up(SPEC, silent).kubeconfig
    finally:
        left = down(SPEC.name, silent).left
    assert not left


@pytest.fixture(scope="module")
def manifests(kubeconfig: Path) -> dict[str, Path]:
    tools = ensure_tools(load_generation("1.30", extras=SPEC.extras), progress=silent)
    return {
        OLD: tools.homes["volcano-1.8"] / "src/volcano.sh/volcano" / MANIFEST,
        NEW: kubeconfig.parent / "upstream/volcano" / MANIFEST,
    }


def played(playbook: str, manifests: dict[str, Path], version: str, tmp_path: Path, *arguments: str) -> str:
    """What the playbook says, for Volcano of that version and storage, and nothing of Kubeflow."""
    given = {
        "rehearsal_cluster_name": SPEC.name,
        "rehearsal_cluster_extras": list(SPEC.extras),
        "kubeflow_release": "1.8.1",
        "kubeflow_components": ["local-path", "volcano"],
        "volcano_version": version,
        "volcano_source": str(manifests[version]),
        "gang_scheduling_scheduler": "none",
        "validation_select": list(PROVED),
        "validation_report_directory": str(tmp_path / "reports"),
        "upgrade_report_directory": str(tmp_path / "reports"),
        "backup_directory": str(tmp_path / "backups"),
    }
    done = play(playbook, Path("inventory/rehearsal"), "-e", json.dumps(given), *arguments)
    assert done.returncode == 0, done.stdout
    return done.stdout


def running(cluster: Cluster) -> set[str]:
    """The tags of Volcano's images that run."""
    found = [cluster.get(ref) for ref in PROGRAMS]
    return {
        str(item["image"]).rpartition(":")[2]
        for live in found
        if live
        for item in live["spec"]["template"]["spec"]["containers"]
    }


def podgroup(namespace: str) -> Object:
    meta = {"name": "before", "namespace": namespace}
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    return {**kind, "metadata": meta, "spec": {"minMember": 2}}


def proved(kubeconfig: Path) -> dict[str, str]:
    options = Options(kubeconfig, select=PROVED, stability_seconds=1, report_dir=None)
    report = validate(options, silent, timing=Timing())
    return {item.check.id: f"{item.outcome.status}: {item.outcome.message}" for item in report.results}


def test_gangs_are_proved_before_and_after_and_what_people_made_stays(
    kubeconfig: Path, manifests: dict[str, Path], tmp_path: Path
) -> None:
    cluster = Cluster.connect(kubeconfig)
    played("install", manifests, OLD, tmp_path)
    assert running(cluster) == {f"v{OLD}"}
    before = proved(kubeconfig)
    assert not {check: text for check, text in before.items() if not text.startswith("pass")}

    with space(cluster) as namespace, made(cluster, podgroup(namespace)):
        ref = Ref.of(podgroup(namespace))
        until(lambda: bool((cluster.get(ref) or {}).get("status", {}).get("phase")))
        theirs = cluster.get(ref)
        assert theirs is not None
        planned = played("upgrade", manifests, NEW, tmp_path, "--check")
        assert running(cluster) == {f"v{OLD}"}, planned
        played("upgrade", manifests, NEW, tmp_path)
        assert running(cluster) == {f"v{NEW}"}
        kept = cluster.get(ref)
        assert kept is not None
        assert (kept["metadata"]["uid"], kept["spec"]["minMember"]) == (theirs["metadata"]["uid"], 2)
    report = json.loads((tmp_path / "reports/latest.json").read_text("utf-8"))
    assert {item["id"]: item["status"] for item in report["checks"] if item["id"] in PROVED} == dict.fromkeys(
        PROVED, "pass"
    )
    assert "changed=0" in played("install", manifests, NEW, tmp_path)
