"""Commands on pages exist, and each is run by a test or says why it cannot be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.pages.blocks import COLLECTION_PAGE, HOST_PAGES, LANGUAGES, PAGES, TRANSLATIONS, blocks, parse, run_pages
from tests.pages.known import INSTALLED, commands, problems_of_commands, problems_of_variables
from tests.places import ROOT

WITH_COMMANDS = [page for page in PAGES if any(block.language == "sh" for block in blocks(page))]
WITH_YAML = [page for page in PAGES if any(block.language == "yaml" for block in blocks(page))]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_block_of_code_names_its_language_and_its_comment_is_understood(page: Path) -> None:
    found = blocks(page)
    assert [str(block) for block in found if block.language not in LANGUAGES or not block.is_understood] == []
    prose = re.sub(r"(?ms)^( *)```.*?^\1```$", "", (ROOT / page).read_text("utf-8"))
    assert not re.search(r"\n\n {4,}(?![-*] |\d+\. )\S", prose), "code is between fences, not indented"


@pytest.mark.programs
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=str)
def test_what_the_commands_of_a_page_name_exists(page: Path) -> None:
    problems = [
        f"{block}: {problem}"
        for block in blocks(page)
        if block.language == "sh"
        for problem in problems_of_commands(block.text)
    ]
    assert problems == []


@pytest.mark.parametrize("page", WITH_YAML, ids=str)
def test_variables_of_a_page_exist_and_fit_the_schema(page: Path) -> None:
    problems = [
        f"{block}: {problem}"
        for block in blocks(page)
        if block.language == "yaml" and not block.note
        for document in yaml.safe_load_all(block.text)
        if "apiVersion" not in document
        for problem in problems_of_variables(document)
    ]
    assert problems == []


def test_every_page_with_commands_is_run_on_a_cluster_or_on_hosts_unless_none_can_be() -> None:
    left = set(WITH_COMMANDS) - set(run_pages()) - {*HOST_PAGES, COLLECTION_PAGE} - TRANSLATIONS.keys()
    assert [str(block) for page in left for block in blocks(page) if block.runs] == []


def test_the_pages_that_a_newcomer_reads_first_are_run() -> None:
    assert {"README.md", "docs/getting-started.md", "docs/troubleshooting.md"} <= {str(page) for page in run_pages()}


@pytest.mark.parametrize(("page", "english"), TRANSLATIONS.items(), ids=str)
def test_a_translation_has_the_headings_and_blocks_of_the_english_page(page: Path, english: Path) -> None:
    assert _levels(page) == _levels(english), "a section without a translation is in English there"
    assert [(block.language, block.text, block.note) for block in blocks(page)] == [
        (block.language, block.text, block.note) for block in blocks(english)
    ], "make generate copies blocks whose words changed"


def test_every_page_in_another_language_is_compared_with_an_english_one() -> None:
    assert {page for page in PAGES if "zh-CN" in str(page)} == TRANSLATIONS.keys()


def _levels(page: Path) -> list[int]:
    """The levels of headings in order."""
    prose = re.sub(r"(?ms)^( *)```.*?^\1```$", "", (ROOT / page).read_text("utf-8"))
    return [len(marks) for marks in re.findall(r"(?m)^(#+) ", prose)]


def test_a_block_has_its_line_its_language_and_its_comment() -> None:
    first, second = parse(
        "page.md", "Text\n\n<!-- exits with 1: it is blocked -->\n```sh\nfalse\n```\n- a\n\n  ```text\n  b\n  ```\n"
    )
    assert (first.line, first.text, first.runs, first.exit_code) == (5, "false\n", True, 1)
    assert (second.language, second.text, second.runs) == ("text", "b\n", False)


@pytest.mark.parametrize("note", ["not run", "not run: ", "exits with one: so", "later"])
def test_a_comment_without_a_reason_is_not_understood(note: str) -> None:
    (block,) = parse("page.md", f"<!-- {note} -->\n```sh\ntrue\n```\n")
    assert not block.is_understood
    assert block.runs


def test_commands_are_split_at_operators_and_without_heredocs_and_comments() -> None:
    text = "cat > a <<'EOF'\nmake nothing\nEOF\nmake \\\n  lint   # style\nA=1 kubectl get pods | grep 'a b'; echo\n"
    assert commands(text)[1:] == [["make", "lint"], ["A=1", "kubectl", "get", "pods"], ["grep", "a b"], ["echo"]]


@pytest.mark.programs
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("make rehears", "the Makefile has no target rehears"),
        ("make rehearse INVENTORI=inventory/rehearsal", "the Makefile has no variable INVENTORI"),
        ("make rehearse INVENTORY=inventory/none", "no inventory/none"),
        (".venv/bin/ansible-playbook -i inventory/none playbooks/site.yml", "no inventory/none"),
        (".venv/bin/ansible-playbook -i inventory/mine playbooks/sites.yml", "no playbooks/sites.yml"),
        (".venv/bin/ansible-playbook playbooks/site.yml -e kubeflow_releas=1", "kubeflow_releas is no variable"),
        (".venv/bin/ansible-playbook playbooks/site.yml -e '{\"kubeflow_a\": 1}'", "kubeflow_a is no variable"),
        (".venv/bin/ansible-playbook playbooks/site.yml --tags volcanoes", "no task has the tag volcanoes"),
        (".venv/bin/ansible-playbook playbooks/site.yml --checks", "ansible-playbook has no --checks"),
        (".venv/bin/python -m validators --selected A", "python -m validators has no --selected"),
        (".venv/bin/python -m validator", "python cannot run -m validator"),
        ("kubeflow-volcano validat", "kubeflow-volcano has no command validat"),
        ("kubeflow-volcano validate --read-onli", "kubeflow-volcano validate has no --read-onli"),
        ("ansible-playbook -i mine kubeflow_volcano.platform.sites", "no playbooks/sites.yml"),
        (f"cp -r {INSTALLED}inventory/none mine", "no inventory/none"),
        ("requirements/setup.sh production", "no requirements/production.txt"),
        ("cp -r inventory/none inventory/mine", "no inventory/none"),
        ("kubetcl get pods", "kubetcl is no known program"),
        ("echo 'a\necho b'; (", "bash: "),
    ],
)
def test_what_does_not_exist_is_found(command: str, problem: str) -> None:
    try:
        found = list(problems_of_commands(command))
    except ValueError as error:
        found = [f"bash: {error}"]
    assert any(text.startswith(problem) for text in found), found


def test_variables_that_do_not_exist_or_do_not_fit_are_found() -> None:
    assert list(problems_of_variables({"kubeflow_relase": "1.9.1"}))
    assert list(problems_of_variables({"volcano_replicas": "many"}))
    assert not list(problems_of_variables({"volcano_replicas": 2, "kubeflow_release": "1.9.1"}))
