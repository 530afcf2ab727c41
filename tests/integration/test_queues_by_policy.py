"""Jobs of teams get the queue of their team from a real API server that serves policies.

First Volcano itself has no part, then it and the training operator make the PodGroups: Volcano 1.15.1 on Kubernetes
1.37, which serves policies, and 1.14 on 1.34, which does with a feature gate and an API that is off by default.
"""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.admission.policies import BINDING, POLICY, VERSIONS
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.rehearsal import lifecycle
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.recipes import Generation
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import RehearsalSpec
from kubeflow_volcano.rollout.people.team_queues import with_queue_policy
from kubeflow_volcano.validators.checks.volcano.team_queues import TRIED
from tests.integration.breaking import judge, made
from tests.integration.explaining import job
from tests.integration.volcanos import Volcano, volcano
from tests.places import UPSTREAM
from tests.unit.rollout.settings.people.test_profiles import settings, team
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

MANIFESTS = {"1.37": UPSTREAM / "volcano-1.15.1.yaml.gz", "1.34": UPSTREAM / "volcano-1.14.4.yaml.gz"}
PLURALS = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
SERVED = {
    "1.34": (
        "--feature-gates=MutatingAdmissionPolicy=true",
        f"--runtime-config={','.join(f'{VERSIONS[1]}/{plural}=true' for plural in PLURALS)}",
    )
}
"""What the API server of a generation needs for policies, as docs/users.md says it."""
KINDS = ("scheduling.volcano.sh/v1beta1", "PodGroup"), ("batch.volcano.sh/v1alpha1", "Job")


@pytest.fixture(scope="module", params=MANIFESTS)
def generation(request: pytest.FixtureRequest) -> Iterator[str]:
    """Its API server serves policies."""
    name: str = request.param

    def load(name: str, **more: Any) -> Generation:
        found = load_generation(name, **more)
        arguments = {**found.node.arguments}
        arguments["kube-apiserver"] = (*arguments.get("kube-apiserver", ()), *SERVED.get(name, ()))
        return replace(found, node=replace(found.node, arguments=arguments))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifecycle, "load_generation", load)
        yield name


@dataclass(frozen=True)
class Served:
    """A cluster with the kinds of Volcano alone."""

    cluster: Cluster
    kubeconfig: Path


@pytest.fixture(scope="module")
def running(generation: str) -> Iterator[Served]:
    manifest = MANIFESTS[generation]
    if not manifest.is_file():
        pytest.skip(f"no {manifest}")
    spec = RehearsalSpec(f"queues-{uuid.uuid4().hex[:6]}", gpu_nodes=0, generation=generation)
    try:
        kubeconfig = up(spec).kubeconfig
        cluster = Cluster.connect(kubeconfig)
        for obj in foreign.parse(gzip.decompress(manifest.read_bytes()), manifest.name):
            if obj["kind"] == "CustomResourceDefinition":
                cluster.apply(obj, manager="test")
        for name in ("vision", "plain"):
            cluster.apply(namespace(name, queue=name if name == "vision" else ""), manager="test")
        until(lambda: all(kind in cluster.kinds(api) for api, kind in KINDS))
        apply_policy(cluster, team(queue={}), team("plain"))
        # The server reads its policies after a moment.
        until(lambda: cluster.create(new("vision", *KINDS[0]), dry_run=True)["spec"].get("queue") == "vision")
        yield Served(cluster, kubeconfig)
    finally:
        assert down(spec.name).left == ()


def apply_policy(cluster: Cluster, *teams: Any) -> None:
    made = with_queue_policy(cluster, [], settings(*teams).profiles)
    assert [obj["kind"] for obj in made] == [POLICY, BINDING]
    for obj in made:
        cluster.apply(obj, manager="test")


def namespace(name: str, queue: str) -> Object:
    return new_object("v1", "Namespace", name, meta={"annotations": {QUEUE_NAME: queue}} if queue else None)


def new(namespace: str, api_version: str, kind: str, **named: str) -> Object:
    return new_object(api_version, kind, "", namespace, meta={"generateName": "job-"}, spec=named)


def queue(cluster: Cluster, namespace: str, api_version: str, kind: str, **named: str) -> str:
    return str(cluster.create(new(namespace, api_version, kind, **named))["spec"].get("queue"))


@pytest.mark.parametrize(("api_version", "kind"), KINDS)
def test_only_jobs_of_teams_that_name_no_queue_are_changed(running: Served, api_version: str, kind: str) -> None:
    for named in ({}, {"queue": "default"}):
        assert queue(running.cluster, "vision", api_version, kind, **named) == "vision"
        assert queue(running.cluster, "plain", api_version, kind, **named) == "default"
    assert queue(running.cluster, "vision", api_version, kind, queue="chosen") == "chosen"


def test_a_server_of_1_34_without_the_feature_gate_gets_no_policy() -> None:
    spec = RehearsalSpec(f"queues-{uuid.uuid4().hex[:6]}", gpu_nodes=0, generation="1.34")
    try:
        assert with_queue_policy(Cluster.connect(up(spec).kubeconfig), [], settings(team(queue={})).profiles) == ()
    finally:
        assert down(spec.name).left == ()


def f10(kubeconfig: Path) -> tuple[str, str]:
    return judge(kubeconfig, "F10", read_only=False)["F10"]


def test_f10_tells_a_team_that_the_policy_leaves_out(running: Served) -> None:
    """Kinds are served and nothing else, so that jobs without a queue are in default where no policy says otherwise."""
    assert f10(running.kubeconfig) == ("pass", "AsClaimed")
    with made(running.cluster, namespace("speech", queue="speech")):
        assert f10(running.kubeconfig) == ("warn", "NewElsewhere")
    assert f10(running.kubeconfig) == ("pass", "AsClaimed")


@pytest.fixture(scope="module")
def real(generation: str) -> Iterator[Volcano]:
    """Volcano and the training operator, and a team whose queue is open; no policy yet."""
    with volcano(generation) as found:
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

    apply_policy(cluster, team(queue={}))
    until(lambda: f10(real.kubeconfig) == ("pass", "AsClaimed"), every=2)
    with made(cluster, *jobs()):
        until(lambda: queues_by_owner(cluster) == dict.fromkeys(kinds, "vision"))
        assert f10(real.kubeconfig) == ("pass", "AsClaimed")
