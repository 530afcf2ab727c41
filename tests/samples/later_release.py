"""The entry of a release after 26.03.1, whose distribution has no training operator."""

from __future__ import annotations

from pathlib import Path

import yaml

from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.operator import COMPONENT

VERSION = "26.10"


def with_later_release(directory: Path) -> str:
    """Write the entry into a directory of the user; returns that as text, for `catalog_directory`."""
    former = data.load("releases/26.03.1")
    entry = {
        **former,
        "version": VERSION,
        "upgrades_from": ["26.03.1"],
        "components": [item for item in former["components"] if item["name"] != COMPONENT],
    }
    path = directory / "releases" / f"{VERSION}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(entry), "utf-8")
    return str(directory)
