"""Pages that start a rehearsal cluster: their commands, run as they are written, on a cluster of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.spec import ClusterPaths
from tests.pages.blocks import blocks
from tests.pages.workplace import Workplace
from tests.rehearsed import cluster_name

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

REHEARSAL = cluster_name("pages")


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Workplace]:
    """A place whose pages start a rehearsal cluster; it is removed afterwards, also if a page does not come to that."""
    workplace = Workplace(tmp_path, ClusterPaths.of(REHEARSAL).kubeconfig, REHEARSAL)
    yield workplace
    workplace.remove_rehearsal()


def test_commands_of_the_front_page_lead_from_a_clone_to_an_installation(starting: Workplace) -> None:
    starting.make_repository()
    found = [block for block in blocks(Path("README.md")) if block.runs]
    played = starting.run(found, starting.directory)
    assert played.code == 0, played.output
    assert played.output.count("PASS") >= 2


def test_commands_of_the_page_on_rehearsals_start_and_remove_one(starting: Workplace) -> None:
    starting.provide_environment()
    found = [block for block in blocks(Path("docs/rehearsal.md")) if block.runs]
    played = starting.run(found, starting.checkout)
    assert played.code == 0, played.output
    assert not ClusterPaths.of(REHEARSAL).kubeconfig.exists()


def test_commands_of_the_page_on_scenarios_play_one(starting: Workplace) -> None:
    starting.provide_environment()
    found = [block for block in blocks(Path("docs/scenarios.md")) if block.runs]
    played = starting.run(found, starting.checkout)
    assert played.code == 0, played.output
    assert played.output.count("as claimed") >= 2
