"""`explain manifest` as people type it: its exit codes, with options among the words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubeflow_volcano.catalog.examples import HOME, examples
from kubeflow_volcano.validators.__main__ import main
from tests.unit.validators.cli.test_command_line import PATIENCE, kubeconfig_of

GOOD = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: mnist}
spec:
  tasks:
    - name: worker
      replicas: 2
      template:
        metadata: {labels: {sidecar.istio.io/inject: "false"}}
        spec: {containers: [{name: c, image: example/image:v1, resources: {requests: {cpu: 1}}}]}
"""
WITHOUT_GANG = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist}
spec:
  tfReplicaSpecs:
    Worker: {template: {spec: {containers: [{name: tensorflow, image: example/image:v1}]}}}
"""


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster by default."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


def written(directory: Path, text: str) -> str:
    path = directory / "job.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (GOOD, ["--offline"], 0),
        (GOOD, [], 3),  # nothing is wrong, and a cluster was not asked
        (GOOD.replace("replicas: 2", "replicas: 2\n      minAvailable: 3"), ["--offline"], 1),
        (WITHOUT_GANG, ["--offline"], 0),
        ("not: a manifest", ["--offline"], 2),
    ],
)
def test_the_exit_code_says_what_was_found(tmp_path: Path, text: str, options: list[str], code: int) -> None:
    file = written(tmp_path, text)
    assert main(["explain", "manifest", *options, file]) == code
    assert main(["explain", "manifest", file, *options]) == code


def test_notes_count_where_warnings_do(tmp_path: Path) -> None:
    given = ["explain", "manifest", "--offline", written(tmp_path, WITHOUT_GANG)]
    assert [main(given), main(["--strict", *given])] == [0, 4]


def test_requests_of_a_person_are_written_and_wrong_ones_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, WITHOUT_GANG)
    given = ["explain", "manifest", "--offline", "--strict", file]
    assert main([*given, "--fix", "--requests", "cpu=100m, memory=128Mi"]) == 0
    assert 'resources: {requests: {memory: "128Mi", cpu: "100m"}}' in capsys.readouterr().out
    for wrong in (["--requests", "cpu=1"], ["--fix", "--requests", "cpu=none"], ["--fix", "--requests", "cpu=0"]):
        assert main([*given, *wrong]) == 2
        assert "--requests" in capsys.readouterr().err


def test_a_named_cluster_that_does_not_answer_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PATIENCE, 0.3)
    config = str(kubeconfig_of(tmp_path, 9))
    assert main(["explain", "manifest", written(tmp_path, GOOD), "--kubeconfig", config]) == 3
    assert "no answer" in capsys.readouterr().err


def test_the_answer_is_data_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "manifest", "--json", "--offline", written(tmp_path, GOOD), "--namespace", "team-a"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["manifests"][0]["object"]["namespace"] == "team-a"


def test_a_file_is_needed_and_options_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "manifest", "--offline"]) == 2
    with pytest.raises(SystemExit):
        main(["explain", "manifest", "--ofline", "job.yaml"])
    assert "unrecognized arguments: --ofline" in capsys.readouterr().err


def test_the_projects_own_examples_have_no_flaws(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(HOME / item.path) for item in examples() if not item.path.startswith("pipeline")]  # of unknown fields
    assert main(["explain", "manifest", "--offline", *files]) == 0
    assert ": 0 flaws" in capsys.readouterr().out


MISPLACED = GOOD.replace("      replicas: 2\n", "      replicas: 2  # a pair\n      schedulerName: volcano\n")


def test_the_corrected_manifest_is_all_that_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, MISPLACED)
    assert main(["explain", "manifest", "--offline", "--fix", file]) == 0
    printed = capsys.readouterr()
    assert printed.out == MISPLACED.replace("      schedulerName: volcano\n", "").replace(
        "spec: {containers", "spec: {schedulerName: volcano, containers"
    )
    assert "corrected: SchedulerNameMisplaced" in printed.err
    assert Path(file).read_text() == MISPLACED


def test_the_corrected_manifest_is_written_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, MISPLACED)
    assert main(["explain", "manifest", "--offline", "--fix", "--json", file, "--output", file]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [item["reason"] for item in answer["manifests"][0]["corrected"]] == ["SchedulerNameMisplaced"]
    assert main(["explain", "manifest", "--offline", "--strict", file]) == 0
    assert main(["explain", "manifest", "--offline", "--fix", file, "--output", str(tmp_path)]) == 7
    assert main(["explain", "manifest", "--offline", file, "--output", file]) == 2
