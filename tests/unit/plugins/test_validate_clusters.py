"""kfv_validate_clusters joins what the role registered for each cluster, and says where the report is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

PROBLEM = {"found": "no cluster.", "needed": "one.", "todo": "look for it."}


def played(place: Path, reports: Path) -> str:
    registered = {"__validation_run": {"exit_code": 3, "problems": [PROBLEM]}, "ansible_connection": "local"}
    hosts = dict.fromkeys(("eu", "us"), registered)
    (place / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}), "utf-8")
    task = {"kfv_validate_clusters": {"clusters": ["eu", "us"], "report_directory": str(reports)}}
    play = {"hosts": "eu", "gather_facts": False, "tasks": [task]}
    (place / "play.json").write_text(json.dumps([play]), "utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", place / "hosts.json", place / "play.json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "NO_COLOR": "1"},
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout


def test_the_report_on_all_clusters_is_written_and_named(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    told = played(tmp_path, reports)
    assert "INCOMPLETE  2 incomplete" in told
    for kind in ("json", "md", "html", "xml"):
        assert f"report  {reports}/clusters-latest.{kind}" in told
        assert (reports / f"clusters-latest.{kind}").is_file()


def test_a_report_that_cannot_be_written_fails_the_task(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told = played(tmp_path, tmp_path / "file" / "reports")
    assert "failed=1" in told
    assert "the report cannot be written" in " ".join(told.split())
