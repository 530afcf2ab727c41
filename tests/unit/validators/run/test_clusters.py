"""Several clusters on one command line: each in a process of its own, none of which can spoil the others."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.run.clusters import directory_of, named
from tests.places import ROOT
from tests.waiting import until

pytestmark = pytest.mark.programs


def write(path: Path, port: int, *contexts: str) -> Path:
    """A kubeconfig with these contexts, all of a server on a port of this machine."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in contexts],
        "users": [{"name": "u", "user": {}}],
        "current-context": contexts[0],
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[Path]:
    """Two contexts of a server that does not exist: nobody listens on this port, or can while it is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield write(tmp_path / "kubeconfig", taken.getsockname()[1], "eu", "us")


@pytest.fixture
def mute() -> Iterator[int]:
    """Port of a server that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield listening.getsockname()[1]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "validators", *map(str, arguments)]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)


def test_contexts_are_clusters_by_their_names_and_kubeconfigs_by_the_end_of_their_paths() -> None:
    one, two = Path("/a/lab/admin.kubeconfig"), Path("/b/home/admin.kubeconfig")
    assert named([], []) == {"": (None, None)}
    assert named([one], ["x"]) == {"x": (one, "x")}
    assert named([one], []) == {"": (one, None)}
    assert named([one], ["x", "y"]) == {"x": (one, "x"), "y": (one, "y")}
    assert named([], ["x", "y"]) == {"x": (None, "x"), "y": (None, "y")}
    assert named([one, two], []) == {"lab/admin.kubeconfig": (one, None), "home/admin.kubeconfig": (two, None)}
    assert named([Path("/a/lab"), Path("/a/home")], ["x"]) == {
        "lab": (Path("/a/lab"), "x"),
        "home": (Path("/a/home"), "x"),
    }


@pytest.mark.parametrize(
    ("kubeconfigs", "contexts", "found"),
    [
        (["/a", "/b"], ["x", "y"], "2 times --kubeconfig and 2 times --context"),
        (["/a", "/b", "/a"], [], "/a is named twice"),
        ([], ["x", "x"], "x is named twice"),
    ],
)
def test_what_could_mean_two_things_is_refused(kubeconfigs: list[str], contexts: list[str], found: str) -> None:
    with pytest.raises(InvalidInput, match=found):
        named([Path(item) for item in kubeconfigs], contexts)


def test_reports_of_clusters_lie_in_directories_that_cannot_lead_elsewhere_or_meet() -> None:
    found = directory_of(["arn:aws:eks:eu-west-1:1:cluster/a", "../../etc", "a/b", "a_b", "a:b", "..", "eu.x"])
    assert len(set(found.values())) == len(found)
    assert not any("/" in item or item.startswith(".") for item in found.values())
    assert found["eu.x"] == "eu.x"


def test_clusters_that_do_not_answer_end_with_3_and_a_report_on_all_and_on_each(nobody: Path, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    done = run(
        "--kubeconfig", nobody, "--context", "eu", "--context", "us", "--select", "A1,D1", "--report-dir", reports
    )

    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads((reports / "clusters-latest.json").read_text())
    assert [(item["name"], item["verdict"]) for item in document["clusters"]] == [
        ("eu", "incomplete"),
        ("us", "incomplete"),
    ]
    for item in document["clusters"]:
        own = json.loads((reports / item["files"]["json"]).read_text())
        assert own["run"]["id"] == item["run"]["id"]
        assert (reports / item["name"] / "latest.html").is_file()
    assert "INCOMPLETE  2 incomplete" in done.stdout
    assert {line.partition(":")[0] for line in done.stderr.splitlines()} == {"eu", "us"}


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--select", "D66"], "'D66' is no check"),
        (["--stability-seconds", "0"], "0.0 s"),
        (["--baseline", "latest.json"], "--baseline with several clusters"),
        (["--gateway-url", "https://kubeflow.example.com"], "--gateway-url with several clusters"),
    ],
)
def test_options_that_make_no_sense_are_told_once_and_nothing_is_written(
    arguments: list[str], found: str, nobody: Path, tmp_path: Path
) -> None:
    done = run(
        "--kubeconfig", nobody, "--context", "eu", "--context", "us", "--report-dir", tmp_path / "reports", *arguments
    )
    assert done.returncode == 2
    assert (done.stderr.count("Found: "), found in done.stderr) == (1, True)
    assert not (tmp_path / "reports").exists()


def children(pid: int) -> list[int]:
    """Processes that any thread of another one started."""
    return [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_signal_ends_all_of_them_with_what_they_found(number: signal.Signals, mute: int, tmp_path: Path) -> None:
    config = write(tmp_path / "kubeconfig", mute, "eu", "us")
    reports = tmp_path / "reports"
    with subprocess.Popen(
        command("--kubeconfig", config, "--context", "eu", "--context", "us", "--report-dir", reports),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        wait_for_children(process, 2)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)

    assert process.returncode == 128 + number, errors
    assert "Traceback" not in output + errors
    document = json.loads((reports / "clusters-latest.json").read_text())
    assert [item["exit_code"] for item in document["clusters"]] == [128 + number] * 2


def test_one_that_is_killed_leaves_the_others_alone(mute: int, tmp_path: Path) -> None:
    """The other has a kubeconfig that is none, so that it ends long before anybody gives up on a silent server."""
    hung, broken = write(tmp_path / "mute" / "kubeconfig", mute, "eu"), tmp_path / "broken"
    broken.write_text("}{")
    reports = tmp_path / "reports"
    with subprocess.Popen(
        command("--kubeconfig", hung, "--kubeconfig", broken, "--report-dir", reports, "--select", "A1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        until(lambda: list(reports.glob("*/latest.json")))
        (left,) = until(lambda: alone if len(alone := judging(process.pid)) == 1 else None)
        os.kill(left, signal.SIGKILL)
        output, errors = process.communicate(timeout=60)

    assert process.returncode == 3, errors
    assert "Traceback" not in output + errors
    document = json.loads((reports / "clusters-latest.json").read_text())
    lost, other = document["clusters"]
    assert "ended with signal 9" in lost["problems"][0]
    assert (other["problems"], other["summary"]["error"]) == ([], 1)


def judging(pid: int) -> list[int]:
    """Processes that judge a cluster; what Python needs beside them is of no interest."""
    return [child for child in children(pid) if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def wait_for_children(process: subprocess.Popen[str], number: int) -> None:
    """Until that many clusters are being judged, or were."""
    until(lambda: len(judging(process.pid)) >= number or process.poll() is not None)
    assert process.poll() is None
