"""The plan as a person meets it: one command, no cluster, files, and a verdict that ends the playbook."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.places import UPSTREAM
from tests.playing import ansible

pytestmark = pytest.mark.programs

ARCHIVE = UPSTREAM / "manifests-1.6.1.tar.gz"


def kustomize() -> Path | None:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubeflow-volcano"
    found = [*cache.glob("tools/kustomize-*/bin/kustomize"), *cache.glob("kustomize/*/kustomize")]
    return found[0] if found else None


def planned(directory: Path, inventory: str = "sample", **more: object) -> subprocess.CompletedProcess[str]:
    variables = {
        "kubeflow_release": "1.6.1",
        "kubeflow_components": ["dex", "knative-serving"],
        "kubeflow_source": str(ARCHIVE),
        "kubeflow_kubeconfig": str(directory / "no-such-kubeconfig"),
        "kustomize_binary": str(kustomize()),
        "plan_directory": str(directory / "plan"),
        **more,
    }
    arguments = ["-i", f"inventory/{inventory}", "playbooks/plan.yml", "-e", json.dumps(variables)]
    return ansible(*arguments)


with_upstream = pytest.mark.skipif(
    not ARCHIVE.is_file() or kustomize() is None, reason="no upstream manifests or no kustomize to build them"
)


@pytest.mark.upstream
@with_upstream
def test_the_playbook_plans_without_a_cluster_and_fails_where_the_roll_out_would(tmp_path: Path) -> None:
    good = planned(tmp_path, kubeflow_user_password="of-the-inventory")  # noqa: S106  made up
    assert good.returncode == 0, good.stdout
    assert "changed=0" in good.stdout
    document = json.loads((tmp_path / "plan" / "plan.json").read_text("utf-8"))
    assert {item["component"] for item in document["steps"]} >= {"dex", "knative-serving", "istio-crds"}
    assert document["account"]["password"] == "of the inventory"  # noqa: S105  says where it is from
    assert "of-the-inventory" not in good.stdout + (tmp_path / "plan" / "plan.json").read_text("utf-8")
    assert (tmp_path / "plan" / "images.txt").read_text("utf-8").count("\n") == document["images"]["count"]

    bad = planned(tmp_path, plan_kubernetes="1.26")
    assert bad.returncode == 2
    assert "HorizontalPodAutoscaler" in bad.stdout
    assert "exit code 1" in bad.stdout
    assert json.loads((tmp_path / "plan" / "plan.json").read_text("utf-8"))["exit_code"] == 1

    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a directory", "utf-8")
    unwritten = planned(tmp_path, plan_directory=str(in_the_way))
    assert unwritten.returncode == 2
    assert "set plan_directory to another directory" in unwritten.stdout


@pytest.mark.upstream
@with_upstream
def test_a_cluster_without_host_access_says_what_is_left_to_others(tmp_path: Path) -> None:
    done = planned(tmp_path, "existing-cluster")
    assert done.returncode == 0, done.stdout
    assert "no host is" in done.stdout
    document = json.loads((tmp_path / "plan" / "plan.json").read_text("utf-8"))
    assert document["hosts"]["nodes"] == []
    assert "local-path" not in {item["component"] for item in document["steps"] if item["objects"]}
    renamed = [item for item in document["images"]["images"] if item["final"] != item["original"]]
    assert all(item["override"] for item in renamed)
