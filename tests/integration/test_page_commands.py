"""The commands of pages for people, run as they are written: tests/pages/workplace.py says what is around them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.rehearsal.spec import ClusterPaths
from tests.pages.blocks import PAGES, blocks, heredocs, run_pages
from tests.pages.workplace import Workplace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

REHEARSAL = f"pages-{os.getpid()}"
THEIR_OWN = ("README.md", "docs/rehearsal.md", "docs/scenarios.md")
"""Pages that start a rehearsal cluster."""
QUICK = ("docs/backup.md", "docs/commands.md", "docs/existing-clusters.md", "docs/removing.md")
"""Pages that take less than 40 seconds."""
OTHERS = [
    pytest.param(page, id=str(page), marks=() if str(page) in QUICK else pytest.mark.long)
    for page in run_pages()
    if str(page) not in THEIR_OWN
]
MANIFESTS = [
    pytest.param(document, id=f"{block}-{document['kind']}")
    for page in PAGES
    for block in blocks(page)
    for text in ([block.text] if block.language == "yaml" else heredocs(block.text))
    for document in yaml.safe_load_all(text)
    if isinstance(document, dict) and {"apiVersion", "kind"} <= document.keys()
]


@pytest.mark.parametrize("page", OTHERS)
def test_commands_of_a_page_end_as_it_says(page: Path, kubeconfig: Path, tmp_path: Path) -> None:
    workplace = Workplace(tmp_path, kubeconfig, REHEARSAL)
    workplace.provide_environment()
    found = [block for block in blocks(page) if block.runs]
    played = workplace.run(found, workplace.checkout)
    assert played.code == 0, played.output
    assert str(found[-1]) in played.output


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Workplace]:
    """A place whose pages start a rehearsal cluster; it is removed afterwards, also if a page does not come to that."""
    workplace = Workplace(tmp_path, ClusterPaths.of(REHEARSAL).kubeconfig, REHEARSAL)
    yield workplace
    workplace.remove_rehearsal()


@pytest.mark.long
def test_commands_of_the_front_page_lead_from_a_clone_to_an_installation(starting: Workplace) -> None:
    starting.make_repository()
    found = [block for block in blocks(Path("README.md")) if block.runs]
    played = starting.run(found, starting.directory)
    assert played.code == 0, played.output
    assert played.output.count("PASS") >= 2


@pytest.mark.long
def test_commands_of_the_page_on_rehearsals_start_and_remove_one(starting: Workplace) -> None:
    starting.provide_environment()
    found = [block for block in blocks(Path("docs/rehearsal.md")) if block.runs]
    played = starting.run(found, starting.checkout)
    assert played.code == 0, played.output
    assert not ClusterPaths.of(REHEARSAL).kubeconfig.exists()


@pytest.mark.long
def test_commands_of_the_page_on_scenarios_play_one(starting: Workplace) -> None:
    starting.provide_environment()
    found = [block for block in blocks(Path("docs/scenarios.md")) if block.runs]
    played = starting.run(found, starting.checkout)
    assert played.code == 0, played.output
    assert played.output.count("as claimed") >= 2


@pytest.mark.parametrize("document", MANIFESTS)
def test_manifests_on_pages_are_admitted_without_unknown_fields(document: dict[str, object], kubeconfig: Path) -> None:
    metadata = document["metadata"]
    assert isinstance(metadata, dict)
    if "namespace" in metadata:
        document = document | {"metadata": metadata | {"namespace": "default"}}
    kubectl = kubeconfig.parent / "bin/kubectl"
    done = subprocess.run(
        [
            kubectl,
            "--kubeconfig",
            kubeconfig,
            "apply",
            "--server-side",
            "--dry-run=server",
            "--validate=strict",
            "-f",
            "-",
        ],
        input=yaml.safe_dump(document),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
