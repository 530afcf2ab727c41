"""The data of a generation: what is shipped fits together, and what does not fit is refused in one go."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rehearsal.generation import HOME, load_generation


def _required(go_mod: Path) -> dict[str, str]:
    return dict(re.findall(r"^(?:require)?\s+(\S+/\S+) (v\S+)", go_mod.read_text(), re.MULTILINE))


def _write(home: Path, data: dict[str, Any]) -> Path:
    directory = home / "next"
    (directory / "tools/hello").mkdir(parents=True)
    (directory / "tools/hello/go.mod").write_text("module example.invalid/hello\n")
    (directory / "generation.yaml").write_text(yaml.safe_dump(data))
    return home


def _valid() -> dict[str, Any]:
    return {
        "go": {"minimum": "1.21", "wheel": {"version": "1.21.0", "sha256": {"x86_64": "0" * 64}}},
        "tools": {"hello": {"programs": {"hello": "."}, "sources": {"example.org/upstream": ["deploy"]}}},
        "layers": {
            "hello": [{"at": "/hello", "program": "hello"}],
            "deploy": [{"at": "/run.sh", "source": "example.org/upstream/deploy/run.sh", "mode": "0755"}],
        },
        "images": [{"names": ["docker.io/library/hello:1"], "layers": ["hello", "deploy"]}],
    }


@pytest.mark.parametrize("name", sorted(path.parent.name for path in HOME.glob("*/generation.yaml")))
def test_a_shipped_generation_is_whole_and_its_sums_are_committed(name: str) -> None:
    generation = load_generation(name)
    for tool in generation.tools:
        required = _required(tool.directory / "go.mod")
        sums = (tool.directory / "go.sum").read_text() if required else ""
        assert all(f"{module} " in sums for module in required), tool.name
        module = re.search(r"^module (\S+)$", (tool.directory / "go.mod").read_text(), re.MULTILINE)
        assert module is not None
        assert module[1].endswith(f"/{tool.directory.name}")
        assert set(tool.sources) <= set(required), tool.name


def test_stamps_and_tags_of_1_30_say_the_versions_that_are_built() -> None:
    generation = load_generation("1.30")
    required = {
        module: version for tool in generation.tools for module, version in _required(tool.directory / "go.mod").items()
    }
    stamps = {name: value for tool in generation.tools for name, value in tool.stamps.items()}
    assert stamps["k8s.io/component-base/version.gitVersion"] == required["k8s.io/kubernetes"]
    assert stamps["volcano.sh/volcano/pkg/version.Version"] == required["volcano.sh/volcano"]
    tags = {name.rpartition(":")[0]: name.rpartition(":")[2] for image in generation.images for name in image.names}
    assert tags["docker.io/volcanosh/vc-scheduler"] == required["volcano.sh/volcano"]
    assert tags["docker.io/rancher/local-path-provisioner"] == required["github.com/rancher/local-path-provisioner"]
    assert tags["registry.k8s.io/coredns/coredns"] == required["github.com/coredns/coredns"]


def test_the_schema_is_one() -> None:
    schema = json.loads((HOME / "generation.schema.json").read_text())
    assert schema["additionalProperties"] is False


def test_data_that_fits_is_read(tmp_path: Path) -> None:
    generation = load_generation("next", _write(tmp_path, _valid()))
    assert generation.tools[0].programs == {"hello": "."}
    assert generation.images[0].layers == ("hello", "deploy")


def test_every_breach_of_the_schema_is_told_at_once(tmp_path: Path) -> None:
    data = _valid()
    data["go"]["wheel"]["sha256"]["x86_64"] = "short"
    data["tools"]["hello"]["programms"] = {}
    data["layers"]["hello"] = [{"at": "relative", "program": "hello", "text": "both"}]
    with pytest.raises(InvalidInput) as caught:
        load_generation("next", _write(tmp_path, data))
    told = str(caught.value)
    assert len(caught.value.problems) == 4
    assert all(word in told for word in ("sha256", "programms", "relative", "next/generation.yaml"))


def test_every_name_that_nothing_answers_to_is_told_at_once(tmp_path: Path) -> None:
    data = _valid()
    data["tools"]["gone"] = {"programs": {"hello": "."}, "links": {"alias": "nobody"}}
    data["layers"]["hello"] = [{"at": "/hello", "program": "helo"}, {"at": "/x", "source": "example.org/other/x"}]
    data["images"] += [{"names": ["docker.io/library/hello:1"], "layers": ["absent"]}]
    with pytest.raises(InvalidInput) as caught:
        load_generation("next", _write(tmp_path, data))
    assert len(caught.value.problems) == 7
    told = str(caught.value)
    words = (
        "go.mod is missing",
        "also a program of gone",
        "program nobody",
        "program helo",
        "other/x",
        "absent",
        "twice",
    )
    assert [word for word in words if word not in told] == []


def test_an_unknown_generation_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'9\.99'.*1\.30"):
        load_generation("9.99")


def test_go_files_are_formatted(tiny_go: Path) -> None:
    sources = sorted(str(path) for path in HOME.glob("*/tools/*/*.go"))
    assert sources
    done = subprocess.run(
        [tiny_go.parent / "gofmt", "-l", *sources], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == ""
