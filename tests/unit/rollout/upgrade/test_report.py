"""The report on an upgrade, from its document alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput, NotWritten
from kubeflow_volcano.rollout.upgrade.document import require_idle
from kubeflow_volcano.rollout.upgrade.report import render_html, render_markdown, summary, write

PROBLEM = {"found": "a | b <script>.", "needed": "c.", "todo": "d."}


def document(**more: Any) -> dict[str, Any]:
    return {
        "schema": "kfv.upgrade/v1",
        "created": "2026-01-02T03:04:05Z",
        "kubernetes": "v1.30.2",
        "release": "1.9.1",
        "state": "planned",
        "versions": [
            {"component": "dex", "installed": "1.8.1", "wanted": "1.9.1"},
            {"component": "knative-eventing", "installed": "1.8.1", "wanted": ""},
            {"component": "volcano", "installed": "1.10.0", "wanted": "1.10.0"},
        ],
        "steps": ["oauth2-proxy replaces oidc-authservice"],
        "running": ["PyTorchJob team-a/train"],
        "crds": [{"crd": "a.b", "stored": ["v1alpha1"], "storage": "v1beta1", "drops_conversion": True}],
        "images": ["docker.io/library/new:1"],
        "gang": {"now": [], "then": {"operator_arguments": ["--gang-scheduler-name=volcano"]}},
        "backup": "",
        "objects": {"created": 1, "removed": 1},
        "changes": [
            {"object": "Deployment auth/dex", "action": "created", "component": "dex", "reason": ""},
            {"object": "EnvoyFilter istio-system/authn-filter", "action": "removed", "component": "", "reason": ""},
        ],
        "problems": [],
        "warnings": [],
        "seconds": 1.0,
        **more,
    }


def test_the_report_says_what_would_change() -> None:
    text = render_markdown(document())
    assert text.startswith("# Upgrade to Kubeflow 1.9.1 on Kubernetes v1.30.2: planned. Objects: 1 created, 1 removed.")
    assert "| dex | 1.8.1 | 1.9.1 |" in text
    assert "| knative-eventing | 1.8.1 | left |" in text
    assert "| volcano |" not in text
    assert "| a.b | v1alpha1 | v1beta1 | ends |" in text
    assert "| none | --gang-scheduler-name=volcano |" in text
    assert "| removed | EnvoyFilter istio-system/authn-filter |" in text
    assert "## Jobs that run: 1" in text
    assert "## Problems" not in text


def test_what_others_wrote_is_text_in_both() -> None:
    found = document(problems=[PROBLEM], state="failed", backup="backups/x")
    assert "| a \\| b &lt;script>. | c. | d. |" in render_markdown(found)
    html = render_html(found)
    assert "<script" not in html
    assert "a | b &lt;script&gt;." in html
    assert "ended with problems" in html
    assert "Backup: backups/x" in html


def test_an_upgrade_without_changes_says_so() -> None:
    nothing = document(versions=[], steps=[], running=[], crds=[], images=[], objects={}, changes=[])
    assert "Nothing changes" in render_html(nothing)
    assert summary(nothing).endswith("Objects: none.")


def test_the_files_are_written_or_the_reason_is_named(tmp_path: Path) -> None:
    reports = write(tmp_path / "reports", document())
    assert sorted(reports) == ["upgrade.html", "upgrade.json", "upgrade.md"]
    assert json.loads(Path(reports["upgrade.json"]).read_text())["schema"] == "kfv.upgrade/v1"
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritten, match="upgrade_report_directory"):
        write(tmp_path / "file", document())


def test_running_jobs_are_refused_unless_allowed() -> None:
    with pytest.raises(InvalidInput, match=r"PyTorchJob team-a/train.*upgrade_running_jobs: allow"):
        require_idle(document(), allowed=False)
    require_idle(document(), allowed=True)
    require_idle(document(running=[]), allowed=False)
