"""Gangs and flows whose pods or jobs come one after the other, which never come to an end."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.manifests import made, reasons

POD = {
    "schedulerName": "volcano",
    "containers": [{"name": "c", "image": "a/b:1", "resources": {"requests": {"cpu": "1"}}}],
}


def deployment(least: str, replicas: int | None = 4, pod: Object | None = None, **strategy: Any) -> Object:
    spec = {"replicas": replicas, "strategy": strategy, "template": {"spec": pod or POD}}
    return made(
        "apps/v1",
        "Deployment",
        "d",
        spec=spec,
        metadata={"annotations": {"scheduling.volcano.sh/group-min-member": least}},
    )


@pytest.mark.parametrize(
    "stuck",
    [
        deployment("3"),  # one more, and one fewer, by default
        deployment("2", replicas=2),
        deployment("4", rollingUpdate={"maxSurge": 1, "maxUnavailable": 2}),
        deployment("3", rollingUpdate={"maxSurge": "50%", "maxUnavailable": 0}),
    ],
)
def test_a_gang_that_a_rolling_update_never_completes(stuck: Object) -> None:
    assert reasons(stuck) == ["RollingUpdateStuck"]


@pytest.mark.parametrize(
    "fine",
    [
        deployment("2"),
        deployment("4", type="Recreate"),
        deployment("4", rollingUpdate={"maxSurge": "100%"}),
        deployment("4", rollingUpdate={"maxSurge": 2, "maxUnavailable": 2}),
        deployment("5"),  # more than there are at any time: no gang to begin with
        deployment("3", pod={**POD, "schedulerName": "default-scheduler"}),
        deployment("three"),
        deployment("1", replicas=None),
        deployment("2", rollingUpdate={"maxSurge": "some"}),
    ],
)
def test_a_gang_that_a_rolling_update_completes(fine: Object) -> None:
    assert reasons(fine) == []


def flow(*flows: Any) -> Object:
    return made("flow.volcano.sh/v1alpha1", "JobFlow", "f", spec={"flows": list(flows)})


def test_a_flow_runs_each_template_once() -> None:
    fit = {
        "name": "fit",
        "dependsOn": {"targets": ["prepare"], "probe": {"httpGetList": [{"path": "/"}, {"path": "/"}]}},
    }
    other = {"name": "other", "dependsOn": {"targets": ["prepare"]}}
    assert reasons(flow({"name": "prepare"}, fit, other), offline=True) == []
    assert reasons(flow({"name": "prepare"}, fit, {"name": "prepare"}), offline=True) == ["FlowNamedTwice"]
    assert reasons(flow("prepare", "prepare"), offline=True) == ["WrongType"]
    assert reasons(made("flow.volcano.sh/v1alpha1", "JobFlow", "f"), offline=True) == []


def waiting(**targets: str) -> Object:
    return flow(*({"name": name, "dependsOn": {"targets": [target]}} for name, target in targets.items()))


def test_flows_that_wait_for_each_other_or_for_none() -> None:
    assert reasons(waiting(a="b", b="c", c="a", d="a"), offline=True) == ["FlowWaitsForItself"]
    assert reasons(waiting(a="a"), offline=True) == ["FlowWaitsForItself"]
    assert reasons(waiting(a="b"), offline=True) == ["FlowTargetMissing"]
    assert reasons(flow({"name": "a", "dependsOn": {"targets": "b"}}), offline=True) == ["WrongType"]
