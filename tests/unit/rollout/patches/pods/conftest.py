"""Whole releases of upstream, as the variables for pods find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.rollout.patches.pods.templates import pod_spec
from tests.unit.releases import Parts, Upstream, WholeRelease, by_ref


def pods(parts: Parts) -> dict[Ref, Object]:
    """The spec of the pods of every workload."""
    return {ref: spec for ref, obj in by_ref(parts).items() if (spec := pod_spec(obj))}


@pytest.fixture(scope="session", params=["1.6.1", "1.9.1", "26.03"])
def upstream(request: pytest.FixtureRequest, whole_release: WholeRelease) -> Upstream:
    """Each release in turn."""
    found = whole_release(request.param)
    return found.only([part.name for part in found.given.components])


@pytest.fixture
def workload() -> Callable[..., Object]:
    """A workload of a kind, with one container and whatever else its pods have."""

    def make(kind: str = "Deployment", name: str = "a", namespace: str = "kubeflow", **spec: Any) -> Object:
        pod = {"containers": [{"name": "c", "image": "a:1"}], **spec}
        body: Object = pod if kind == "Pod" else {"template": {"spec": pod}}
        if kind == "CronJob":
            body = {"jobTemplate": {"spec": body}}
        version = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}.get(kind, "apps/v1")
        return new_object(version, kind, name, namespace, spec=body)

    return make
