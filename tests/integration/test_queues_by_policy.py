"""Jobs of teams get the queue of their team from a real API server that serves policies.

First Volcano itself has no part, then it and the training operator make the PodGroups.
"""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from kubeflow_volcano.rollout.people.team_queues import with_queue_policy
from kubeflow_volcano.validators.checks.volcano.team_queues import TRIED
from tests.integration.breaking import judge, made
from tests.integration.explaining import job
from tests.integration.volcanos import Volcano, volcano
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
            cluster.apply(namespace(name, queue=name if name == "vision" else ""), manager="test")
        until(lambda: all(kind in cluster.kinds(api) for api, kind in KINDS))
        for obj in with_queue_policy(cluster, [], settings(team(queue={}), team("plain")).profiles):
            cluster.apply(obj, manager="test")
        # The server reads its policies after a moment.
        until(lambda: cluster.create(new("vision", *KINDS[0]), dry_run=True)["spec"].get("queue") == "vision")
        yield cluster
    finally:
        assert down(SPEC.name).left == ()


def namespace(name: str, queue: str) -> Object:
    return new_object("v1", "Namespace", name, meta={"annotations": {QUEUE_NAME: queue}} if queue else None)


def new(namespace: str, api_version: str, kind: str, **named: str) -> Object:
    return new_object(api_version, kind, "", namespace, meta={"generateName": "job-"}, spec=named)


def queue(cluster: Cluster, namespace: str, api_version: str, kind: str, **named: str) -> str:
    return str(cluster.create(new(namespace, api_version, kind, **named))["spec"].get("queue"))


@pytest.mark.parametrize(("api_version", "kind"), KINDS)
def test_only_jobs_of_teams_that_name_no_queue_are_changed(running: Cluster, api_version: str, kind: str) -> None:
    for named in ({}, {"queue": "default"}):
        assert queue(running, "vision", api_version, kind, **named) == "vision"
        assert queue(running, "plain", api_version, kind, **named) == "default"
    assert queue(running, "vision", api_version, kind, queue="chosen") == "chosen"


def f10(kubeconfig: Path) -> tuple[str, str]:
    return judge(kubeconfig, "F10", read_only=False)["F10"]


def test_f10_tells_a_team_that_the_policy_leaves_out(running: Cluster) -> None:
    """Kinds are served and nothing else, so that jobs without a queue are in default where no policy says otherwise."""
    kubeconfig = ClusterPaths.of(SPEC.name).kubeconfig
    assert f10(kubeconfig) == ("pass", "AsClaimed")
    with made(running, namespace("speech", queue="speech")):
        assert f10(kubeconfig) == ("warn", "NewElsewhere")
    assert f10(kubeconfig) == ("pass", "AsClaimed")


@pytest.fixture(scope="module")
def real() -> Iterator[Volcano]:
    """Volcano and the training operator, and a team whose queue is open; no policy yet."""
    with volcano("1.37") as found:
        found.installed()
        found.with_operator()
        found.cluster.apply(new_object(KINDS[0][0], "Queue", "vision", spec={"weight": 1}), manager="test")
        found.cluster.apply(namespace("vision", queue="vision"), manager="test")
        account, open_queue = Ref("v1", "ServiceAccount", "vision", "default"), Ref(KINDS[0][0], "Queue", "", "vision")
        until(lambda: found.cluster.get(account))
        until(lambda: ((found.cluster.get(open_queue) or {}).get("status") or {}).get("state") == "Open")
        yield found


def jobs() -> tuple[Object, ...]:
    """One of the training operator, a pod of no job, and one of Volcano: none names a queue."""
    pod = {"schedulerName": "volcano", "containers": [{"name": "main", "image": PAUSE}]}
    every = job("train", {"Master": 1}), new_object("v1", "Pod", "lone", spec=pod), TRIED["Job of Volcano"][1]
    return tuple({**item, "metadata": {"name": f"new-{item['kind'].lower()}", "namespace": "vision"}} for item in every)


def queues_by_owner(cluster: Cluster) -> dict[str, str]:
    """The queue of each PodGroup, by the kind of what it was made for."""
    groups = cluster.list(*KINDS[0], namespace="vision").items
    return {item["metadata"]["ownerReferences"][0]["kind"]: item["spec"].get("queue", "") for item in groups}


def test_podgroups_that_operator_and_controllers_make_get_the_queue_by_the_policy_alone(real: Volcano) -> None:
    cluster, kinds = real.cluster, ("PyTorchJob", "Pod", "Job")
    assert f10(real.kubeconfig) == ("warn", "NewElsewhere")
    with made(cluster, *jobs()):
        until(lambda: queues_by_owner(cluster) == dict.fromkeys(kinds, "default"))
        assert f10(real.kubeconfig) == ("warn", "InDefault")
    until(lambda: not queues_by_owner(cluster))

    for obj in with_queue_policy(cluster, [], settings(team(queue={})).profiles):
        cluster.apply(obj, manager="test")
    until(lambda: f10(real.kubeconfig) == ("pass", "AsClaimed"), every=2)
    with made(cluster, *jobs()):
        until(lambda: queues_by_owner(cluster) == dict.fromkeys(kinds, "vision"))
        assert f10(real.kubeconfig) == ("pass", "AsClaimed")
