"""python -m validators as people type it, without a cluster."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.validators.__main__ import main
from tests.places import ROOT
from tests.serving import kubeconfig

PATIENCE = "kubeflow_volcano.cluster.api.client._VERSION_SECONDS"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "validators", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=300,
    )


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A kubeconfig whose server does not exist: nobody listens on this loopback port, or can while it is taken.

    This process waits for less than ten seconds for it to come up.
    """
    monkeypatch.setattr(PATIENCE, 0.3)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield kubeconfig_of(tmp_path, taken.getsockname()[1])


def kubeconfig_of(tmp_path: Path, port: int) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(kubeconfig(f"https://127.0.0.1:{port}", {})))
    return path


def test_the_list_names_every_check_and_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert "B machinery\n  B1  crds-served" in listed
    assert "H8  nothing-left-behind" in listed


def test_an_earlier_report_that_cannot_be_read_is_refused_before_the_cluster_is_asked(
    nobody: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = tmp_path / "reports"
    given = ["--kubeconfig", str(nobody), "--report-dir", str(reports), "--baseline", str(tmp_path / "gone.json")]
    assert main(given) == 2
    assert "gone.json cannot be read" in capsys.readouterr().err
    assert not reports.exists()


def test_a_run_is_compared_with_the_report_that_it_replaces(
    nobody: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--quiet", "--kubeconfig", str(nobody), "--report-dir", str(tmp_path), "--select", "storage"]
    main(given)
    first = json.loads((tmp_path / "latest.json").read_text())
    assert first["baseline"] is None
    main([*given, "--baseline", str(tmp_path / "latest.json")])
    second = json.loads((tmp_path / "latest.json").read_text())
    assert second["baseline"]["run"] == first["run"]["id"]
    assert [item["id"] for item in second["baseline"]["still"]] == [item["id"] for item in first["checks"]]
    assert f"compared with run {first['run']['id']}" in capsys.readouterr().out
    assert {path.name for path in tmp_path.glob("latest.*")} == {
        f"latest.{kind}" for kind in ("json", "md", "html", "xml")
    }


def test_components_that_make_no_sense_are_refused_before_the_cluster_is_asked(
    nobody: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--kubeconfig", str(nobody), "--release", "1.9.1"]
    assert main([*where, "--component", "dex,katip"]) == 2
    assert "mean katib" in capsys.readouterr().err
    assert main([*where, "--profile", "full", "--exclude", "istio-crds"]) == 2
    assert "istio-crds is excluded" in capsys.readouterr().err


def test_a_check_is_explained_with_its_remedy_and_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "G2"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("G2 operator-may-group: The training operator's ServiceAccount")
    assert "create subjectaccessreviews.authorization.k8s.io" in told


def test_rights_are_printed_without_a_cluster_where_the_release_is_given(
    nobody: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["rbac", "--kubeconfig", str(nobody)]
    assert main([*where, "--release", "1.9.1", "--select", "E2", "--service-account", "ci/me"]) == 0
    unasked = list(yaml.safe_load_all(capsys.readouterr().out))
    assert main([*where, "--release", "1.9.1", "--select", "E2", "--network-per-node"]) == 0
    asked = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [item["kind"] for item in unasked] == ["ClusterRole", "ClusterRoleBinding"]
    assert len(asked[0]["rules"]) > len(unasked[0]["rules"]), "what is done only when asked for needs rights only then"
    assert main(where) == 3
    assert "no answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["rbac", "--release", "1.9.1", "--service-account", "me"], "--service-account me"),
        (["--select", "D66"], "'D66' is no check"),
        (["--waive", "D6"], "--waive D6"),
        (["--waive", "D6= "], "--waive D6="),
        (["--release", "9.9.9"], "9.9.9"),
        (["--release", "1.9.1", "--profile", "everything"], "everything"),
        (["--stability-seconds", "0"], "0.0 s"),
        (["--stability-seconds", "nan"], "nan"),
        (["explain", "nonsense"], "'nonsense'"),
    ],
)
def test_bad_options_end_with_2_and_three_parts_before_anything_is_touched(
    arguments: list[str], found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("Found: ")
    assert found in told
    assert "Needed: " in told
    assert "Do: " in told


@pytest.mark.programs
def test_an_unknown_option_ends_with_2() -> None:
    done = run("--nonsense")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


@pytest.mark.programs
def test_a_server_that_does_not_answer_ends_with_3_and_a_report(nobody: Path, tmp_path: Path) -> None:
    done = run("--kubeconfig", str(nobody), "--report-dir", str(tmp_path / "reports"))
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert str(nobody) in done.stdout
    assert "\x1b" not in done.stdout
    document = json.loads((tmp_path / "reports" / "latest.json").read_text())
    assert {item["reason"] for item in document["checks"]} == {"Unreachable"}
    assert document["summary"]["verdict"] == "incomplete"


@pytest.mark.programs
def test_a_kubeconfig_that_is_none_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("}{")
    for name in ("broken", "missing"):
        done = run("--kubeconfig", str(tmp_path / name), "--report-dir", str(tmp_path / "reports"), "--quiet")
        assert done.returncode == 3, done.stderr
        assert done.stderr == ""
        assert name in done.stdout


@pytest.mark.programs
def test_a_report_that_cannot_be_written_ends_with_7_and_the_summary_is_there(nobody: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("--kubeconfig", str(nobody), "--report-dir", str(tmp_path / "file" / "reports"))
    assert done.returncode == 7
    assert "INCOMPLETE" in done.stdout
    assert "--report-dir" in done.stderr


@pytest.mark.programs
def test_a_reader_who_leaves_early_changes_nothing() -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m validators list | true"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_versions_may_have_the_v_of_a_tag(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for release, volcano in (("1.9.1", "1.10.0"), ("v1.9.1", "v1.10.0")):
        assert main(["rbac", "--release", release, "--volcano-version", volcano]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""
