"""Whole releases of upstream, as the variables for pods find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.desired import render_upstream
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.patches.pods.templates import pod_spec
from kubeflow_volcano.rollout.settings.settings import Settings, parse

ARCHIVES = {
    "1.6.1": "manifests-1.6.1.tar.gz",
    "1.9.1": "manifests-1.9.1.tar.gz",
    "26.03": "community-distribution-26.03.tar.gz",
}
VOLCANO = "volcano-1.12.2.yaml.gz"
LOCAL_PATH = "local-path-storage-0.0.37.yaml"
REMOTES = {"26.03": {"argo-workflows": "argo-workflows-3.7.3.tar.gz", "jobset": "jobset-0.10.1.yaml.gz"}}


class Upstream(NamedTuple):
    """A release, and its objects by component before any change."""

    release: str
    parts: Mapping[str, tuple[Object, ...]]

    def settings(self, **variables: Any) -> Settings:
        """Settings for it."""
        return parse({"kubeflow_release": self.release, "kubeflow_profile": "full", **variables})

    def changed(self, **variables: Any) -> dict[str, tuple[Object, ...]]:
        """Its objects by component, with these variables."""
        settings = self.settings(**variables)
        return {name: for_environment(name, objects, settings) for name, objects in self.parts.items()}


def by_ref(parts: Mapping[str, tuple[Object, ...]]) -> dict[Ref, Object]:
    """All objects of these components."""
    return {Ref.of(obj): obj for objects in parts.values() for obj in objects}


def pods(parts: Mapping[str, tuple[Object, ...]]) -> dict[Ref, Object]:
    """The spec of the pods of every workload."""
    return {ref: spec for ref, obj in by_ref(parts).items() if (spec := pod_spec(obj))}


@pytest.fixture(scope="session", params=ARCHIVES)
def upstream(request: pytest.FixtureRequest, upstream_dir: Path, kustomize: Path) -> Upstream:
    """Each release in turn."""
    release: str = request.param
    sources = {name: str(upstream_dir / file) for name, file in REMOTES.get(release, {}).items()}
    settings = parse(
        {
            "kubeflow_release": release,
            "kubeflow_profile": "full",
            "kubeflow_source": str(upstream_dir / ARCHIVES[release]),
            "kubeflow_sources": sources,
            "kustomize_binary": str(kustomize),
            "local_path_source": str(upstream_dir / LOCAL_PATH),
        }
    )
    chosen = [part for part in settings.components if part.name != "volcano"]
    return Upstream(release, render_upstream(settings, chosen, silent)[0])


@pytest.fixture
def workload() -> Callable[..., Object]:
    """A workload of a kind, with one container and whatever else its pods have."""

    def make(kind: str = "Deployment", name: str = "a", namespace: str = "kubeflow", **spec: Any) -> Object:
        pod = {"containers": [{"name": "c", "image": "a:1"}], **spec}
        body: Object = pod if kind == "Pod" else {"template": {"spec": pod}}
        if kind == "CronJob":
            body = {"jobTemplate": {"spec": body}}
        version = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}.get(kind, "apps/v1")
        meta = {"name": name, "namespace": namespace}
        return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": body}

    return make
