"""kfv_validate_clusters joins what the role registered for each cluster, and says where the report is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.playing import ansible

pytestmark = pytest.mark.programs

ROLLOUTS = {
    "changed": {"changed": True, "failed": False},
    "unchanged": {"changed": False},
    "failed": {"changed": True, "failed": True},
    "": {"changed": False, "skipped": True},
    "not begun": None,
}
PROBLEM = {"found": "no cluster.", "needed": "one.", "todo": "look for it."}


def played(place: Path, reports: Path, rollouts: Mapping[str, Any] | None = None) -> str:
    """Output of a play on two clusters, or on one for each of `rollouts`, which are their registered results."""
    registered = {"__validation_run": {"exit_code": 3, "problems": [PROBLEM]}, "ansible_connection": "local"}
    hosts: dict[str, Any] = dict.fromkeys(("eu", "us"), registered)
    for name, run in (rollouts or {}).items():
        hosts[name] = {**registered, "__validation_gate": "begun"} | ({"__install_run": run} if run else {})
    (place / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}), "utf-8")
    arguments: dict[str, Any] = {"clusters": ["eu", "us"], "report_directory": str(reports)}
    if rollouts:
        arguments = {**arguments, "clusters": list(hosts), "rollout": "__install_run"}
    task = {"kfv_validate_clusters": arguments}
    play = {"hosts": "eu", "gather_facts": False, "tasks": [task]}
    (place / "play.json").write_text(json.dumps([play]), "utf-8")
    done = ansible("-i", place / "hosts.json", place / "play.json")
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
    assert "report cannot be" in " ".join(told.split())


def test_the_report_has_what_became_of_each_roll_out(tmp_path: Path) -> None:
    told = played(tmp_path, tmp_path, {f"c{number}": run for number, run in enumerate(ROLLOUTS.values())})

    document = json.loads((tmp_path / "clusters-latest.json").read_text("utf-8"))
    found = {item["name"]: item["rollout"] for item in document["clusters"]}
    assert [found[f"c{number}"] for number in range(len(ROLLOUTS))] == list(ROLLOUTS)
    assert (found["eu"], found["us"]) == ("not begun", "not begun")
    assert "c0  roll-out changed; not validated" in told
    for name in ("eu", "us"):
        problems = next(item["problems"] for item in document["clusters"] if item["name"] == name)
        assert "not begun, " in problems[0]
