"""The commands of pages for people, run as they are written: tests/pages/workplace.py says what is around them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.pages.blocks import CLUSTER_PAGES, PAGES, TRANSLATIONS, blocks, heredocs, run_pages
from tests.pages.workplace import Workplace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

QUICK = ("docs/backup.md", "docs/commands.md", "docs/existing-clusters.md", "docs/removing.md")
"""Pages that take less than 40 seconds."""
RUN = [
    pytest.param(page, id=str(page), marks=() if str(page) in QUICK else pytest.mark.long)
    for page in run_pages()
    if page not in CLUSTER_PAGES
]
MANIFESTS = [
    pytest.param(document, id=f"{block}-{document['kind']}")
    for page in PAGES
    if page not in TRANSLATIONS
    for block in blocks(page)
    for text in ([block.text] if block.language == "yaml" else heredocs(block.text))
    for document in yaml.safe_load_all(text)
    if isinstance(document, dict) and {"apiVersion", "kind"} <= document.keys()
]


@pytest.mark.long
@pytest.mark.parametrize("page", RUN)
@pytest.mark.usefixtures("installed_again")
def test_commands_of_a_page_end_as_it_says(page: Path, kubeconfig: Path, tmp_path: Path) -> None:
    workplace = Workplace(tmp_path, kubeconfig, "none")
    workplace.provide_environment()
    found = [block for block in blocks(page) if block.runs]
    played = workplace.run(found, workplace.checkout)
    assert played.code == 0, played.output
    assert str(found[-1]) in played.output


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
