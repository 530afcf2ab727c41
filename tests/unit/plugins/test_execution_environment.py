"""What an execution environment with the collection gets is what the library requires."""

from __future__ import annotations

import re
import tomllib

import yaml

from tests.places import ROOT


def _listed(entry: str) -> list[str]:
    declared = yaml.safe_load((ROOT / "meta" / "execution-environment.yml").read_text("utf-8"))["dependencies"]
    lines = (ROOT / declared[entry]).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_its_python_packages_are_those_of_the_library() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert _listed("python") == project["dependencies"]


def test_its_system_packages_have_a_name_for_rpm_and_for_debian() -> None:
    packages = [re.fullmatch(r"([a-z0-9.+-]+) \[((?:platform:(?:rpm|dpkg) ?)+)\]", line) for line in _listed("system")]
    assert all(packages)
    platforms = {name: {found[1] for found in packages if found and name in found[2]} for name in ("rpm", "dpkg")}
    assert platforms == {"rpm": {"openssh-clients", "skopeo"}, "dpkg": {"openssh-client", "skopeo"}}
