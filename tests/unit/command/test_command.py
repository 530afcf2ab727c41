"""kubeflow-volcano: its commands are those of the rooms behind it, under one name."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kubeflow_volcano import __version__
from kubeflow_volcano.command.main import COMMANDS, main
from kubeflow_volcano.validators.__main__ import main as validators
from tests.places import ROOT

SCRIPT = "import sys; from kubeflow_volcano.command.start import main; sys.exit(main())"


def helped(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_the_wheel_declares_it() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts == {"kubeflow-volcano": "kubeflow_volcano.command.start:main"}


def test_its_help_names_every_command_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    said = helped(capsys)
    assert [name for name, command in COMMANDS.items() if f"{name} {command.summary}" not in said] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command_calls_it_by_its_name(capsys: pytest.CaptureFixture[str], name: str) -> None:
    said = helped(capsys, name)
    assert said.startswith(f"usage: kubeflow-volcano {name} ")
    assert "python -m" not in said.partition("options:")[0]


@pytest.mark.parametrize("words", [["list"], ["list", "--language", "zh"], ["explain", "D6"], ["explain", "storage"]])
def test_a_command_says_what_the_validators_say(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert validators(words) == 0
    expected = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == expected


def test_validate_validates_and_does_nothing_else(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nowhere = ["--kubeconfig", str(tmp_path / "none"), "--report-dir", str(tmp_path), "--quiet"]
    assert main(["validate", *nowhere]) == validators(nowhere) != 0
    with pytest.raises(SystemExit) as ended:
        main(["validate", "list"])
    assert ended.value.code == 2
    assert "unrecognized arguments: list" in capsys.readouterr().err


def test_rehearsal_is_that_of_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearsal", "logs", "--name", "no-such-cluster", "kubelet"]) == 2
    assert "no log" in capsys.readouterr().err


def test_an_unknown_command_is_answered_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["valdiate"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert all(f"'{name}'" in said for name in COMMANDS)


@pytest.mark.programs
def test_the_script_ends_with_the_exit_code_of_the_command() -> None:
    for words, code, said in ((["--version"], 0, f"kubeflow-volcano {__version__}"), (["explain", "Z9"], 2, "Found:")):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert (done.returncode, said in done.stdout + done.stderr) == (code, True)
