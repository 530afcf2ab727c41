"""python -m validators: validate a cluster from the command line."""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":  # the imports take a second, in which an interruption must not print a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from kubeflow_volcano.validators.cli.commands import main

__all__ = ["main"]

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    exit_code = main()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(exit_code)
