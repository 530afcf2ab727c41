"""Time limits for programs and providers that a kubeconfig names for its credentials; the client library has none."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from typing import Any

from kubernetes.config import ConfigException, exec_provider, kube_config

_SECONDS = 60.0
_PERSON_SECONDS = 300.0
"""Where the program may ask a person at a terminal, such as one that opens a browser to sign in."""


class NoAnswer(ConfigException):
    """A program or provider that the kubeconfig names gave no credentials; the message says why."""


class _Program(subprocess.Popen[Any]):
    """A program that is killed when it has not answered in time."""

    def __init__(self, command: Any, **how: Any) -> None:
        super().__init__(command, **how)
        self._seconds = _PERSON_SECONDS if how.get("stdin") else _SECONDS

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:  # noqa: A002  of Popen
        """The output; raises NoAnswer for a program that was killed."""
        try:
            return super().communicate(input, timeout or self._seconds)
        except subprocess.TimeoutExpired as error:
            self.kill()
            self.wait()
            for stream in (self.stdout, self.stderr):  # a child of it may hold the other end for longer
                if stream:
                    stream.close()
            name = next(iter(self.args)) if isinstance(self.args, list | tuple) else self.args
            raise NoAnswer(f"exec: {name!s} did not answer in {timeout or self._seconds:.0f} s") from error


class _Subprocess:
    """The module with that class in the place of Popen."""

    Popen = _Program

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)


def limit_programs() -> None:
    """Let the client library run programs of kubeconfigs (`exec`, and `cmd-path` of older ones) with a time limit."""
    for module in (exec_provider, kube_config):
        vars(module)["subprocess"] = _Subprocess()


def limit_renewals() -> None:
    """Let the client library renew the tokens of OpenID providers (`auth-provider`) with a time limit."""
    loader: Any = kube_config.KubeConfigLoader
    loader._refresh_oidc = _limited(loader._refresh_oidc)  # noqa: SLF001  it has no public name


def _limited(renew: Callable[..., None]) -> Callable[..., None]:
    """The method, which ends in time: its requests have no timeout, and cannot be given one."""

    def limited(*arguments: Any) -> None:
        troubles: list[Exception] = []

        def run() -> None:
            try:
                renew(*arguments)
            except Exception as error:  # noqa: BLE001  raised below
                troubles.append(error)

        thread = threading.Thread(target=run, daemon=True)  # nothing waits for it afterwards
        thread.start()
        thread.join(_SECONDS)
        if thread.is_alive():
            raise NoAnswer(f"the OpenID provider did not renew the token in {_SECONDS:.0f} s")
        for error in troubles:
            raise NoAnswer(f"the OpenID provider did not renew the token: {error!r}") from error

    return limited
