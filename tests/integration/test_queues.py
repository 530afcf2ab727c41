"""Queues of the inventory on a real Volcano: closed, opened, drained and removed, and never with a job in them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.result import ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rollout.patches.volcano import configure_scheduling
from kubeflow_volcano.rollout.queues.drain import CREATED_QUEUES
from kubeflow_volcano.rollout.queues.reconcile import reconcile_queues, record_created_queues, validate_queues
from kubeflow_volcano.rollout.queues.view import API, state_of
from kubeflow_volcano.rollout.settings.volcano import SchedulingSettings
from tests.integration.breaking import made, space, vanish
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

RUN = f"queues-{secrets.token_hex(3)}"
JOBS, EMPTY, FOREIGN = f"{RUN}-jobs", f"{RUN}-empty", f"{RUN}-foreign"


def ref(name: str) -> Ref:
    return Ref(API, "Queue", "", name)


@pytest.fixture
def version(cluster: Cluster) -> str:
    """Of the Volcano that runs."""
    found = cluster.get(Ref("apps/v1", "Deployment", "volcano-system", "volcano-controllers"))
    assert found
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"]).rpartition(":v")[2]


@pytest.fixture
def own(cluster: Cluster) -> Iterator[None]:
    """No queue of this module stays, nor what is written down about it."""
    yield
    for name in (JOBS, EMPTY, FOREIGN):
        if live := cluster.get(ref(name)):
            vanish(cluster, live)
    if cluster.get(CREATED_QUEUES):
        cluster.patch(CREATED_QUEUES, {"data": dict.fromkeys((JOBS, EMPTY, FOREIGN))})


def bring(
    cluster: Cluster,
    version: str,
    states: dict[str, str],
    *,
    seconds: int = 0,
    check: bool = False,
    progress: Progress = silent,
) -> ApplyResult:
    """What a roll-out of Volcano does about queues."""
    asked = SchedulingSettings(
        queues=tuple({"name": name, "state": state} for name, state in states.items()), drain_seconds=seconds
    )
    objects: list[Object] = []
    configure_scheduling(objects, asked)
    validate_queues(cluster, asked, objects)
    engine = Engine(cluster, {"volcano": objects}, {}, deadline=Deadline(60), progress=progress, check=check)
    assert engine.apply()
    if not check:
        record_created_queues(engine)
    reconcile_queues(engine, asked, version)
    return engine.result()


def actions(result: ApplyResult) -> list[tuple[str, str]]:
    assert result.problems == ()
    return [(item.ref.name, str(item.action)) for item in result.outcomes if item.action != "unchanged"]


def state(cluster: Cluster, name: str) -> str:
    live = cluster.get(ref(name))
    return state_of(live) if live else "absent"


def pod_group(namespace: str) -> Object:
    spec = {"minMember": 1, "queue": JOBS}
    return {"apiVersion": API, "kind": "PodGroup", "metadata": {"name": "gang", "namespace": namespace}, "spec": spec}


def volcano_job(namespace: str) -> Object:
    container = {"name": "main", "image": "registry.example/none", "resources": {"requests": {"cpu": "10m"}}}
    pod: dict[str, Any] = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"queue": JOBS, "minAvailable": 1, "tasks": [{"name": "main", "replicas": 1, "template": pod}]}
    return new_object("batch.volcano.sh/v1alpha1", "Job", "job", namespace, spec=spec)


@pytest.mark.usefixtures("own")
def test_a_queue_with_a_job_is_closed_opened_and_drained(cluster: Cluster, version: str) -> None:
    both = {JOBS: "open", EMPTY: "closed"}
    assert actions(bring(cluster, version, both)) == [(JOBS, "created"), (EMPTY, "created"), (EMPTY, "changed")]
    assert (state(cluster, JOBS), state(cluster, EMPTY)) == ("Open", "Closed")
    assert actions(bring(cluster, version, both)) == []
    gone = {JOBS: "absent", EMPTY: "absent"}

    with space(cluster) as namespace, made(cluster, pod_group(namespace)) as (group,):
        foreseen = bring(cluster, version, gone, check=True)
        assert actions(foreseen) == [(JOBS, "changed"), (EMPTY, "removed")]
        assert (state(cluster, JOBS), state(cluster, EMPTY)) == ("Open", "Closed")

        done = bring(cluster, version, gone)
        assert actions(done) == actions(foreseen)
        for result in (foreseen, done):
            assert [f"PodGroup {namespace}/gang" in item.found for item in result.warnings] == [True]
        assert (state(cluster, JOBS), state(cluster, EMPTY)) == ("Closing", "absent")
        with pytest.raises(ApiError, match="Closing"):
            cluster.create(volcano_job(namespace), dry_run=True)
        again = bring(cluster, version, gone)
        assert (actions(again), len(again.warnings)) == ([], 1)

        assert actions(bring(cluster, version, {JOBS: "open"})) == [(JOBS, "changed")]
        assert cluster.create(volcano_job(namespace), dry_run=True)
        assert state(cluster, JOBS) == "Open"

        waited_for: list[str] = []

        def end(line: str) -> None:
            """The job ends when it is waited for."""
            if line.startswith("draining"):
                waited_for.append(line)
                cluster.delete(Ref.of(group), uid=group["metadata"]["uid"])

        drained = bring(cluster, version, gone, seconds=60, progress=end)
    assert f"queue {JOBS} has 1 job: PodGroup {namespace}/gang" in waited_for[0]
    assert actions(drained) == [(JOBS, "changed"), (JOBS, "removed")]
    assert drained.warnings == ()
    assert state(cluster, JOBS) == "absent"
    written = cluster.get(CREATED_QUEUES)
    assert written
    assert {JOBS, EMPTY}.isdisjoint(written.get("data") or {})


@pytest.mark.usefixtures("own")
def test_a_queue_of_somebody_else_is_closed_but_not_removed(cluster: Cluster, version: str) -> None:
    cluster.create(new_object(API, "Queue", FOREIGN, spec={"weight": 1}))
    until(lambda: (cluster.get(ref(FOREIGN)) or {}).get("status", {}).get("state"))
    with pytest.raises(InvalidInput, match="rollout-queues does not"):
        bring(cluster, version, {FOREIGN: "absent"})
    assert state(cluster, FOREIGN) == "Open"
    assert actions(bring(cluster, version, {FOREIGN: "closed"})) == [(FOREIGN, "changed")]
    with pytest.raises(InvalidInput):
        bring(cluster, version, {FOREIGN: "absent"})
    assert state(cluster, FOREIGN) == "Closed"
    assert actions(bring(cluster, version, {FOREIGN: "open"})) == [(FOREIGN, "changed")]
