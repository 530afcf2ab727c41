"""A configuration that gets other names reaches the pods that read it only when they start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubeflow_volcano.rollout.images.references.followers import ANNOTATION
from kubeflow_volcano.rollout.images.rename.rewrite import rewrite
from kubeflow_volcano.rollout.settings.images import MirrorSettings

Make = Callable[..., dict[str, Any]]
Mirror = Callable[..., MirrorSettings]

CONFIG = "tensorboard-controller-config-7hd244gf2d"


def mark(obj: dict[str, Any]) -> str | None:
    found: str | None = obj["spec"]["template"].get("metadata", {}).get("annotations", {}).get(ANNOTATION)
    return found


@pytest.mark.parametrize(
    "reads",
    [
        {"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": CONFIG}}]}]},
        {"containers": [{"name": "c", "env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": CONFIG}}}]}]},
        {"initContainers": [{"name": "c", "envFrom": [{"configMapRef": {"name": CONFIG}}]}]},
        {"volumes": [{"name": "v", "configMap": {"name": CONFIG}}]},
        {"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": CONFIG}}]}}]},
    ],
)
def test_every_way_of_reading_is_seen(
    mirror: Mirror, deployment: Make, config_map: Make, reads: dict[str, Any]
) -> None:
    config = config_map(CONFIG, TENSORBOARD_IMAGE="tensorflow/tensorflow:2.5.1")
    reader, other = deployment("reader"), deployment("other")
    reader["spec"]["template"]["spec"] = reads

    def marks(*hosts: str) -> list[str | None]:
        rules = [mirror({"source": "*", "prefix": host}) for host in hosts]
        return [mark(rewrite({"part": (config, reader, other)}, rule).parts["part"][1]) for rule in rules]

    first, again, another = marks("a.example.com", "a.example.com", "b.example.com")
    assert first
    assert first == again != another
    assert (
        mark(rewrite({"part": (config, reader, other)}, mirror({"source": "*", "prefix": "a.b"})).parts["part"][2])
        is None
    )


def test_what_keeps_its_name_marks_nobody(mirror: Mirror, deployment: Make, config_map: Make) -> None:
    config = config_map(CONFIG, TENSORBOARD_IMAGE="tensorflow/tensorflow:2.5.1")
    reader = deployment("reader", envFrom=[{"configMapRef": {"name": CONFIG}}])
    elsewhere = deployment("reader", envFrom=[{"configMapRef": {"name": CONFIG}}])
    elsewhere["metadata"]["namespace"] = "other"
    rules = mirror({"source": "gcr.io", "prefix": "m.example.com"})
    assert [mark(obj) for obj in rewrite({"p": (config, reader)}, rules).parts["p"][1:]] == [None]
    rules = mirror({"source": "*", "prefix": "m.example.com"})
    assert mark(rewrite({"p": (config, elsewhere)}, rules).parts["p"][1]) is None


def test_other_annotations_stay(mirror: Mirror, deployment: Make, config_map: Make) -> None:
    config = config_map(CONFIG, TENSORBOARD_IMAGE="tensorflow/tensorflow:2.5.1")
    reader = deployment("reader", image="a/b:1", envFrom=[{"configMapRef": {"name": CONFIG}}])
    reader["spec"]["template"]["metadata"] = {"annotations": {"sidecar.istio.io/inject": "true"}}
    new = rewrite({"p": (config, reader)}, mirror({"source": "*", "prefix": "m.example.com"})).parts["p"][1]
    template = new["spec"]["template"]
    assert template["metadata"]["annotations"]["sidecar.istio.io/inject"] == "true"
    assert template["spec"]["containers"][0]["image"] == "m.example.com/docker.io/a/b:1"
    assert ANNOTATION not in reader["spec"]["template"]["metadata"]["annotations"]
