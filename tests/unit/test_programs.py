"""Programs run with limits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kubeflow_volcano.programs import ProgramError, run_program

pytestmark = pytest.mark.programs


def test_what_it_wrote_and_how_it_ended_is_returned() -> None:
    done = run_program(sys.executable, "-c", "import sys; print('o'); sys.exit('e')", seconds=30)

    assert (done.code, done.output, done.complaint) == (1, "o\n", "e")


def test_a_silent_failure_has_at_least_its_exit_code() -> None:
    assert run_program(sys.executable, "-c", "raise SystemExit(7)", seconds=30).complaint == "exit code 7"


def test_it_reads_what_is_given_and_otherwise_nothing() -> None:
    code = "import sys; sys.stdout.write(sys.stdin.read().upper())"

    assert run_program(sys.executable, "-c", code, seconds=30, text="ä").output == "Ä"
    assert run_program(sys.executable, "-c", code, seconds=30).output == ""


def test_it_runs_where_and_with_what_it_is_told(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.environ.get('A'))"

    done = run_program(sys.executable, "-c", code, seconds=30, directory=tmp_path, environment={"A": "b"})

    assert done.output == f"{tmp_path} b\n"


def test_more_output_than_a_pipe_holds_keeps_nobody_waiting() -> None:
    assert len(run_program(sys.executable, "-c", "print('x' * 1_000_000)", seconds=30).stdout) == 1_000_001


def test_a_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(ProgramError, match=r"not finish .*0 s"):
        run_program(sys.executable, "-c", "while True: pass", seconds=0.2)


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(ProgramError, match=r"no-such-program .*No such file"):
        run_program("no-such-program", seconds=1)
