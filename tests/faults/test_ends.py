"""How a validation ends when it is interrupted, has no way to the server, or nowhere to write: honestly, and soon."""

from __future__ import annotations

import base64
import errno
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from tests.faults.kit import full_disk, validators
from tests.faults.proxy import HUNG, proxied
from tests.integration.breaking import leftovers
from tests.places import ROOT

pytestmark = pytest.mark.cluster


def interrupted(arguments: Sequence[str], seconds: float, behind: str = "") -> tuple[int, str]:
    """Exit code, and all that was printed.

    The signal comes so many seconds after a line with `behind` was printed.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "validators", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout
        seen = next(line for line in process.stdout if behind in line) if behind else ""
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=300)
    return process.returncode, seen + output


@pytest.mark.fault(21)
@pytest.mark.parametrize("seed", range(int(os.environ.get("KFV_TEST_SIGNALS", "1"))))
def test_an_interruption_at_any_moment_leaves_a_partial_report_and_nothing_else(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path, seed: int
) -> None:
    moment = random.Random(seed).uniform(0.0, 8.0)  # noqa: S311  no secret
    arguments = ["--kubeconfig", str(kubeconfig), "--report-dir", str(tmp_path), "--stability-seconds", "1"]
    code, output = interrupted([*arguments, "--select", "C6,H1,H2"], moment, behind="connected")
    assert code in {130, 0}, output  # 0 where it was done before
    assert "Traceback" not in output
    document = json.loads((tmp_path / "latest.json").read_text())
    assert document["run"]["interrupted"] is (code == 130)
    assert document["cleanup"]["left"] == []
    assert leftovers(cluster) == []


@pytest.mark.fault(21)
def test_an_interruption_while_the_server_hangs_is_not_held_up(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    assert cluster.version
    reports = tmp_path / "reports"
    arguments = ["--kubeconfig", str(tmp_path / "through-the-proxy.json"), "--report-dir", str(reports)]
    arguments += ["--read-only", "--select", "C2", "--stability-seconds", "1"]
    with proxied(kubeconfig, tmp_path) as (proxy, _):
        proxy.plan = lambda asked: HUNG if asked.path.startswith("/apis/apps/v1/daemonsets") else None
        code, output = interrupted(arguments, 0.5, behind="reading")
    assert (code, "Traceback" in output) == (130, False), output
    document = json.loads((reports / "latest.json").read_text())
    assert [(item["status"], item["reason"]) for item in document["checks"]] == [("error", "Interrupted")]


def changed(kubeconfig: Path, place: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Path:
    """A copy of the kubeconfig in which the cluster and the user are others."""
    config = yaml.safe_load(kubeconfig.read_text())
    change(config["clusters"][0]["cluster"], config["users"][0]["user"])
    place.write_text(yaml.safe_dump(config))
    return place


def other_authority(cluster: dict[str, Any], _user: dict[str, Any]) -> None:
    """One that did not sign the server's certificate."""
    request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout /dev/null"
    made = subprocess.run(shlex.split(request), check=True, capture_output=True).stdout
    cluster.pop("certificate-authority", None)
    cluster["certificate-authority-data"] = base64.b64encode(made).decode()


def absent_plugin(_cluster: dict[str, Any], user: dict[str, Any]) -> None:
    user.clear()
    version = "client.authentication.k8s.io/v1"
    user["exec"] = {"apiVersion": version, "command": "no-such-plugin", "interactiveMode": "Never"}


@pytest.mark.fault(41)
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (other_authority, "certificate verify failed"),
        (absent_plugin, "No such file or directory: 'no-such-plugin'"),
    ],
)
def test_credentials_that_do_not_lead_to_the_server_end_with_3_and_say_which(
    kubeconfig: Path, tmp_path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object], told: str
) -> None:
    place = changed(kubeconfig, tmp_path / "other.kubeconfig", change)
    done = validators("--kubeconfig", str(place), "--report-dir", str(tmp_path), "--quiet", "--select", "B1")
    assert (done.returncode, done.stderr) == (3, "")
    shown = " ".join(done.stdout.split())  # lines end where the terminal's do
    for text in (str(place), "context current", told):
        assert text in shown


@pytest.mark.fault(41)
def test_a_proxy_variable_that_leads_nowhere_is_named(kubeconfig: Path, tmp_path: Path) -> None:
    arguments = ("--kubeconfig", str(kubeconfig), "--report-dir", str(tmp_path), "--quiet", "--select", "B1")
    done = validators(*arguments, HTTPS_PROXY="http://me:hidden@127.0.0.1:9", NO_PROXY="", no_proxy="")
    assert (done.returncode, done.stderr) == (3, "")
    assert "through proxy http://***@127.0.0.1:9" in " ".join(done.stdout.split())
    assert "hidden" not in done.stdout + (tmp_path / "latest.json").read_text()


@pytest.mark.fault(22)
def test_a_full_disk_ends_with_7_and_keeps_the_old_report(kubeconfig: Path, tmp_path: Path) -> None:
    with full_disk(tmp_path / "full") as place:
        old = place / "latest.json"
        old.write_text('{"old": true}\n')
        arguments = ("--kubeconfig", str(kubeconfig), "--report-dir", str(place), "--quiet", "--read-only")
        done = validators(*arguments, "--select", "B1")
        assert done.returncode == 7
        assert os.strerror(errno.ENOSPC) in done.stderr
        assert "--report-dir" in done.stderr
        assert done.stdout.startswith("kubeflow-volcano")
        assert old.read_text() == '{"old": true}\n'


@pytest.mark.fault(22)
def test_output_that_cannot_be_written_is_no_traceback(kubeconfig: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "validators", "--kubeconfig", str(kubeconfig), "--report-dir", str(tmp_path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "--read-only", "--select", "B1", "--quiet"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 7
    assert "Traceback" not in done.stderr
    assert os.strerror(errno.ENOSPC) in done.stderr
    assert json.loads((tmp_path / "latest.json").read_text())["summary"]["verdict"] == "pass"


@pytest.mark.fault(41)
@pytest.mark.parametrize("what", ["absent", "directory", "not YAML", "another file"])
def test_a_kubeconfig_that_is_none_ends_with_3_and_is_named(tmp_path: Path, what: str) -> None:
    place = tmp_path / "kubeconfig"
    if what == "directory":
        place.mkdir()
    elif what != "absent":
        place.write_text("{" if what == "not YAML" else "kind: Pod\n")
    done = validators("--kubeconfig", str(place), "--report-dir", str(tmp_path / "reports"), "--quiet")
    assert done.returncode in {2, 3}, done
    assert str(place) in done.stdout + done.stderr
