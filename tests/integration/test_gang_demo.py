"""The source experiment by its playbook: the three cases come out as claimed, and the cluster is as it was."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.objects import Ref

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")


def gpus(cluster: Cluster) -> list[str]:
    return sorted(
        node["metadata"]["name"]
        for node in cluster.list("v1", "Node").items
        if node["status"]["allocatable"].get("nvidia.com/gpu") == "1"
    )


def arguments(cluster: Cluster) -> list[str]:
    live = cluster.get(OPERATOR)
    assert live is not None
    found: list[str] = live["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


def test_the_three_cases_come_out_as_claimed(kubeconfig: Path, cluster: Cluster) -> None:
    before = gpus(cluster), arguments(cluster)
    program = Path(sys.executable).with_name("ansible-playbook")
    variables = json.dumps({"rehearsal_cluster_name": kubeconfig.parent.name})
    done = subprocess.run(
        [program, "-i", "inventory/rehearsal", "-e", variables, "playbooks/gang_demo.yml"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]

    table = done.stdout[done.stdout.index("default scheduler, 1 GPU             ") :]
    columns = [re.split(r"\s{3,}", line.strip()) for line in table.splitlines()[:14]]
    words = [cell for row in columns for cell in row]
    assert words.count("as claimed") == 3
    assert "PodGroup Pending, MINMEMBER 6" in words
    assert "PodGroup Running, MINMEMBER 6" in words
    assert "(no pods)" in words
    assert [cell for cell in words if cell.startswith("most pods bound")] == [
        "most pods bound at once: 0",
        "most pods bound at once: 3",
        "most pods bound at once: 6",
    ]

    assert (gpus(cluster), arguments(cluster)) == before
    assert not cluster.list("kubeflow.org/v1", "TFJob").items
    assert not [item for item in cluster.list("v1", "Namespace").items if "kfv-" in item["metadata"]["name"]]
