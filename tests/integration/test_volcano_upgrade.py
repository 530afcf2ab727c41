"""Volcano becomes newer by upgrade.yml, on clusters of this file's own where the programs of all steps run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
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
from tests.playing import ansible
from tests.rehearsed import cluster_name
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

PROVED = ("F1", "F3", "F4", "H1", "H2", "H3", "H4", "H5", "H6")
MANIFEST = "installer/volcano-development.yaml"
PROGRAMS = tuple(
    Ref("apps/v1", "Deployment", "volcano-system", f"volcano-{name}")
    for name in ("admission", "controllers", "scheduler")
)


@dataclass(frozen=True)
class Chain:
    """Versions one after the other, all of which a release takes, and the cluster that can run them."""

    versions: tuple[str, ...]
    release: str
    spec: RehearsalSpec

    def manifest(self, version: str, kubeconfig: Path) -> Path:
        """Upstream's, from the module that the programs of that version are built from."""
        if version == self.versions[-1]:
            return kubeconfig.parent / "upstream/volcano" / MANIFEST
        tools = ensure_tools(load_generation(self.spec.generation, extras=self.spec.extras), progress=silent)
        return tools.homes[f"volcano-{version.rpartition('.')[0]}"] / "src/volcano.sh/volcano" / MANIFEST

    def play(self, playbook: str, kubeconfig: Path, version: str, tmp_path: Path, *arguments: str) -> str:
        """What the playbook says, for Volcano of that version and storage, and nothing of Kubeflow."""
        given = {
            "rehearsal_cluster_name": self.spec.name,
            "rehearsal_cluster_extras": list(self.spec.extras),
            "kubeflow_release": self.release,
            "kubeflow_components": ["local-path", "volcano"],
            "volcano_version": version,
            "volcano_source": str(self.manifest(version, kubeconfig)),
            "gang_scheduling_scheduler": "none",
            "validation_select": list(PROVED),
            "validation_report_directory": str(tmp_path / "reports"),
            "upgrade_report_directory": str(tmp_path / "reports"),
            "backup_directory": str(tmp_path / "backups"),
        }
        done = ansible(
            "-i", "inventory/rehearsal", f"playbooks/{playbook}.yml", "-e", json.dumps(given), *arguments, merged=True
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


def chain(generation: str, release: str, *versions: str) -> Chain:
    extras = tuple(f"volcano-{version.rpartition('.')[0]}" for version in versions[:-1])
    spec = RehearsalSpec(cluster_name("volcano"), generation=generation, extras=extras)
    return Chain(versions, release, spec)


CHAINS = (chain("1.30", "1.8.1", "1.8.2", "1.10.0"), chain("1.35", "26.03.1", "1.10.0", "1.14.1", "1.15.1"))
TAGS = {"1.14.1": "v1.14.0"}
"""Of images, where the manifest in the Go module names those of another: upstream moved the tag afterwards."""


@pytest.fixture(params=CHAINS, ids=lambda steps: steps.spec.generation)
def steps(request: pytest.FixtureRequest) -> Chain:
    found: Chain = request.param
    return found


@pytest.fixture
def kubeconfig(steps: Chain) -> Iterator[Path]:
    try:
        yield up(steps.spec, silent).kubeconfig
    finally:
        left = down(steps.spec.name, silent).left
    assert not left


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
    steps: Chain, kubeconfig: Path, tmp_path: Path
) -> None:
    cluster = Cluster.connect(kubeconfig)
    old, *newer = steps.versions
    steps.play("install", kubeconfig, old, tmp_path)
    assert running(cluster) == {f"v{old}"}
    before = proved(kubeconfig)
    assert not {check: text for check, text in before.items() if not text.startswith("pass")}

    with space(cluster) as namespace, made(cluster, podgroup(namespace)):
        ref = Ref.of(podgroup(namespace))
        until(lambda: bool((cluster.get(ref) or {}).get("status", {}).get("phase")))
        theirs = cluster.get(ref)
        assert theirs is not None
        for version in newer:
            former = running(cluster)
            planned = steps.play("upgrade", kubeconfig, version, tmp_path, "--check")
            assert running(cluster) == former, planned
            steps.play("upgrade", kubeconfig, version, tmp_path)
            assert running(cluster) == {TAGS.get(version, f"v{version}")}
            kept = cluster.get(ref)
            assert kept is not None
            assert (kept["metadata"]["uid"], kept["spec"]["minMember"]) == (theirs["metadata"]["uid"], 2)
            report = json.loads((tmp_path / "reports/latest.json").read_text("utf-8"))
            assert {item["id"]: item["status"] for item in report["checks"] if item["id"] in PROVED} == dict.fromkeys(
                PROVED, "pass"
            )
            assert "changed=0" in steps.play("install", kubeconfig, version, tmp_path)
