"""An image in a directory is whole when every file has the sum that its manifests name."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.bundle.sums import Summing
from kubeflow_volcano.rollout.packing.layout import StoredImage


def stored(place: Path, content: bytes, suffix: str = "") -> dict[str, Any]:
    """Write a file under its sum; returns a descriptor of it."""
    total = hashlib.sha256(content).hexdigest()
    (place / f"{total}{suffix}").write_bytes(content)
    return {"digest": f"sha256:{total}", "size": len(content)}


def image(place: Path, architecture: str) -> bytes:
    config = stored(place, json.dumps({"architecture": architecture}).encode())
    return json.dumps({"config": config, "layers": [stored(place, b"layer"), stored(place, b"layer")]}).encode()


@pytest.fixture
def single(tmp_path: Path) -> Path:
    place = tmp_path / "single"
    place.mkdir()
    (place / "version").write_text("Directory Transport Version: 1.1\n")
    (place / "manifest.json").write_bytes(image(place, "arm64"))
    return place


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Two architectures, and an attestation without one."""
    place = tmp_path / "index"
    place.mkdir()
    (place / "version").write_text("Directory Transport Version: 1.1\n")
    parts = []
    for name in ("amd64", "arm64"):
        part = stored(place, image(place, name), ".manifest.json")
        parts.append({**part, "platform": {"os": "linux", "architecture": name}})
    parts.append(stored(place, image(place, "none"), ".manifest.json"))
    (place / "manifest.json").write_text(json.dumps({"manifests": parts}))
    return place


def damage(place: Path) -> str:
    return StoredImage(place).damage(Summing(silent))


def test_whole_images_are_whole_and_say_for_what_they_are(single: Path, index: Path) -> None:
    assert (damage(single), damage(index)) == ("", "")
    assert StoredImage(single).architectures() == {"arm64"}
    assert StoredImage(index).architectures() == {"amd64", "arm64"}


@pytest.mark.parametrize("kind", ["single", "index"])
def test_every_file_with_another_bit_is_damage(kind: str, request: pytest.FixtureRequest) -> None:
    place: Path = request.getfixturevalue(kind)
    for file in sorted(place.iterdir()):
        if file.name == "manifest.json":
            continue  # its sum is that of the registry, which the run compares
        content = file.read_bytes()
        file.write_bytes(bytes([content[0] ^ 1, *content[1:]]))
        assert damage(place)
        file.unlink()
        assert damage(place)
        file.write_bytes(content)
    (place / "more").write_bytes(b"")
    assert damage(place).startswith("more ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"config": {"digest": "../../etc/passwd"}, "layers": []}',
        '{"config": {"digest": "sha256:0"}, "layers": []}',
        '{"config": 1, "layers": 2}',
        '{"manifests": 3}',
    ],
)
def test_a_manifest_that_is_none_is_damage_and_never_read_beyond(single: Path, text: str) -> None:
    (single / "manifest.json").write_text(text)
    assert damage(single)
    assert StoredImage(single).architectures() == set()
