"""Commands of pages about hosts, run as they are written, on test hosts and a rehearsal cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.lab import Host, Lab
from tests.pages.blocks import HOST_PAGES, Block, blocks
from tests.pages.workplace import Workplace

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

OF_LABS = Path("docs/test-hosts.md")
VARIABLES: dict[str, dict[str, object]] = {
    "roles/image_mirror_containerd/README.md": {
        "image_mirror_mode": "containerd",
        "image_mirror_rules": [{"source": "*", "prefix": "registry.lan:5000"}],
    },
}
"""What a page says to put into the inventory."""


@pytest.fixture(scope="module")
def worker(lab: Lab) -> Iterator[Host]:
    """A host with containerd."""
    host = lab.start(containerd="2.2", name="worker-1")
    yield host
    host.remove()


@pytest.mark.parametrize("page", [page for page in HOST_PAGES if page != OF_LABS], ids=str)
def test_commands_of_a_page_end_as_it_says_on_a_host(
    page: Path, kubeconfig: Path, lab: Lab, worker: Host, tmp_path: Path
) -> None:
    workplace = Workplace(tmp_path, kubeconfig, "none")
    workplace.provide_environment()
    workplace.use_hosts(lab, [worker], **VARIABLES.get(str(page), {}))
    found = [block for block in blocks(page) if block.runs and "cp -r" not in block.text]
    played = workplace.run(found, workplace.checkout)
    assert played.code == 0, played.output
    assert "worker-1" in played.output


@pytest.fixture
def starting(kubeconfig: Path, tmp_path: Path) -> Iterator[Workplace]:
    """A place whose page starts test hosts; they are removed afterwards, also if the page does not come to that."""
    workplace = Workplace(tmp_path, kubeconfig, "none")
    workplace.provide_environment()
    yield workplace
    down = Block(str(OF_LABS), 0, "sh", "make test-hosts-down\n")
    assert workplace.run([down], workplace.checkout).code == 0


def test_commands_of_the_page_on_test_hosts_start_use_and_remove_them(starting: Workplace) -> None:
    found = [block for block in blocks(OF_LABS) if block.runs]
    played = starting.run(found, starting.checkout)
    assert played.code == 0, played.output
    assert "3 of 3 hosts answered" in played.output
