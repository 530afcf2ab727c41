"""A backup on disk: whole, private, and refused when it is not as it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, NotWritten
from kubeflow_volcano.rollout.backup.files import MANIFEST, Backup, Origin, read, write

ORIGIN = Origin("2026-01-02T03:04:05Z", "v1.30.2", {"volcano": "1.10.0"}, {"in deletion": 2}, ("team-a/home",))


def profile(name: str) -> Object:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "Profile",
        "metadata": {"name": name},
        "spec": {"date": "2026-01-01"},
    }


SECRET: Object = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "n"},
    "data": {"a": "Yg=="},
}
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
    with pytest.raises(NotWritten, match="set backup_directory to another directory"):
        write(tmp_path / "file", BACKUP)


def test_edited_files_are_refused_unless_accepted(tmp_path: Path) -> None:
    place = write(tmp_path, BACKUP)
    path = place / "profile.kubeflow.org.yaml"
    path.write_text(path.read_text().replace("team-b", "team-c"))
    (place / "secret.core.yaml").unlink()
    with pytest.raises(InvalidInput) as caught:
        read(place)
    found = [problem.found for problem in caught.value.problems]
    assert found == [
        f"{path} is not as it was written.",
        f"{place / 'secret.core.yaml'} cannot be read: No such file or directory.",
    ]
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
    with pytest.raises(InvalidInput, match=f"set restore_directory to one of: {place}"):
        read(tmp_path)


def test_a_name_in_the_manifest_leads_nowhere_else(tmp_path: Path) -> None:
    place = write(tmp_path / "backups", BACKUP)
    manifest = place / MANIFEST
    manifest.write_text(manifest.read_text().replace("secret.core.yaml", "../../secret.yaml"))
    (tmp_path / "secret.yaml").write_text("{}")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(place)
