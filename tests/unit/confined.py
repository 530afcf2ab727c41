"""What keeps tests of `make unit` quick, and independent of the machine: they start no program and reach no network.

An audit hook sees both and fails the test, unless it is marked `programs`: `make unit` leaves those out.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_MAY_START = {"kustomize"}
_confined = False


@contextlib.contextmanager
def confined() -> Iterator[None]:
    """Within it a program that is started, or a connection to another machine, fails the test."""
    with _set(to=True):
        yield


@contextlib.contextmanager
def free() -> Iterator[None]:
    """An exception from that: what builds a tool of the tests."""
    with _set(to=False):
        yield


@contextlib.contextmanager
def _set(*, to: bool) -> Iterator[None]:
    global _confined  # noqa: PLW0603  audit hooks take no state and stay for good
    before, _confined = _confined, to
    try:
        yield
    finally:
        _confined = before


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _confined:
        return
    if event == "subprocess.Popen" and Path(str(arguments[0])).name not in _MAY_START:
        pytest.fail(f"starts {arguments[0]}: mark it `programs`, or test what it starts without it")
    if event in {"os.fork", "os.forkpty"}:
        pytest.fail("starts a process: mark it `programs`")
    if event == "socket.connect" and isinstance(arguments[1], tuple) and not _on_loopback(arguments[1][0]):
        pytest.fail(f"connects to {arguments[1]}: tests reach servers of their own only")


def _on_loopback(address: object) -> bool:
    return str(address).startswith("127.") or address in {"::1", "localhost"}


sys.addaudithook(_audit)
