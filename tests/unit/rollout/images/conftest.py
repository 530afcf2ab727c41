"""What the tests of images use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.rollout.settings.images import MirrorRule, MirrorSettings
from kubeflow_volcano.rollout.settings.settings import parse

Objects = Callable[..., dict[str, Any]]


@pytest.fixture
def mirror() -> Callable[..., MirrorSettings]:
    """Mirror settings: rules as in the inventory, everything else by name."""

    def make(*rules: dict[str, str], **changes: Any) -> MirrorSettings:
        values: dict[str, Any] = {
            "mode": "rewrite",
            "preset": "",
            "rules": tuple(MirrorRule(**rule) for rule in rules),
            "overrides": {},
            "catalog_overrides": True,
            "allow_gone": False,
            "allow_list": None,
            "probe": False,
            "probe_per_minute": 20,
            "probe_parallel": 4,
            "containerd": parse({}).mirror.containerd,
            "refusals": 5,
        }
        return MirrorSettings(**values | changes)

    return make


@pytest.fixture
def deployment() -> Objects:
    """A Deployment with one container of that name and whatever else is given."""

    def make(name: str, container: str = "c", **fields: Any) -> dict[str, Any]:
        spec = {"containers": [{"name": container, **fields}]}
        return new_object("apps/v1", "Deployment", name, "kubeflow", spec={"template": {"spec": spec}})

    return make


@pytest.fixture
def config_map() -> Objects:
    """A ConfigMap with that data."""

    def make(name: str, **data: str) -> dict[str, Any]:
        return new_object("v1", "ConfigMap", name, "kubeflow", data=data)

    return make


@pytest.fixture(scope="session")
def allow_list(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror's list of its own."""
    path = tmp_path_factory.mktemp("lists") / "allows.txt"
    path.write_text("# ours\ngcr.io/**\ndocker.io/library/*\n\nquay.io/jetstack/*\n")
    return path
