"""Several clusters in one run, of which one is real: each is judged by itself, and nothing of any run remains."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from tests.integration.breaking import leftovers
from tests.places import ROOT
from tests.playing import ansible

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


def document(reports: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((reports / "clusters-latest.json").read_text("utf-8"))
    return loaded


def test_a_group_of_clusters_is_judged_whole_although_one_does_not_answer(kubeconfig: Path, tmp_path: Path) -> None:
    hosts = {
        "here": {"kubeflow_kubeconfig": str(kubeconfig)},
        "there": {"kubeflow_kubeconfig": str(tmp_path / "nowhere"), "validation_select": ["A1"]},
    }
    common = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "validation_select": ["A1", "F3"],
        "validation_report_directory": str(tmp_path / "reports"),
    }
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"all": {"children": {"clusters": {"hosts": hosts, "vars": common}}}}))

    done = ansible("-i", inventory, "playbooks/validate.yml", merged=True)

    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stdout
    found = document(tmp_path / "reports")
    assert [(item["name"], item["verdict"]) for item in found["clusters"]] == [
        ("here", "pass"),
        ("there", "incomplete"),
    ]
    assert {row["id"]: row["statuses"] for row in found["checks"]} == {
        "A1": {"here": "pass", "there": "error"},
        "F3": {"here": "pass"},
    }
    for item in found["clusters"]:
        assert (tmp_path / "reports" / item["files"]["html"]).is_file()
    assert "INCOMPLETE  1 incomplete, 1 passed" in done.stdout
    assert "here : ok=5" in " ".join(done.stdout.split())

    alone = ansible("-i", inventory, "playbooks/validate.yml", "--limit", "here", merged=True)

    assert alone.returncode == 0, alone.stdout
    assert [item["name"] for item in document(tmp_path / "reports")["clusters"]] == ["here"]


def test_one_ctrl_c_ends_the_experiments_on_all_clusters_and_nothing_of_them_remains(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    """Two names of one cluster, on which both run the same experiment at the same time."""
    config = yaml.safe_load(kubeconfig.read_text("utf-8"))
    (context,) = config["contexts"]
    config["contexts"] = [{**context, "name": name} for name in ("blue", "green")]
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump({**config, "current-context": "blue"}))
    command = [sys.executable, "-m", "validators", "--kubeconfig", str(tmp_path / "kubeconfig")]
    command += ["--context", "blue", "--context", "green", "--select", "gang", "--report-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        begun: set[str] = set()
        for line in process.stderr:
            begun |= {line.partition(":")[0]} if "H2 all-or-nothing" in line else set()
            if len(begun) == 2:
                break
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=400)

    assert process.returncode == 130, errors
    assert "Traceback" not in output + errors
    found = document(tmp_path)
    assert found["same_cluster"] == [["blue", "green"]]
    for item in found["clusters"]:
        assert (item["run"]["interrupted"], item["left_behind"]) == (True, 0)
        own = json.loads((tmp_path / item["files"]["json"]).read_text("utf-8"))
        assert own["cleanup"]["created"] == own["cleanup"]["removed"] > 0
    assert leftovers(cluster) == []
