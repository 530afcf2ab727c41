"""Start of the console command, which imports only what it takes to be interrupted without a traceback."""

from __future__ import annotations

import signal
from importlib import import_module


def main() -> int:
    """Run the command line of this process; returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    run = import_module("kubeflow_volcano.command.main").main
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code: int = run()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return code
