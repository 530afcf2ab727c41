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
from kubeflow_volcano.rehearsal.build.generation import HOME, extras_of, load_generation
from kubeflow_volcano.rehearsal.build.recipes import NodeDifferences
from kubeflow_volcano.rehearsal.spec import RehearsalSpec


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


SHIPPED = sorted(path.parent.name for path in HOME.glob("*/generation.yaml"))


@pytest.mark.parametrize("name", SHIPPED)
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


@pytest.mark.parametrize("name", SHIPPED)
def test_stamps_and_tags_say_the_versions_that_are_built(name: str) -> None:
    generation = load_generation(name)
    built = {
        program: (tool, _required(tool.directory / "go.mod")) for tool in generation.tools for program in tool.programs
    }
    kube, of_kube = built["kube"]
    volcano, of_volcano = built["vc-scheduler"]
    assert kube.stamps["k8s.io/component-base/version.gitVersion"] == of_kube["k8s.io/kubernetes"]
    assert volcano.stamps["volcano.sh/volcano/pkg/version.Version"] == of_volcano["volcano.sh/volcano"]
    names = {name for image in generation.images for name in image.names}
    assert f"docker.io/volcanosh/vc-scheduler:{of_volcano['volcano.sh/volcano']}" in names
    provisioner = built["local-path-provisioner"][1]["github.com/rancher/local-path-provisioner"]
    assert f"docker.io/rancher/local-path-provisioner:{provisioner}" in names
    assert f"registry.k8s.io/coredns/coredns:{built['coredns'][1]['github.com/coredns/coredns']}" in names


def test_generations_share_the_modules_of_equal_tools() -> None:
    tools = [tool for name in SHIPPED for tool in load_generation(name).tools]
    sums = {(tool.directory / "go.sum").read_text() for tool in tools if (tool.directory / "go.sum").is_file()}
    directories = {tool.directory for tool in tools if (tool.directory / "go.sum").is_file()}
    assert len(sums) == len(directories)


def _beside(home: Path, parts: dict[str, Any]) -> None:
    (home / "common/tools/shared").mkdir(parents=True)
    (home / "common/tools/shared/go.mod").write_text("module example.invalid/shared\n")
    (home / "common/parts.yaml").write_text(yaml.safe_dump(parts))


def test_a_generation_stands_on_the_common_parts_and_its_own_take_their_place(tmp_path: Path) -> None:
    data = _valid()
    parts = {
        "go": data.pop("go"),
        "tools": {"shared": {"programs": {"shared": "."}}, "hello": {"programs": {"former": "."}}},
        "layers": {"shared": [{"at": "/shared", "program": "shared"}]},
        "images": [{"names": ["docker.io/library/shared:1"], "layers": ["shared"]}],
    }
    _beside(tmp_path, parts)
    generation = load_generation("next", _write(tmp_path, data))
    assert {tool.name: tool.directory for tool in generation.tools} == {
        "shared": tmp_path / "common/tools/shared",
        "hello": tmp_path / "next/tools/hello",
    }
    assert {name for tool in generation.tools for name in tool.programs} == {"shared", "hello"}
    assert len(generation.images) == 2


def test_a_tool_may_be_built_from_the_module_of_another_generation(tmp_path: Path) -> None:
    data = _valid()
    (tmp_path / "former/tools/whole").mkdir(parents=True)
    (tmp_path / "former/tools/whole/go.mod").write_text("module example.invalid/whole\n")
    data["tools"]["part"] = {"module": "former/tools/whole", "programs": {"part": "example.invalid/part"}}
    generation = load_generation("next", _write(tmp_path, data))
    assert generation.tools[1].directory == tmp_path / "former/tools/whole"


def test_a_tool_of_another_generation_is_that_one_s(tmp_path: Path) -> None:
    _write(tmp_path, _valid())
    data = _valid()
    data["tools"] = {"hello": {"of": "1.1"}}
    (tmp_path / "next").rename(tmp_path / "1.1")
    former, later = load_generation("1.1", tmp_path), load_generation("next", _write(tmp_path, data))
    assert later.tools == former.tools


