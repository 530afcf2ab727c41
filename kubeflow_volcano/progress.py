"""Progress lines of long work; the caller decides what shows them (console, Ansible, a test)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from kubeflow_volcano.text import visible

Progress = Callable[[str], None]
"""Takes one line of plain text, without a newline. Called from any thread."""


def silent(_line: str) -> None:
    """Discard the line."""


def to_stderr() -> Progress:
    """Print each line to standard error, prefixed with the seconds since this call."""
    started = time.monotonic()

    def report(line: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - started:7.1f} s] {visible(line)}\n")
        sys.stderr.flush()

    return report
