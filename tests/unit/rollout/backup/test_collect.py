"""What a backup does with a kind that cannot be listed."""

from __future__ import annotations

import json
from pathlib import Path

from kubeflow_volcano.rollout.backup import files
from kubeflow_volcano.rollout.backup.collect import incomplete
from kubeflow_volcano.rollout.backup.files import Backup, Origin

LOST = "500 InternalError: request to convert CR from an invalid group/version: serving.knative.dev/v1alpha1"
NAME = "domainmappings.serving.knative.dev"


def backup(**unread: str) -> Backup:
    return Backup(Origin("2027-01-01T00:00:00Z", "v1.30.0", {}, {}, (), unread), ())


def test_a_kind_that_lost_a_version_is_told_with_the_way_back() -> None:
    lost, other = incomplete(backup(**{NAME: LOST, "others.example.org": "500 InternalError: no"}))
    assert f"kubectl patch crd {NAME}" in lost.todo
    assert "v1alpha1" in lost.todo
    assert "kubectl get others.example.org -A" in other.todo
    assert incomplete(backup()) == []


def test_the_manifest_says_what_is_missing_and_an_older_one_misses_nothing(tmp_path: Path) -> None:
    place = files.write(tmp_path, backup(**{NAME: LOST}))
    assert files.read(place).origin.unread == {NAME: LOST}
    manifest = place / files.MANIFEST
    document = json.loads(manifest.read_text())
    del document["unread"]
    manifest.write_text(json.dumps(document))
    assert files.read(place).origin.unread == {}
