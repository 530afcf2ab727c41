"""A small bundle of which every file is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.bundle.contents import Contents
from kubeflow_volcano.rollout.bundle.writing import Writer

FILES = {
    "manifests/volcano.yaml": ("https://a.example/volcano.yaml#sha256=1", b"kind: A\n"),
    "kustomize/kustomize.tar.gz": ("https://a.example/kustomize#sha256=2", b"\x1f\x8b kustomize"),
    "wheels/amd64/pack-1.0-py3-none-any.whl": ("pack==1.0", b"PK wheel"),
    "images/q.io/a/1.0/manifest.json": ("q.io/a:1.0", b"{}"),
    "images/q.io/a/1.0/version": ("q.io/a:1.0", b""),
    "images/registry.lan:5000/b/2.0/manifest.json": ("registry.lan:5000/b:2.0", b"[]"),
}


@pytest.fixture
def header() -> Contents:
    """Of a bundle for one architecture."""
    return Contents("0.1.0", "1.9.1", ("amd64",), "3.11", complete=False, files=())


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A directory with what is put into the bundle."""
    folder = tmp_path / "sources"
    for path, (_, content) in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture
def bundle(tmp_path: Path, sources: Path, header: Contents) -> Path:
    """A complete bundle."""
    directory = tmp_path / "bundle"
    with Writer.open(directory, header, silent) as writer:
        for path, (source, _) in FILES.items():
            writer.put(path, source, sources / path)
        writer.keep_only(FILES.keys())
        writer.finish()
    return directory
