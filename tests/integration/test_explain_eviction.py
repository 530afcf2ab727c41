"""Advice about preemption and reclaim leads to the end: the printed commands are run literally, and the job starts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.explain.model import Finding, State
from tests.integration.breaking import made, patched, space
from tests.integration.explaining import GPU, SIMULATED, Jobs
from tests.integration.remedies import CONFIGURATION
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(480)]

QUEUES = "scheduling.volcano.sh/v1beta1"
_REREAD_SECONDS = 180.0
"""The kubelet brings a changed ConfigMap to the scheduler within a minute or two."""


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Jobs]:
    """A namespace; the scheduler's configuration is put back behind the test."""
    with space(cluster) as name, patched(cluster, CONFIGURATION):
        found = Jobs(cluster, name)
        yield found
        found.remove_all()


def vcjob(name: str, pods: int, minimum: int, queue: str = "default", **spec: Any) -> Object:
    """A Volcano job of one GPU for each pod."""
    pod = {"tolerations": SIMULATED, "containers": [{"name": "c", "image": PAUSE, **GPU}], **spec}
    pod |= {"terminationGracePeriodSeconds": 0}
    task = {"name": "w", "replicas": pods, "template": {"spec": pod}}
    asked = {"minAvailable": minimum, "queue": queue, "schedulerName": "volcano", "tasks": [task], **spec}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": asked}


def told(jobs: Jobs, name: str, reason: str) -> Finding:
    """The finding, once it is there."""
    return until(lambda: next((item for item in jobs.explained(name).findings if item.reason == reason), None), every=1)


def done(finding: Finding, kubeconfig: Path) -> None:
    """Its commands are run, each as it is printed."""
    assert finding.changes
    path = f"{kubeconfig.parent / 'bin'}:{os.environ['PATH']}"
    for command in finding.changes:
        env = {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": path}
        subprocess.run(["bash", "-c", command], check=True, env=env, capture_output=True)


def starts(jobs: Jobs, name: str) -> None:
    until(lambda: jobs.explained(name).state is State.STARTED, _REREAD_SECONDS, every=2)


def priority_class(name: str, value: int) -> Object:
    meta = {"name": name}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": value}


def queue(name: str, **spec: Any) -> Object:
    return {"apiVersion": QUEUES, "kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1, **spec}}


def is_open(cluster: Cluster, name: str) -> bool:
    found = cluster.get(Ref(QUEUES, "Queue", "", name)) or {}
    return bool(found.get("status", {}).get("state") == "Open")


def shut(cluster: Cluster, *names: str) -> None:
    """Volcano deletes closed queues only."""
    for name in names:
        path = cluster.resource(QUEUES, "Queue").path("", name) + "/status"
        body = {"status": {"state": "Closed"}}
        cluster.request("PATCH", path, body=body, content_type="application/merge-patch+json")


def test_an_urgent_gang_replaces_another_one_with_the_settings_that_are_told(jobs: Jobs, kubeconfig: Path) -> None:
    low, high = f"{jobs.namespace}-low", f"{jobs.namespace}-high"
    with made(jobs.cluster, priority_class(low, 5), priority_class(high, 5000)):
        jobs.create(vcjob("slow", 4, 4, priorityClassName=low))
        jobs.starts("slow")
        jobs.create(vcjob("urgent", 4, 4, priorityClassName=high))
        done(told(jobs, "urgent", "LowerPriorityHolds"), kubeconfig)
        starts(jobs, "urgent")
        jobs.remove_all()


@pytest.mark.parametrize("deserved", [{}, {"deserved": {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "2"}}])
def test_a_queue_takes_back_its_share_with_the_settings_that_are_told(
    jobs: Jobs, kubeconfig: Path, deserved: dict[str, Any]
) -> None:
    rich, owed = f"{jobs.namespace}-rich", f"{jobs.namespace}-owed"
    with made(jobs.cluster, queue(rich, **deserved), queue(owed, **deserved)):
        until(lambda: all(is_open(jobs.cluster, name) for name in (rich, owed)))
        jobs.create(vcjob("early", 4, 1, rich))
        until(lambda: sum(bool(pod["spec"].get("nodeName")) for pod in jobs.of_job("early")) == 4)
        jobs.create(vcjob("late", 2, 1, owed))
        done(told(jobs, "late", "ShareHeldByOthers"), kubeconfig)
        starts(jobs, "late")
        jobs.remove_all()
        shut(jobs.cluster, rich, owed)
