"""What holds for all tests, however they are started."""

from __future__ import annotations

import signal
from collections.abc import Sequence

import pytest

# A shell lets what it starts in the background ignore Ctrl-C, and so does everything that is started from there. Some
# tests send it to programs of theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST_FIRST: Sequence[str] = (
    "integration/test_validators.py",
    "integration/test_gang_demo.py",
    "integration/test_probes.py",
    "integration/test_site.py",
    "integration/test_rollout.py",
    "integration/test_validator_faults.py",
    "integration/test_gang_wiring.py",
    "integration/",
    "hosts/",
)
"""Where workers begin, by measured time: a long file that begins last leaves all other workers idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files in the order in which workers take them."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(node: str) -> int:
    return next((number for number, part in enumerate(LONGEST_FIRST) if part in node), len(LONGEST_FIRST))
