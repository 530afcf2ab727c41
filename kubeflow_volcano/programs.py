"""Programs of this machine, run with limits: no standard input unless given, bounded time, output kept whole."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Finished", "ProgramError", "run_program"]


class ProgramError(Exception):
    """A program that does not exist, cannot be run, or did not finish in time; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended: its exit code (below 0 for a signal), and what it wrote."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def output(self) -> str:
        """Standard output as text."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """Standard error as text; the exit code when the program failed in silence."""
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
        seconds: after which the program is killed.
        text: what it reads from standard input.
        directory: where it runs; the current directory without one.
        environment: all of its variables; those of this process without any.

    Raises:
        ProgramError: it cannot be run, or took longer.
    """
    arguments: Sequence[str] = [os.fspath(word) for word in command]
    # Files instead of pipes: a program never waits for this process to read what it writes.
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
