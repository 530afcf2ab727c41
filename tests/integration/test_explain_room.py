"""Gangs that wait for room on a real cluster: what explain says to do is done, and the job starts.

What it calls impossible does not start, however much room there is.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.integration.breaking import patched, settle, space
from tests.integration.explaining import GPU, LABELS, LITTLE, SIMULATED, Jobs, job
from tests.waiting import until

pytestmark = pytest.mark.cluster

SELECTOR = {"labelSelector": {"matchLabels": LABELS}}


@pytest.fixture(scope="module")
def home(cluster: Cluster) -> Iterator[str]:
    with space(cluster) as name:
        yield name


@pytest.fixture
def jobs(cluster: Cluster, home: str) -> Iterator[Jobs]:
    found = Jobs(cluster, home)
    yield found
    found.remove_all()


def test_the_second_of_two_jobs_waits_for_the_first_and_needs_no_toleration(jobs: Jobs) -> None:
    """Its pods do not exist yet; admission would make them tolerate the taint of GPU nodes."""
    jobs.create(job("first", {"Master": 1, "Worker": 2}, GPU))
    jobs.starts("first")
    jobs.create(job("second", {"Master": 1, "Worker": 2}, GPU))
    found = jobs.cause("second", "GangDoesNotFit")
    assert not jobs.of_job("second")
    assert re.search(r"\b1 of the 3\b", found.problem.found)
    assert found.problem.todo.startswith("wait ")
    jobs.delete("first")
    jobs.starts("second")


def test_a_gang_larger_than_the_cluster_is_not_told_to_wait_and_never_starts(jobs: Jobs) -> None:
    jobs.create(job("large", {"Master": 1, "Worker": 4}, GPU))
    found = jobs.cause("large", "GangNeverFits")
    assert "for 4 once" in found.problem.found
    assert "fewer replicas" in found.problem.todo
    assert "wait" not in found.problem.todo
    jobs.stays("large")
    jobs.again("large", job("large", {"Master": 1, "Worker": 3}, GPU))


@pytest.mark.long
def test_resources_that_the_cluster_does_not_have_are_never_admitted(jobs: Jobs) -> None:
    roles = {"Master": 1, "Worker": 1}
    jobs.create(job("much", roles, policy={"minResources": {"cpu": "10000"}}))
    found = jobs.cause("much", "MinResourcesTooHigh")
    assert "without them" in found.problem.todo
    jobs.stays("much")
    jobs.again("much", job("much", roles))


@pytest.mark.long
def test_room_that_an_admitted_gang_keeps_is_named_with_the_gang(jobs: Jobs) -> None:
    jobs.create(job("holder", {"Master": 1, "Worker": 2}, GPU, nodeSelector={"no": "where"}))
    until(lambda: jobs.explained("holder").situation.phase == "Inqueue", every=1)
    jobs.create(job("behind", {"Master": 1, "Worker": 1}, GPU))
    found = jobs.cause("behind", "ReservedByOthers")
    assert found.details == (f"PodGroup {jobs.namespace}/holder: 3 nvidia.com/gpu",)
    assert "delete jobs" in found.problem.todo
    jobs.delete("holder")
    jobs.starts("behind")


@pytest.mark.long
@pytest.mark.parametrize(
    ("container", "spec", "rule"),
    [
        (
            LITTLE,
            {
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "kubernetes.io/hostname", **SELECTOR}
                        ]
                    }
                }
            },
            "podAntiAffinity on kubernetes.io/hostname",
        ),
        ({**LITTLE, "ports": [{"containerPort": 39217, "hostPort": 39217}]}, {}, "host port 39217"),
    ],
)
def test_one_pod_for_each_node_takes_more_nodes_or_fewer_replicas(
    jobs: Jobs, container: Object, spec: Object, rule: str
) -> None:
    def of(workers: int) -> Object:
        return job("apart", {"Worker": workers}, container, "TFJob", tolerations=SIMULATED, **copy.deepcopy(spec))

    jobs.create(of(9))
    found = jobs.cause("apart", "GangNeverFits").problem
    assert rule in found.found
    assert "smaller requests" not in found.todo
    jobs.stays("apart")
    most = re.search(r"for (\d+) once all other pods have ended", found.found)
    assert most
    jobs.again("apart", of(int(most[1])))


@pytest.mark.long
def test_pods_that_spread_over_a_label_that_no_node_has_go_nowhere(jobs: Jobs) -> None:
    def over(key: str) -> Object:
        rule = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **SELECTOR}
        return job("spread", {"Worker": 3}, kind="TFJob", tolerations=SIMULATED, topologySpreadConstraints=[rule])

    jobs.create(over("example.org/rack"))
    found = jobs.cause("spread", "NoNodeFitsSpreadKey")
    assert "example.org/rack" in found.problem.found
    assert "change their topologyKey" in found.problem.todo
    jobs.stays("spread")
    jobs.again("spread", over("kubernetes.io/hostname"))


@pytest.mark.long
def test_an_mpijob_without_launcher_is_refused_by_its_operator(jobs: Jobs) -> None:
    jobs.create(job("mpi", {"Worker": 2}, GPU, kind="MPIJob"))
    found = jobs.cause("mpi", "SpecInvalid")
    assert "Launcher" in found.problem.todo
    assert not found.changes
    jobs.again("mpi", job("mpi", {"Launcher": 1, "Worker": 2}, GPU, kind="MPIJob"))


def test_a_pod_template_that_the_api_server_refuses_is_told_before_any_pod_is_tried(jobs: Jobs) -> None:
    """The PodGroup of the gang waits, so that its controller has not tried to create a pod."""
    mounts = {**GPU, "volumeMounts": [{"name": "nothing", "mountPath": "/data"}]}
    jobs.create(job("before", {"Master": 1, "Worker": 2}, GPU))
    jobs.starts("before")
    jobs.create(job("mounts", {"Master": 1, "Worker": 2}, mounts))
    jobs.cause("mounts", "PodInvalid")
    assert not jobs.of_job("mounts")
    jobs.delete("before")
    jobs.stays("mounts")
    jobs.again("mounts", job("mounts", {"Master": 1, "Worker": 2}, GPU))


def test_a_job_without_replicas_runs_nothing(jobs: Jobs) -> None:
    jobs.create(job("none", {"Worker": 0}, kind="TFJob"))
    until(lambda: [item.reason for item in jobs.explained("none").findings] == ["NoReplicas"], every=1)
    jobs.again("none", job("none", {"Worker": 1}, kind="TFJob"))


def test_who_changed_a_job_since_its_creation_is_named(cluster: Cluster, jobs: Jobs) -> None:
    jobs.create(job("held", {"Master": 1, "Worker": 1}, nodeSelector={"no": "where"}))
    jobs.cause("held", "NoNodeFits")
    ref = jobs.ref("held")
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
    # managedFields have whole seconds, and who writes in the first one counts as creator.
    since = datetime.fromisoformat((cluster.get(ref) or {})["metadata"]["creationTimestamp"])
    until(lambda: datetime.now(UTC) - since > timedelta(seconds=1))
    change = {"spec": {"runPolicy": {"activeDeadlineSeconds": 3600}}}
    content = "application/merge-patch+json"
    cluster.request("PATCH", path, body=change, content_type=content, query={"fieldManager": "deadline-setter"})
    told = [item for item in jobs.explained("held").findings if item.reason == "ChangedSinceCreation"]
    assert [item.objects[0] for item in told] == [ref]
    assert "spec.runPolicy.activeDeadlineSeconds (3600) by field manager deadline-setter" in told[0].problem.found
    assert not told[0].blocks


@pytest.mark.long
def test_nodes_that_volcanos_own_flag_leaves_out_are_said_with_the_flag(cluster: Cluster, jobs: Jobs) -> None:
    scheduler = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
    live = cluster.get(scheduler)
    assert live is not None
    words = live["spec"]["template"]["spec"]["containers"][0].get("args") or []
    with patched(cluster, scheduler, json_patch=True) as patch:
        args = "/spec/template/spec/containers/0/args"
        patch([{"op": "add", "path": args, "value": [*words, "--node-selector=pool:train"]}])
        settle(cluster, scheduler)
        jobs.create(job("outside", {"Master": 1, "Worker": 1}))
        found = jobs.cause("outside", "NoNodeFitsLeftOut")
        assert "--node-selector" in found.problem.todo
        jobs.stays("outside")
    jobs.starts("outside")
