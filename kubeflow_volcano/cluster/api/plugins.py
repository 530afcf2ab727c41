"""A time limit for the programs that a kubeconfig names for its credentials; the client library has none."""

from __future__ import annotations

import subprocess
from typing import Any

from kubernetes.config import ConfigException, exec_provider, kube_config

__all__ = ["limit_programs"]

_SECONDS = 60.0
_PERSON_SECONDS = 300.0
"""Where the program may ask a person at a terminal, such as one that opens a browser to sign in."""


class _Program(subprocess.Popen[Any]):
    """A program that is killed when it has not answered in time."""

    def __init__(self, command: Any, **how: Any) -> None:
        super().__init__(command, **how)
        self._seconds = _PERSON_SECONDS if how.get("stdin") else _SECONDS

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:  # noqa: A002  of Popen
        """The output; raises ConfigException for a program that was killed."""
        try:
            return super().communicate(input, timeout or self._seconds)
        except subprocess.TimeoutExpired as error:
            self.kill()
            self.wait()
            for stream in (self.stdout, self.stderr):  # a child of it may hold the other end for longer
                if stream:
                    stream.close()
            name = next(iter(self.args)) if isinstance(self.args, list | tuple) else self.args
            raise ConfigException(f"exec: {name!s} did not answer in {timeout or self._seconds:.0f} s") from error


class _Subprocess:
    """The module with that class in the place of Popen."""

    Popen = _Program

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)


def limit_programs() -> None:
    """Let the client library run programs of kubeconfigs (`exec`, and `cmd-path` of older ones) with a time limit."""
    for module in (exec_provider, kube_config):
        vars(module)["subprocess"] = _Subprocess()