@pytest.mark.parametrize("there", [{}, {"tools": {"hello": {"of": "1.0"}}}])
def test_a_tool_of_a_generation_that_has_none_of_its_own_is_refused(there: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "1.1").mkdir()
    (tmp_path / "1.1/generation.yaml").write_text(yaml.safe_dump(there))
    data = _valid()
    data["tools"] = {"hello": {"of": "1.1"}}
    with pytest.raises(InvalidInput, match=r"tools\.hello: .*1\.1 "):
        load_generation("next", _write(tmp_path, data))


def test_how_a_node_differs_is_read(tmp_path: Path) -> None:
    data = _valid() | {"node": {"containerd": 2, "kubelet": {"x": None}, "arguments": {"kubelet": ["--y=1"]}}}
    assert load_generation("next", _write(tmp_path, data)).node == NodeDifferences(
        2, {"x": None}, {"kubelet": ("--y=1",)}
    )
    assert load_generation("next", _write(tmp_path / "other", _valid())).node == NodeDifferences()


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


EXTRAS = [(name, extra) for name in SHIPPED for extra in extras_of(name)]
UPSTREAM = {
    "cert-manager": "github.com/cert-manager/cert-manager",
    "dex": "github.com/dexidp/dex",
    "kueue": "sigs.k8s.io/kueue",
    "katib": "github.com/kubeflow/katib",
    "oauth2-proxy": "github.com/oauth2-proxy/oauth2-proxy/v7",
    "scheduler-plugins": "sigs.k8s.io/scheduler-plugins",
    "volcano-1.10": "volcano.sh/volcano",
    "volcano-1.14": "volcano.sh/volcano",
    "volcano-1.8": "volcano.sh/volcano",
}
VERSIONLESS = {"katib"}
"""Those whose programs say no version."""
TAGS = {"v0.0.0-20240409110506-3705207f0190": "v2.39.1"}
"""Of commits whose tags are no versions of a Go module, because its path does not end in /v2."""
MORE_IMAGE_TAGS = {"volcano-1.14": "v1.14.0"}
"""Of images that the manifest in the Go module names by another version: upstream moved the tag afterwards."""


@pytest.mark.parametrize(("name", "extra"), EXTRAS)
def test_an_extra_is_part_of_the_generation_only_where_it_is_asked_for(name: str, extra: str) -> None:
    """Its images have the tag of the version that its go.mod requires, and its program says that version."""
    plain, more = load_generation(name), load_generation(name, extras=(extra,))
    assert {tool.name for tool in more.tools} - {tool.name for tool in plain.tools} == {extra}
    (tool,) = (tool for tool in more.tools if tool.name == extra)
    required = _required(tool.directory / "go.mod")[UPSTREAM[extra]]
    version = TAGS.get(required, required)
    added = {name for image in more.images[len(plain.images) :] for name in image.names}
    assert {image.rpartition(":")[2] for image in added} == {version, MORE_IMAGE_TAGS.get(extra, version)}
    assert {*tool.stamps.values()} == ({version} if extra not in VERSIONLESS else set())
    assert (plain.name, more.name) == (name, f"{name}+{extra}")  # they have image stores of their own


def test_an_extra_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="scheduler-plugins, cert-manager, oauth2-proxy"):
        load_generation("1.30", extras=("scheduler-plugin",))
    with pytest.raises(InvalidInput, match=r"generation 1\.22: "):
        RehearsalSpec(generation="1.22", extras=("scheduler-plugins",)).validate()


def test_an_unknown_generation_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'9\.99'.*1\.30"):
        load_generation("9.99")


@pytest.mark.programs
def test_go_files_are_formatted(tiny_go: Path) -> None:
    sources = sorted(str(path) for path in HOME.glob("*/tools/*/*.go"))
    assert sources
    done = subprocess.run(
        [tiny_go.parent / "gofmt", "-l", *sources], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == ""
