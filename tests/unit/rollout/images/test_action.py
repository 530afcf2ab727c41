"""What the role shows and refuses, from the settings to the mirror: its action, on upstream's manifests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.action.kfv_images import ActionModule
from kubeflow_volcano.problems import InvalidInput
from tests.serving import Handler, serving

pytestmark = pytest.mark.upstream


@pytest.fixture
def variables(upstream_dir: Path, kustomize: Path) -> dict[str, Any]:
    return {
        "kubeflow_release": "1.9.1",
        "kubeflow_components": ["training-operator"],
        "kubeflow_source": str(upstream_dir / "manifests-1.9.1.tar.gz"),
        "kustomize_binary": str(kustomize),
        "gang_scheduling_scheduler": "none",
        "image_mirror_mode": "rewrite",
    }


@contextmanager
def mirror(missing: str) -> Iterator[tuple[str, list[str]]]:
    """A registry without one image; its address and what it was asked for."""
    asked: list[str] = []

    class Registry(Handler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            self.answer(status=404 if missing in self.path else 200)

    with serving(Registry) as port:
        yield f"127.0.0.1:{port}", asked


IMAGES = [
    "/v2/kubeflow/kubectl-delivery/manifests/latest",
    "/v2/kubeflow/training-operator/manifests/v1-04f9f13",
    "/v2/library/alpine/manifests/3.10",
    "/v2/library/busybox/manifests/1.36",
    "/v2/pause/manifests/3.10",
]
"""The operator, what it starts, and what the validation brings."""


def looked_at(variables: dict[str, Any], *, probe: bool = True) -> dict[str, Any]:
    action = ActionModule.__new__(ActionModule)  # its answer needs nothing of Ansible
    found: dict[str, Any] = action.answer({"settings": variables, "probe": probe})
    return found


def test_every_rule_is_shown(variables: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    result = looked_at({**variables, "image_mirror_preset": "daocloud"})
    assert (result["images"], result["requests"]) == (5, 0)
    assert [(row["rule"].split()[0], row["images"]) for row in result["rules"]] == [
        ("overrides", 0),
        ("preset", 5),
        ("no", 0),
    ]
    assert "docker.io/kubeflow/kubectl-delivery:latest -> m.daoc" in capfd.readouterr().out


def test_a_mirror_that_has_all_is_asked_once_for_each(variables: dict[str, Any]) -> None:
    with mirror(missing="nothing") as (address, asked):
        rules = [{"source": "*", "registry": address}]
        result = looked_at({**variables, "image_mirror_rules": rules, "image_mirror_probe": True})
    assert result["requests"] == 5
    assert sorted(asked) == IMAGES


def test_registries_are_found_without_asking_any(variables: dict[str, Any]) -> None:
    rules = {"image_mirror_rules": [{"source": "*", "prefix": "m.x"}], "image_mirror_probe": True}
    translated = looked_at({**variables, **rules, "image_mirror_mode": "containerd"}, probe=False)
    assert (translated["registries"], translated["requests"]) == (["docker.io", "registry.k8s.io"], 0)
    renamed = looked_at({**variables, **rules}, probe=False)
    assert renamed["registries"] == ["m.x"]


@pytest.mark.fault(25)
def test_what_the_mirror_lacks_stops_the_roll_out(variables: dict[str, Any]) -> None:
    with mirror(missing="alpine") as (address, _):
        rules = [{"source": "*", "registry": address}]
        with pytest.raises(InvalidInput, match=f"missing .*{address}/library/alpine:3.10"):
            looked_at({**variables, "image_mirror_rules": rules, "image_mirror_probe": True})
