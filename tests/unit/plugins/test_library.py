"""What runs the collection is refused before the library is imported, where it is too old for it."""

from __future__ import annotations

import tomllib

import pytest
import yaml

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.library import unsupported
from tests.places import ROOT


def oldest() -> tuple[tuple[int, ...], str]:
    """Python and ansible-core that the packages of library and collection require."""
    python = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    core = yaml.safe_load((ROOT / "meta/runtime.yml").read_text("utf-8"))["requires_ansible"]
    return tuple(map(int, python.removeprefix(">=").split("."))), core.removeprefix(">=")


def test_what_the_packages_require_is_taken_and_everything_later() -> None:
    python, core = oldest()
    assert unsupported((*python, 0), core) == unsupported((3, 14, 1), "2.21.0rc1") == unsupported((4, 0), "3.0") == ""


@pytest.mark.parametrize(("python", "core"), [((3, 9, 18), "2.18.1"), ((3, 11, 7), "2.17.14"), ((2, 7, 18), "2.9.27")])
def test_older_ones_are_refused_with_what_is_needed(python: tuple[int, ...], core: str) -> None:
    least, known = oldest()
    told = unsupported(python, core)
    assert f"Found: ansible-core {core} on Python {'.'.join(map(str, python))} (" in told
    assert f"Needed: ansible-core {known.removesuffix('.0')} or later" in told
    assert f"on Python {'.'.join(map(str, least))} or later" in told
    assert "Do: " in told
