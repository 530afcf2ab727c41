"""The commands of pages for people, run as they are written: tests/pages/workplace.py says what is around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.pages.blocks import CLUSTER_PAGES, blocks, run_pages
from tests.pages.manifests import manifests, refusal
from tests.pages.workplace import Workplace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

QUICK = ("docs/backup.md", "docs/commands.md", "docs/existing-clusters.md", "docs/removing.md")
"""Pages that take less than 40 seconds."""
RUN = [
    pytest.param(page, id=str(page), marks=() if str(page) in QUICK else pytest.mark.long)
    for page in run_pages()
    if page not in CLUSTER_PAGES
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


@pytest.mark.parametrize("document", [pytest.param(found, id=id_) for id_, found in manifests(of_native_gangs=False)])
def test_manifests_on_pages_are_admitted_without_unknown_fields(document: Object, kubeconfig: Path) -> None:
    assert refusal(document, kubeconfig) == ""
