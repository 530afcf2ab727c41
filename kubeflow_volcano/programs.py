"""Run programs of this machine with a time limit, without standard input unless given, and with all of their output."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class ProgramError(Exception):
    """A program does not exist, cannot be run, or did not finish in time; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a program: its exit code (below 0 for a signal) and its output."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def output(self) -> str:
        """Standard output as text."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """Standard error as text; the exit code if the program failed without output."""
        text = self.stderr.decode("utf-8", "replace").strip()
        return text or (f"exit code {self.code}" if self.code else "")


def run_program(
    *command: str | Path,
    seconds: float,
    text: str = "",
    directory: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run a command to its end; a failure of the program itself is an exit code, not an exception.

    Args:
        command: the program and its arguments; no shell reads them.
        seconds: time limit, after which the program is killed.
        text: its standard input.
        directory: its working directory; by default the current one.
        environment: its environment variables; by default those of this process.

    Raises:
        ProgramError: it cannot be run, or took longer.
    """
    arguments: Sequence[str] = [os.fspath(word) for word in command]
    # Files instead of pipes, so that the program never blocks on a full pipe.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        given.write(text.encode())
        given.seek(0)
        try:
            done = subprocess.run(
                arguments,
                stdin=given,
                stdout=stdout,
                stderr=stderr,
                cwd=directory,
                env=environment,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ProgramError(f"{arguments[0]} did not finish in {seconds:.0f} s") from error
        except OSError as error:
            raise ProgramError(f"{arguments[0]} cannot be run: {error.strerror or error}") from error
        stdout.seek(0)
        stderr.seek(0)
        return Finished(done.returncode, stdout.read(), stderr.read())
