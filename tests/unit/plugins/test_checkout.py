"""The checkout without installing it as a collection: plugins find what they share, whatever else is configured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import kubeflow_volcano
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.library import COLLECTION, VERSION
from tests.places import ROOT

pytestmark = pytest.mark.programs

WRONG = {"volcano_version": "0.0.1"}
REFUSED = "'0.0.1', which the catalog does not know"


def settings(cwd: Path, module: str = "kfv_settings", **environment: str) -> str:
    """What Ansible prints when it is to validate wrong settings."""
    arguments: Any = json.dumps({"variables": WRONG})
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible"), "localhost", "-c", "local", "-m", module, "-a", arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")} | environment,
    )
    assert done.returncode != 0
    return " ".join((done.stdout + done.stderr).split())


CONFIGURED = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}


@pytest.mark.parametrize(
    "environment",
    [
        CONFIGURED,
        CONFIGURED | {"ANSIBLE_COLLECTIONS_PATH": "/nonexistent"},
        CONFIGURED | {"ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false"},
    ],
    ids=["by its configuration", "with other collections", "without Python's search path"],
)
def test_plugins_of_the_checkout_find_what_they_share(tmp_path: Path, environment: dict[str, str]) -> None:
    assert REFUSED in settings(tmp_path, **environment)


def test_the_checkout_is_a_collection_for_the_python_that_it_is_installed_in(tmp_path: Path) -> None:
    assert REFUSED in settings(tmp_path, "kubeflow_volcano.platform.kfv_settings")


def test_a_python_that_cannot_import_the_project_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "kubeflow_volcano.py").write_text("raise ImportError('not installed')\n")
    told = settings(tmp_path, **CONFIGURED, PYTHONPATH=str(tmp_path))
    assert "import kubeflow_volcano. Needed: " in told
    assert "wheel kubeflow-volcano" in told


def test_a_library_of_another_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    (tmp_path / "kubeflow_volcano.py").write_text("__version__ = '0.0.9'\n")
    told = settings(tmp_path, **CONFIGURED, PYTHONPATH=str(tmp_path))
    for words in ("Found: version 0.0.9 ", f"Needed: {kubeflow_volcano.__version__}, ", "install the wheel"):
        assert words in told


def test_collection_and_library_have_one_version() -> None:
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text("utf-8"))
    assert galaxy["version"] == VERSION == kubeflow_volcano.__version__
    assert f"{galaxy['namespace']}.{galaxy['name']}" == COLLECTION


def test_every_link_of_the_collection_leads_to_a_part_of_the_checkout() -> None:
    links = [*(ROOT / "ansible_collections/kubeflow_volcano/platform").iterdir()]
    assert {path.name for path in links} == {"galaxy.yml", "meta", "playbooks", "plugins", "roles"}
    assert [path for path in links if path.resolve() != ROOT / path.name] == []
