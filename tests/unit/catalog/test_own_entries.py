"""Entries of the user stand beside those of the catalog, and errors in them name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.catalog import data, read
from kubeflow_volcano.problems import InvalidInput

ENTRY = """---
# Tried by hand.
kubernetes: {lowest: "1.30", highest: null}
---
name: volcano
title: Volcano
version: "1.99.0"
manifests: ours
address: null
path: volcano.yaml
objects: 3
"""


def entries(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        path = directory / "volcano" / f"{name.removeprefix('v')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return directory


def test_entries_of_the_user_come_beside_the_others_and_go_again(tmp_path: Path) -> None:
    before = read.versions_of("volcano")
    data.add(entries(tmp_path, **{"v1.99.0": ENTRY}))
    assert read.versions_of("volcano") == (*before, "1.99.0")
    found = read.load_component("volcano", "1.99.0")
    assert (found.objects, found.kubernetes and found.kubernetes.lowest) == (3, "1.30")
    assert found.entry == str(tmp_path / "volcano/1.99.0.yaml")
    assert read.load_component("volcano", before[-1]).entry == ""
    data.add(None)
    assert read.versions_of("volcano") == before


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("objects: 3", "objects: three", 11, "$.objects"),
        ('lowest: "1.30"', 'lowest: "one"', 3, "$.kubernetes"),
        ("path: volcano.yaml\n", "", 3, "'path' is a required property"),
        ("objects: 3", "objects: 3\nimages: {Deployment a/b: {}}", 12, "$.images"),
    ],
)
def test_an_error_names_file_and_line(old: str, new: str, line: int, what: str, tmp_path: Path) -> None:
    data.add(entries(tmp_path, **{"v1.99.0": ENTRY.replace(old, new)}))
    with pytest.raises(InvalidInput) as caught:
        read.load_component("volcano", "1.99.0")
    (problem,) = caught.value.problems
    assert problem.found.startswith(f"{tmp_path}/volcano/1.99.0.yaml:{line}: ")
    assert what in problem.found


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("volcano/1.10.0.yaml", "describes a version that the catalog has"),
        ("volcanoes/1.99.0.yaml", "which nothing reads"),
        ("1.99.0.yaml", "which nothing reads"),
        ("volcano/newest.yaml", "is not named after a version"),
    ],
)
def test_files_that_would_not_be_read_are_refused(name: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(ENTRY, "utf-8")
    with pytest.raises(InvalidInput, match=told):
        data.add(tmp_path)
    assert data.added() is None


def test_what_a_person_judged_outranks_what_was_derived() -> None:
    judged = {"version": "2", "components": [{"name": "b", "title": "B"}], "refused": {"x": "y"}}
    derived = {"version": "1", "objects": 3, "components": [{"name": "a", "path": "p"}, {"name": "b", "title": "b"}]}
    assert data.merged([judged, derived]) == {
        "version": "2",
        "objects": 3,
        "components": [{"name": "a", "path": "p"}, {"name": "b", "title": "B"}],
        "refused": {"x": "y"},
    }
