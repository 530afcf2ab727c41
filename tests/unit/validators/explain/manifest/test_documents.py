"""Files, standard input, and the answer as text and as data."""

from __future__ import annotations

import errno
import io
import json
import os
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.explain.manifest.documents import read
from kubeflow_volcano.validators.explain.manifest.rendering import document, render
from tests.samples.manifests import judged, tfjob

SCHEMA = json.loads(files("kubeflow_volcano.validators").joinpath("schemas/manifests.v1.json").read_text("utf-8"))
B = "{apiVersion: v1, kind: Pod, metadata: {generateName: b-}}\n"
C = b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}}'
TWO = "---\n# a comment\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n---\n" + B


def test_every_object_of_every_file_is_read_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(TWO)
    listed = b'{"kind": "List", "apiVersion": "v1", "items": [' + C + b"]}"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(listed)))
    sources = read([str(path), "-"], "team-a")
    found = [item for source in sources for item in source.manifests]
    assert [(item.origin, item.number, str(item.ref)) for item in found] == [
        (str(path), 1, "Pod team-a/a"),
        (str(path), 2, "Pod team-a/b-…"),
        ("-", 1, "Pod team-a/c"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "wrong.yaml:2:1: "),
        ("just text", "document 1: it is no mapping"),
        ("kind: Pod", "document 1: it has no apiVersion"),
        ("{apiVersion: v1, kind: Pod}", "document 1: its Pod has no metadata.name"),
        ("", "no object in"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read([str(path)], "default")


def test_all_files_that_cannot_be_read_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        read([str(tmp_path / "one"), str(tmp_path)], "default")
    assert [problem.found.rpartition(": ")[2] for problem in error.value.problems] == [
        f"{os.strerror(code)}." for code in (errno.ENOENT, errno.EISDIR)
    ]


def test_the_document_is_as_its_schema_says_and_the_text_has_all_of_it() -> None:
    answer = document(judged(tfjob(schedulerName="volcano", policy={"minAvailable": 3}), tfjob(), offline=True))
    jsonschema.validate(answer, SCHEMA)
    text = render(answer)
    assert text.startswith("2 manifests judged without a cluster: 2 flaws.\n")
    assert "jobs.yaml, document 1: TFJob team-a/mnist" in text
    assert "document 2" not in text
    assert text.index("1. SchedulerNameMisplaced") < text.index("2. MinMemberTooHigh") < text.index("Not judged:")
    assert document(judged(tfjob()))["cluster"] == "a cluster"
