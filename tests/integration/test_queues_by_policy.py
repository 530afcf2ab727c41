"""Jobs of teams get the queue of their team from a real API server that serves policies; Volcano itself has no part."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import RehearsalSpec
from kubeflow_volcano.rollout.people.team_queues import with_queue_policy
from tests.places import UPSTREAM
from tests.unit.rollout.settings.people.test_profiles import settings, team
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

SPEC = RehearsalSpec(f"queues-{uuid.uuid4().hex[:6]}", gpu_nodes=0, generation="1.37")
MANIFEST = UPSTREAM / "volcano-1.15.1.yaml.gz"
KINDS = ("scheduling.volcano.sh/v1beta1", "PodGroup"), ("batch.volcano.sh/v1alpha1", "Job")


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    if not MANIFEST.is_file():
        pytest.skip(f"no {MANIFEST}")
    try:
        cluster = Cluster.connect(up(SPEC).kubeconfig)
        for obj in foreign.parse(gzip.decompress(MANIFEST.read_bytes()), MANIFEST.name):
            if obj["kind"] == "CustomResourceDefinition":
                cluster.apply(obj, manager="test")
        for name in ("vision", "plain"):
            meta = {"annotations": {QUEUE_NAME: name}} if name == "vision" else None
            cluster.apply(new_object("v1", "Namespace", name, meta=meta), manager="test")
        until(lambda: all(kind in cluster.kinds(api) for api, kind in KINDS))
        for obj in with_queue_policy(cluster, [], settings(team(queue={}), team("plain")).profiles):
            cluster.apply(obj, manager="test")
        until(lambda: queue(cluster, "vision", *KINDS[0]) == "vision")  # the server reads its policies after a moment
        yield cluster
    finally:
        assert down(SPEC.name).left == ()


def queue(cluster: Cluster, namespace: str, api_version: str, kind: str, **named: str) -> str:
    obj: Object = new_object(api_version, kind, "", namespace, meta={"generateName": "job-"}, spec=named)
    return str(cluster.create(obj)["spec"].get("queue"))


@pytest.mark.parametrize(("api_version", "kind"), KINDS)
def test_only_jobs_of_teams_that_name_no_queue_are_changed(running: Cluster, api_version: str, kind: str) -> None:
    for named in ({}, {"queue": "default"}):
        assert queue(running, "vision", api_version, kind, **named) == "vision"
        assert queue(running, "plain", api_version, kind, **named) == "default"
    assert queue(running, "vision", api_version, kind, queue="chosen") == "chosen"
