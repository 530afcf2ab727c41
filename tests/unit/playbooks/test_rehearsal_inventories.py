"""Inventories of rehearsals: the generation that each names runs what the release that it names was tested with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog.read import load_release
from kubeflow_volcano.rehearsal.build.generation import load_generation
from tests.places import ROOT

pytestmark = pytest.mark.programs

OTHERS = ("openeuler-22.03-kubeflow-1.6", "rehearsal-26.03")
MODULES = {"trainer": "github.com/kubeflow/trainer/v2", "training-operator": "github.com/kubeflow/training-operator"}


def own(inventory: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / f"inventory/{inventory}/group_vars/all/release.yml").read_text())
    return loaded


@pytest.mark.parametrize("inventory", OTHERS)
def test_the_generation_runs_what_the_release_goes_with(inventory: str) -> None:
    settings = own(inventory)
    release = load_release(settings["kubeflow_release"])
    tools = load_generation(settings["rehearsal_cluster_generation"]).tools

    def built(program: str, module: str) -> str:
        (tool,) = (tool for tool in tools if program in tool.programs)
        found = re.search(rf"^\s+{module} v(\S+)", (tool.directory / "go.mod").read_text(), re.MULTILINE)
        assert found is not None
        return found[1]

    assert release.kubernetes.covers(built("kube", "k8s.io/kubernetes"))
    assert built("vc-scheduler", "volcano.sh/volcano") == settings["volcano_version"]
    assert settings["volcano_version"] in release.volcano_versions
    operator = release.operator.component
    assert built(operator, MODULES[operator]) == release.operator.version
    (kustomize,) = (tool for tool in tools if tool.name == "kustomize")
    assert {value.removeprefix("v") for value in kustomize.stamps.values()} == {release.kustomize_version}


@pytest.mark.parametrize("inventory", ["rehearsal", *OTHERS])
def test_settings_of_a_rehearsal_are_accepted_and_follow_the_cache(inventory: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible"), "localhost", "-i", f"inventory/{inventory}", "-m", "kfv_settings"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ
        | {"ANSIBLE_CONFIG": "ansible.cfg", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json", "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout
    told = json.loads(done.stdout.partition("=> ")[2])
    assert told["settings"]["kubeflow_kubeconfig"].startswith(f"{tmp_path}/kubeflow-volcano/rehearsal/")
