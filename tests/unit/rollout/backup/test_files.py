"""A backup on disk: whole, private, and refused when it is not as it was written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.problems import InvalidInput, NotWritten
from kubeflow_volcano.rollout.backup.files import MANIFEST, Backup, Origin, read, write

ORIGIN = Origin("2026-01-02T03:04:05Z", "v1.30.2", {"volcano": "1.10.0"}, {"in deletion": 2}, ("team-a/home",))


def profile(name: str) -> Object:
    return new_object("kubeflow.org/v1", "Profile", name, spec={"date": "2026-01-01"})


SECRET: Object = new_object("v1", "Secret", "s", "n", data={"a": "Yg=="})
BACKUP = Backup(ORIGIN, (profile("team-a"), profile("team-b"), SECRET))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    place = write(tmp_path / "backups", BACKUP)
    assert place.name == "20260102T030405Z"
    assert read(place) == BACKUP
    assert {path.name for path in place.iterdir()} == {MANIFEST, "profile.kubeflow.org.yaml", "secret.core.yaml"}


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    place = write(tmp_path, BACKUP)
    assert place.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}


def test_a_directory_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritten, match="backup_directory"):
        write(tmp_path / "file", BACKUP)


def test_edited_files_are_refused_unless_accepted(tmp_path: Path) -> None:
    place = write(tmp_path, BACKUP)
    path = place / "profile.kubeflow.org.yaml"
    path.write_text(path.read_text().replace("team-b", "team-c"))
    (place / "secret.core.yaml").unlink()
    with pytest.raises(InvalidInput) as caught:
        read(place)
    found = [problem.found for problem in caught.value.problems]
    assert [text.partition(" ")[0] for text in found] == [str(path), str(place / "secret.core.yaml")]
    assert ["No such file" in text for text in found] == [False, True]
    write_again = write(tmp_path / "more", BACKUP)
    other = write_again / "profile.kubeflow.org.yaml"
    other.write_text(other.read_text().replace("team-b", "team-c"))
    assert profile("team-c") in read(write_again, accept_changed=True).objects


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "kfv.backup/v2"}', '{"schema": "kfv.backup/v1"}'])
def test_another_directory_is_no_backup(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InvalidInput, match="is no backup"):
        read(tmp_path)


def test_backups_nearby_are_named(tmp_path: Path) -> None:
    place = write(tmp_path, BACKUP)
    with pytest.raises(InvalidInput, match=f"restore_directory .*: {place}"):
        read(tmp_path)


def test_a_name_in_the_manifest_leads_nowhere_else(tmp_path: Path) -> None:
    place = write(tmp_path / "backups", BACKUP)
    manifest = place / MANIFEST
    manifest.write_text(manifest.read_text().replace("secret.core.yaml", "../../secret.yaml"))
    (tmp_path / "secret.yaml").write_text("{}")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(place)


META = "metadata: {name: a}"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("- 1", "the document"),
        ("text", "the document"),
        ("{}", "the document"),
        ("kind: Queue\nmetadata: {name: a}", "the document"),
        ("apiVersion: v1\nkind: Queue", "the document"),
        (f"apiVersion: 1\nkind: Queue\n{META}", "apiVersion"),
        (f"apiVersion: ../v1\nkind: Queue\n{META}", "apiVersion"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: ..}", "metadata.name"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: a, namespace: ..}", "metadata.namespace"),
        (f"apiVersion: a/b/c\nkind: Queue\n{META}", "apiVersion"),
        (f"apiVersion: v1\nkind: [Queue]\n{META}", "kind"),
        (f"apiVersion: v1\nkind: ConfigMapList\n{META}\nitems: []", "kind"),
        ("apiVersion: v1\nkind: Queue\nmetadata: a", "metadata"),
        ("apiVersion: v1\nkind: Queue\nmetadata: null", "metadata"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {}", "metadata"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: 7}", "metadata.name"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: a/b}", "metadata.name"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: a, namespace: [b]}", "metadata.namespace"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: a, annotations: [b]}", "metadata.annotations"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: a, labels: {b: 1}}", "metadata.labels.b"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: a, ownerReferences: [b]}", "metadata.ownerReferences.0"),
        ("apiVersion: v1\nkind: Queue\nmetadata: {name: a, ownerReferences: [{}]}", "metadata.ownerReferences.0"),
        (f"apiVersion: v1\nkind: Queue\n{META}\nspec: text", "spec"),
        (f"apiVersion: v1\nkind: Queue\n{META}\nstatus: text", "status"),
    ],
)
def test_what_is_no_object_is_refused_with_its_file(tmp_path: Path, text: str, where: str) -> None:
    place = write(tmp_path, BACKUP)
    file = place / "secret.core.yaml"
    file.write_text(f"{file.read_text()}---\n{text}\n")
    with pytest.raises(InvalidInput) as caught:
        read(place, accept_changed=True)
    (problem,) = caught.value.problems
    assert problem.found.startswith(f"{file}, document 2, ")
    assert f": {where}: " in problem.found


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    place = write(tmp_path, BACKUP)
    (place / "secret.core.yaml").unlink()
    os.mkfifo(place / "secret.core.yaml")
    with pytest.raises(InvalidInput, match="regular file"):
        read(place)


def test_neither_is_a_manifest_that_is_a_pipe(tmp_path: Path) -> None:
    place = write(tmp_path, BACKUP)
    (place / MANIFEST).unlink()
    os.mkfifo(place / MANIFEST)
    with pytest.raises(InvalidInput, match="regular file"):
        read(place)


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    place = write(tmp_path, BACKUP)
    manifest = json.loads((place / MANIFEST).read_text())
    manifest["files"] |= {"a\0b": "", "..": "", "": ""}
    (place / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(InvalidInput) as caught:
        read(place)
    assert len(caught.value.problems) == 3


_NUMBERS = ["1e-4", "1e3", "4e10", "0o17", "08", "1.e5", ".5e5", "-1e-9", "1_000", "0x1F", "1e400", ".inf"]
TEXTS = [*_NUMBERS, "12:30", "2026-01-01", "yes", "~", "null", "=", "<<", "-", "#", "&a", "*a"]


@pytest.mark.parametrize("dumper", [yaml.CSafeDumper, foreign.Dumper])
def test_what_looks_like_a_number_stays_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dumper: Any) -> None:
    """Learning rates in arguments and hashes of commits in labels; earlier versions wrote with the first dumper."""
    monkeypatch.setattr(foreign, "Dumper", dumper)
    spec = {
        "texts": TEXTS,
        "keys": dict.fromkeys(TEXTS, 1),
        "numbers": [1, 0, -5, 0.1, 1e-9, 1e300, 1e16, -2.5, 10**20],
    }
    backup = Backup(ORIGIN, (new_object("kubeflow.org/v1beta1", "Experiment", "e", "n", spec=spec),))
    place = write(tmp_path, backup)
    assert read(place) == backup
    if dumper is not yaml.CSafeDumper:
        assert foreign.parse((place / "experiment.kubeflow.org.yaml").read_bytes(), "f") == [*backup.objects]


def test_a_kind_may_have_more_objects_than_what_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = Backup(ORIGIN, tuple(profile(f"team-{number}") for number in range(40)))
    place = write(tmp_path, backup)
    for most in (1, 150, 1000):
        monkeypatch.setattr("kubeflow_volcano.rollout.backup.files._PIECE", most)
        assert [obj["spec"] for obj in read(place).objects] == [obj["spec"] for obj in backup.objects]


def test_two_backups_in_one_second_do_not_remove_each_other(tmp_path: Path) -> None:
    place = write(tmp_path, BACKUP)
    with pytest.raises(NotWritten):
        write(tmp_path, BACKUP)
    assert read(place) == BACKUP
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
