"""Presets of Volcano's scheduler, installed on its real programs: what each evicts, and that upstream's evicts nothing.

Clusters of this file's own, of four simulated nodes of one GPU each. The scheduler is started again behind each
roll-out, so that no test waits until it rereads its configuration.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kubeflow_volcano.catalog.evictions.presets import PRESETS, UPSTREAM
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.integration.breaking import judge, made, settle, space
from tests.integration.rolling import own_sources, roll_out
from tests.integration.test_explain_eviction import is_open, priority_class, queue, vcjob
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

GENERATIONS = {"1.30": ("1.9.1", "1.10.0"), "1.35": ("26.03.1", "1.15.1")}
"""Release and Volcano of each."""
SCHEDULER = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
GPUS = 4
DESERVED = {"deserved": {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "2"}}
QUIET_SECONDS = 20.0
"""Volcano looks once a second."""


def of_action(action: str) -> list[str]:
    return [name for name, preset in PRESETS.items() if action in preset.actions]


@dataclass(frozen=True)
class Stand:
    """The cluster of a generation, with one preset after the other."""

    cluster: Cluster
    settings: Settings
    name: str

    def installed(self, preset: str) -> None:
        """Roll Volcano out with the preset; a second roll-out changes nothing, and F4 finds no fault."""
        settings = parse({**self.variables, "volcano_scheduler_preset": preset})
        assert not roll_out(self.cluster, settings, [settings.volcano], check=False, progress=silent).problems
        assert not roll_out(self.cluster, settings, [settings.volcano], check=False, progress=silent).changed
        for pod in self.cluster.list("v1", "Pod", namespace="volcano-system", labels="app=volcano-scheduler").items:
            self.cluster.delete(Ref.of(pod), uid=pod["metadata"]["uid"])
        settle(self.cluster, SCHEDULER)
        found = judge(ClusterPaths.of(self.name).kubeconfig, "F1", "F4")
        assert {name: status for name, (status, _) in found.items()} == {"F1": "pass", "F4": "pass"}, found

    @property
    def variables(self) -> dict[str, object]:
        """Those of an inventory with Volcano alone."""
        return {
            **own_sources(ClusterPaths.of(self.name).kubeconfig),
            "kubeflow_release": self.settings.release.version,
            "kubeflow_components": ["volcano"],
            "gang_scheduling_scheduler": "none",
            "volcano_version": self.settings.volcano.version,
            "kubeflow_wait_timeout_seconds": 240,
        }

    def placed(self, namespace: str, job: str) -> int:
        """How many pods of the job have a node and are not on their way out."""
        pods = self.cluster.list("v1", "Pod", namespace=namespace, labels=f"volcano.sh/job-name={job}").items
        return sum("nodeName" in pod["spec"] and "deletionTimestamp" not in pod["metadata"] for pod in pods)

    def both(self, namespace: str, *jobs: str) -> tuple[int, ...]:
        return tuple(self.placed(namespace, job) for job in jobs)


@pytest.fixture(scope="module", params=GENERATIONS)
def stand(request: pytest.FixtureRequest) -> Iterator[Stand]:
    release, volcano = GENERATIONS[request.param]
    spec = RehearsalSpec(f"presets-{uuid.uuid4().hex[:6]}", generation=request.param)
    try:
        cluster = Cluster.connect(up(spec).kubeconfig)
        settings = parse({"kubeflow_release": release, "volcano_version": volcano})
        yield Stand(cluster, settings, spec.name)
    finally:
        assert down(spec.name).left == ()


def in_namespace(job: Object, namespace: str) -> Object:
    return {**job, "metadata": {**job["metadata"], "namespace": namespace}}


@pytest.mark.parametrize("preset", [UPSTREAM, *of_action("preempt")])
def test_an_urgent_gang_replaces_a_whole_gang_of_its_queue(stand: Stand, preset: str) -> None:
    stand.installed(preset)
    with space(stand.cluster) as namespace:
        classes = [priority_class(f"{namespace}-{name}", value) for name, value in (("low", 5), ("high", 5000))]
        with made(stand.cluster, *classes):
            low, high = (item["metadata"]["name"] for item in classes)
            stand.cluster.create(in_namespace(vcjob("slow", GPUS, GPUS, priorityClassName=low), namespace))
            until(lambda: stand.both(namespace, "slow") == (GPUS,))
            stand.cluster.create(in_namespace(vcjob("urgent", GPUS, GPUS, priorityClassName=high), namespace))

            if preset == UPSTREAM:
                assert at_last(lambda: stand.both(namespace, "slow", "urgent"), (0, GPUS), QUIET_SECONDS, every=1) == (
                    GPUS,
                    0,
                )
            else:
                until(lambda: stand.both(namespace, "slow", "urgent") == (0, GPUS), every=1)


@pytest.mark.parametrize("preset", [UPSTREAM, *of_action("reclaim")])
def test_a_queue_takes_back_its_share_for_a_whole_gang_and_no_more(stand: Stand, preset: str) -> None:
    stand.installed(preset)
    with space(stand.cluster) as namespace:
        share = DESERVED if PRESETS.get(preset) and PRESETS[preset].sharing == "capacity" else {}
        rich, owed = f"{namespace}-rich", f"{namespace}-owed"
        for name in (rich, owed):  # they go with the cluster
            stand.cluster.create(queue(name, **share))
        until(lambda: all(is_open(stand.cluster, name) for name in (rich, owed)))
        stand.cluster.create(in_namespace(vcjob("early", GPUS, 1, rich), namespace))
        until(lambda: stand.both(namespace, "early") == (GPUS,))
        stand.cluster.create(in_namespace(vcjob("late", 2, 2, owed), namespace))

        if preset == UPSTREAM:
            assert at_last(lambda: stand.both(namespace, "early", "late"), (2, 2), QUIET_SECONDS, every=1) == (GPUS, 0)
        else:
            until(lambda: stand.both(namespace, "early", "late") == (2, 2), every=1)
            assert at_last(lambda: stand.both(namespace, "early", "late"), (4, 0), QUIET_SECONDS, every=1) == (2, 2)
