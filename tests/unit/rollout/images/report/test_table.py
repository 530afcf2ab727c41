"""What each rule does is counted, and shown by an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubeflow_volcano.rollout.images.rename.rewrite import rewrite
from kubeflow_volcano.rollout.images.report.image_list import report
from kubeflow_volcano.rollout.images.report.table import render, rows
from kubeflow_volcano.rollout.settings.settings import parse

Make = Callable[..., dict[str, Any]]


def test_each_rule_is_a_row(deployment: Make) -> None:
    settings = parse(
        {
            "kubeflow_release": "1.9.1",
            "image_mirror_mode": "rewrite",
            "image_mirror_preset": "daocloud",
            "image_mirror_rules": [
                {"source": "gcr.io/mine", "registry": "registry.lan"},
                {"source": "ghcr.io", "prefix": "m.daocloud.io"},
            ],
            "image_mirror_overrides": {"quay.io/old/name": "quay.io/new/name"},
        }
    )
    objects = tuple(
        deployment(f"d{number}", image=image)
        for number, image in enumerate(
            [
                "gcr.io/mine/a:1",
                "mysql:8.0",
                "redis:7",
                "quay.io/old/name:1",
                "gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0",
                "harbor.example.com/x/y:1",
            ]
        )
    )
    found = rows(settings.mirror, report(rewrite({"p": objects}, settings.mirror), settings).entries)
    assert [(row.rule, row.images) for row in found] == [
        ("overrides of the inventory", 1),
        ("overrides of the catalog, for images that are gone", 1),
        ("gcr.io/mine: registry.lan in place of the host", 1),
        ("ghcr.io: m.daocloud.io/ before the name", 0),
        ("preset daocloud", 6),
        ("no rule", 1),
    ]
    lines = render(found).splitlines()
    assert lines[2] == (
        "   1 by gcr.io/mine: registry.lan in place of the host, such as gcr.io/mine/a:1 -> registry.lan/mine/a:1"
    )
    assert lines[5] == "   1 by no rule"
