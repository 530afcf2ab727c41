"""scheduler-plugins in Volcano's place on a real cluster: installed, wired, proved, and changed back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.experiment.session import Options as Images
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.spec import State
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.validators.run.options import expectations_of
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import made, space
from tests.integration.rolling import own_sources, roll_out, wire_gang
from tests.integration.test_rbac import (
    UNUSED,
    Account,
    Recording,
    account,
    granted,
    recording,
    unexpected,
    unused,
)
from tests.waiting import until

__all__ = ["account", "recording"]  # fixtures, by their names

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
HOLD_SECONDS = 5.0
PROVED = ("F1", "G1", "G2", "G3", "G5", "G6", "H1", "H2", "H3", "H4", "H5", "H6", "H8")
VOLCANOS = ("F3", "F4", "F5", "F8", "F9")
UNUSED_HERE = ("list events",)
"""Read only where a job gets no pods."""
SAYS = "training.kubeflow.org/job-name"


@pytest.fixture
def asked(kubeconfig: Path, cluster: Cluster) -> Iterator[Settings]:
    """What is to be installed; behind the test Volcano makes the gangs again, and nothing of this is left."""
    state = State.load(kubeconfig.parent / "state.json")
    if state is None or SCHEDULER_PLUGINS.name not in state.spec.extras:
        pytest.fail("this cluster was made without the images: rehearsal_cluster_extras: [scheduler-plugins]")
    settings = parse(
        own_sources(kubeconfig)
        | {"gang_scheduling_scheduler": SCHEDULER_PLUGINS.name, "kubeflow_wait_timeout_seconds": 240}
    )
    assert cluster.get(Ref("v1", "Namespace", "", SCHEDULER_PLUGINS.name)) is None
    yield settings
    wire(cluster, replace(settings, gang_scheduler="volcano"))
    done = roll_out(cluster, settings, [settings.scheduler_plugins], check=False, progress=silent)
    for item in reversed(done.outcomes):
        if live := cluster.get(item.ref):
            cluster.delete(item.ref, uid=live["metadata"]["uid"])
    until(lambda: cluster.get(Ref("v1", "Namespace", "", SCHEDULER_PLUGINS.name)) is None)


def wire(cluster: Cluster, settings: Settings) -> ApplyResult:
    done = wire_gang(cluster, settings, check=False, progress=silent)
    assert not done.problems
    assert not wire_gang(cluster, settings, check=False, progress=silent).changed
    return done


def arguments(cluster: Cluster) -> list[str]:
    live = cluster.get(OPERATOR)
    assert live is not None
    found: list[str] = live["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


def gpus(cluster: Cluster) -> int:
    nodes = cluster.list("v1", "Node").items
    return sum(int(item["status"]["allocatable"].get("nvidia.com/gpu", 0)) for item in nodes)


def job(namespace: str, name: str, workers: int) -> Object:
    resources = {"limits": {"nvidia.com/gpu": 1}}
    container = {"name": "tensorflow", "image": Images().pause_image, "resources": resources}
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"tfReplicaSpecs": {"Worker": {"replicas": workers, "template": template}}},
    }


def pods_of(cluster: Cluster, namespace: str, name: str) -> tuple[Object, ...]:
    return cluster.list("v1", "Pod", namespace=namespace, labels=f"{SAYS}={name}").items


def bound(pods: tuple[Object, ...]) -> int:
    return sum("nodeName" in item["spec"] for item in pods)


def judged(pods: tuple[Object, ...]) -> int:
    return sum(conditions(item).get("PodScheduled", {}).get("status") == "False" for item in pods)


def verdicts(options: Options) -> dict[str, tuple[str, str]]:
    report = validate(replace(options, stability_seconds=1, report_dir=None), silent)
    return {item.check.id: (str(item.outcome.status), item.outcome.message) for item in report.results}


@pytest.mark.long
def test_gangs_of_a_second_scheduler_from_the_installation_to_the_proof_and_back_to_volcano(
    kubeconfig: Path, cluster: Cluster, asked: Settings, account: Account, recording: Recording
) -> None:
    parts = [asked.component(SCHEDULER_PLUGINS.name)]
    done = roll_out(cluster, asked, parts, check=False, progress=silent)
    assert not done.problems
    assert {item.action for item in done.outcomes} == {Action.CREATED}
    assert not roll_out(cluster, asked, parts, check=False, progress=silent).changed
    assert wire(cluster, asked).changed
    assert f"--gang-scheduler-name={SCHEDULER_PLUGINS.scheduler}" in arguments(cluster)

    room = gpus(cluster)
    with space(cluster) as namespace:
        with made(cluster, job(namespace, "too-large", room + 1)):
            until(lambda: judged(pods_of(cluster, namespace, "too-large")) == room + 1)
            end = time.monotonic() + HOLD_SECONDS
            until(lambda: bound(pods_of(cluster, namespace, "too-large")) or time.monotonic() > end)
            assert bound(pods_of(cluster, namespace, "too-large")) == 0
        with made(cluster, job(namespace, "fits", room)):
            until(lambda: bound(pods_of(cluster, namespace, "fits")) == room)
            schedulers = {item["spec"]["schedulerName"] for item in pods_of(cluster, namespace, "fits")}
            assert schedulers == {SCHEDULER_PLUGINS.scheduler}

    # Nobody says which scheduler it is, neither to the printed rights nor to the run that has no others.
    options = Options(kubeconfig, select=("gang", "volcano", "operator"), probe_namespace=account.namespace)
    assert expectations_of(options, cluster)[0].gang is SCHEDULER_PLUGINS
    with granted(cluster, account, options) as rules:
        found = verdicts(replace(options, kubeconfig=account.kubeconfig))
        idle = unused(cluster, rules, recording.used, own_namespaces=False)
    assert {str(rule) for _, rule in idle} - {*UNUSED, *UNUSED_HERE} == set()
    assert unexpected(recording) == []
    statuses = {id_: status for id_, (status, _) in found.items()}
    assert {id_: found[id_] for id_ in PROVED if statuses[id_] != "pass"} == {}
    assert {id_: found[id_] for id_ in VOLCANOS if statuses[id_] != "skip"} == {}

    volcano = replace(asked, gang_scheduler="volcano")
    assert wire(cluster, volcano).changed
    assert "--gang-scheduler-name=volcano" in arguments(cluster)
    assert verdicts(Options(kubeconfig, select=("G1",)))["G1"][0] == "pass"
    other = Options(kubeconfig, select=("G1",), gang_scheduler=SCHEDULER_PLUGINS.name)
    assert verdicts(other)["G1"][0] == "fail"
