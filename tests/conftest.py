"""What holds for all tests, however they are started, and how they are shared out over workers."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Sequence

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.rehearsed import cluster, installed_again, kubeconfig

__all__ = ["cluster", "installed_again", "kubeconfig"]

# A shell lets what it starts in the background ignore Ctrl-C, and so does everything that is started from there. Some
# tests send it to programs of theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST_FIRST: Sequence[str] = (
    "tests/integration/test_rollout.py",
    "tests/integration/test_validators.py",
    "tests/integration/test_gang_demo.py",
    "tests/integration/test_probes.py",
    "tests/faults/test_validator_faults.py",
    "tests/integration/test_gang_wiring.py",
    "tests/integration/",
    "tests/faults/",
    "tests/hosts/",
    "tests/cores/",
    "tests/unit/rollout/test_releases.py",
    "tests/recorded/",
    "tests/unit/deriving/test_release.py",
    "tests/unit/test_odd_types.py",
    "tests/unit/rollout/plan/test_upstream.py",
    "tests/unit/rollout/access/",
)
"""Where workers begin, by measured time: a long file that begins last leaves all other workers idle."""

OWN_CLUSTERS = (
    "tests/integration/test_closed_cluster.py",
    "tests/integration/test_native_site.py",
    "tests/integration/test_pages_from_nothing.py",
    "tests/integration/test_real_sign_in.py",
    "tests/integration/test_rollout.py",
    "tests/integration/test_site.py",
    "tests/integration/test_rehearsal_cluster.py",
    "tests/integration/test_rehearsal_full.py",
    "tests/integration/test_rehearsal_life.py",
    "tests/integration/test_rehearsal_platform.py",
)
"""Files that start further clusters. One worker takes all of them: a cluster has 21 inotify instances, and a user may
have 128 where nobody raised the limit."""


class SharedOut(LoadFileScheduling):
    """Whole files go to workers; the files with clusters of their own to one of them."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return OWN_CLUSTERS[0] if file in OWN_CLUSTERS else file


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests stay: looking through them for garbage again and again is a quarter of their collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SharedOut:
    """What `-n` uses."""
    return SharedOut(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files in the order in which workers take them."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(node: str) -> int:
    return next((number for number, part in enumerate(LONGEST_FIRST) if node.startswith(part)), len(LONGEST_FIRST))
