"""The operator's limit of memory: raised where it is known to be too small, lowered nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.rollout.patches.operator_memory import keep_higher_limit
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import parse

OLD, NEW = "v1-e1434f6", "v1-04f9f13"
PATH = "/apis/apps/v1/namespaces/kubeflow/deployments/training-operator"


def operator(memory: str | None, tag: str = OLD) -> dict[str, Any]:
    limits = {"cpu": "100m"} | ({"memory": memory} if memory else {})
    container = {
        "name": COMPONENT,
        "image": f"kubeflow/training-operator:{tag}",
        "resources": {"limits": limits, "requests": {"cpu": "100m", "memory": "20Mi"}},
    }
    return new_object(
        "apps/v1", "Deployment", COMPONENT, "kubeflow", spec={"template": {"spec": {"containers": [container]}}}
    )


def limits(obj: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = obj["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    return found


@pytest.mark.parametrize(
    ("given", "tag", "memory"),
    [
        ("30Mi", OLD, "512Mi"),
        ("30Mi", "own-build", "512Mi"),
        ("511Mi", OLD, "512Mi"),
        ("0.5Gi", OLD, "0.5Gi"),
        ("1Gi", OLD, "1Gi"),
        (None, OLD, None),
        ("30Mi", NEW, "30Mi"),
    ],
)
def test_what_is_known_to_be_too_small_is_raised(given: str | None, tag: str, memory: str | None) -> None:
    (found,) = patched([operator(given, tag)], COMPONENT, parse({"kubeflow_release": "1.6.1"}))
    assert limits(found) == {"cpu": "100m"} | ({"memory": memory} if memory else {})
    assert found["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] == "20Mi"


@pytest.mark.parametrize(("live", "kept"), [("1Gi", "1Gi"), ("600M", "600M"), ("30Mi", "512Mi"), (None, None)])
def test_what_somebody_raised_on_the_cluster_is_not_lowered(api: Any, live: str | None, kept: str | None) -> None:
    api.on("GET", PATH, api.reply(body=operator(live)))
    wanted = operator("512Mi")
    keep_higher_limit(api.connect(), [wanted], COMPONENT, "1.5.0")
    assert limits(wanted).get("memory") == kept


def test_without_an_operator_on_the_cluster_the_text_stays(api: Any) -> None:
    wanted = operator("512Mi")
    keep_higher_limit(api.connect(), [wanted], COMPONENT, "1.5.0")
    assert limits(wanted)["memory"] == "512Mi"


def test_where_nothing_is_raised_nobody_is_asked(api: Any) -> None:
    cluster = api.connect()
    asked = len(api.requests)
    for wanted in (operator("512Mi", NEW), operator(None)):
        keep_higher_limit(cluster, [wanted], COMPONENT, "1.8.1")
    assert len(api.requests) == asked
