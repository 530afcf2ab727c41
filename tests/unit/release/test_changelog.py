"""The changelog is read as Keep a Changelog has it, cut, and rendered for collections."""

from __future__ import annotations

import pytest
import yaml

from kubeflow_volcano.problems import ProblemsError
from tests.places import ROOT
from tests.release.changelog import Section, cut, for_collections, sections

TEXT = """# Changelog

About it.

## Unreleased

### Added

#### An area

- One thing
  on two lines, `code` and [a page](docs/a.md).

#### Another area

- Another.

### Fixed

- A [defect](https://example.org/1).

## 0.9.0 - 2025-01-02

### Security

- Older.
"""


def test_versions_have_their_entries_by_heading() -> None:
    newest, older = sections(TEXT)
    assert newest.changes["Added"] == ["One thing on two lines, `code` and [a page](docs/a.md).", "Another."]
    assert older == Section("0.9.0", "2025-01-02", {"Security": ["Older."]})


def test_the_changelog_of_the_project_is_understood() -> None:
    assert sections((ROOT / "CHANGELOG.md").read_text("utf-8"))[0].version == "Unreleased"


def test_what_is_unreleased_becomes_a_version() -> None:
    found = sections(cut(TEXT, "1.0.0", "2025-03-04"))
    assert [(section.version, section.date) for section in found][:2] == [("Unreleased", ""), ("1.0.0", "2025-03-04")]
    assert found[1].changes == sections(TEXT)[0].changes


@pytest.mark.parametrize(
    ("text", "version"),
    [(TEXT, "0.9.0"), (cut(TEXT, "1.0.0", "2025-03-04"), "1.0.1"), (TEXT.replace("### Fixed", "### Mended"), "1.0.0")],
    ids=["is there already", "nothing is new", "no such heading"],
)
def test_what_cannot_be_cut_is_refused(text: str, version: str) -> None:
    with pytest.raises(ProblemsError):
        cut(text, version, "2025-03-04")


def test_tools_of_collections_get_released_versions_in_their_markup() -> None:
    document = yaml.safe_load(for_collections(cut(TEXT, "1.0.0", "2025-03-04")))
    released = document["releases"]["1.0.0"]
    assert released["release_date"] == "2025-03-04"
    assert released["changes"]["minor_changes"] == ["One thing on two lines, ``code`` and a page.", "Another."]
    assert released["changes"]["bugfixes"] == ["A `defect <https://example.org/1>`__."]
    assert document["releases"]["0.9.0"]["changes"] == {"security_fixes": ["Older."]}
    assert document["releases"].keys() == {"1.0.0", "0.9.0"}
