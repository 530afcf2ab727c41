"""Volcano alone on a cluster of a test file's own, with one configuration of its scheduler after the other."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import NodeKind, RehearsalSpec
from kubeflow_volcano.rollout.patches.volcano import CONFIGURATION
from kubeflow_volcano.rollout.settings.settings import parse
from tests.integration.breaking import judge, settle
from tests.integration.rolling import own_sources, roll_out, wire_gang

SCHEDULER = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
GPUS = 4
QUIET_SECONDS = 20.0
"""After so long nothing happens any more: Volcano looks once a second."""
VERSIONS = {
    "1.30": ("1.9.1", "1.10.0"),
    "1.34": ("26.03", "1.14.1"),
    "1.35": ("26.03.1", "1.15.1"),
    "1.37": ("26.03.1", "1.15.1"),
}
"""Release and Volcano of a generation."""


@dataclass(frozen=True)
class Volcano:
    """A cluster of four simulated nodes of one GPU each, gpu-1 to gpu-4, for Volcano of that generation."""

    cluster: Cluster
    kubeconfig: Path
    generation: str

    def installed(self, **variables: Any) -> None:
        """Roll it out with these variables, after a dry run; a second one changes nothing, and F4 finds no fault.

        The scheduler is started again, so that no test waits until it rereads its configuration.
        """
        release, version = VERSIONS[self.generation]
        settings = parse(
            {
                **own_sources(self.kubeconfig),
                "kubeflow_release": release,
                "kubeflow_components": ["volcano"],
                "gang_scheduling_scheduler": "none",
                "volcano_version": version,
                "kubeflow_wait_timeout_seconds": 240,
                **variables,
            }
        )
        for check in (True, False):
            found = roll_out(self.cluster, settings, [settings.volcano], check=check, progress=silent).problems
            assert not found, [str(problem) for problem in found]
        assert not roll_out(self.cluster, settings, [settings.volcano], check=False, progress=silent).changed
        for pod in self.cluster.list("v1", "Pod", namespace="volcano-system", labels="app=volcano-scheduler").items:
            self.cluster.delete(Ref.of(pod), uid=pod["metadata"]["uid"])
        settle(self.cluster, SCHEDULER)
        judged = judge(self.kubeconfig, "F1", "F4")
        assert {name: status for name, (status, _) in judged.items()} == {"F1": "pass", "F4": "pass"}, judged

    def with_operator(self) -> None:
        """Roll out the training operator of the release beside it, which makes PodGroups for its jobs."""
        release, version = VERSIONS[self.generation]
        settings = parse(
            {
                **own_sources(self.kubeconfig),
                "kubeflow_release": release,
                "kubeflow_components": ["volcano", "training-operator"],
                "volcano_version": version,
                "kubeflow_wait_timeout_seconds": 240,
            }
        )
        operator = [settings.component("training-operator")]
        assert not roll_out(self.cluster, settings, operator, check=False, progress=silent).problems
        assert not wire_gang(self.cluster, settings, check=False, progress=silent).problems

    def upstream(self) -> Any:
        """The configuration in Volcano's manifest."""
        manifest = Path(own_sources(self.kubeconfig)["volcano_source"])
        objects = foreign.parse(manifest.read_bytes(), manifest.name)
        (text,) = (obj["data"][CONFIGURATION] for obj in objects if CONFIGURATION in (obj.get("data") or {}))
        return foreign.read_yaml(text)

    def create(self, namespace: str, job: Object) -> None:
        self.cluster.create({**job, "metadata": {**job["metadata"], "namespace": namespace}})

    def nodes(self, namespace: str, job: str) -> list[str]:
        """The nodes of the job's pods that are not on their way out."""
        pods = self.cluster.list("v1", "Pod", namespace=namespace, labels=f"volcano.sh/job-name={job}").items
        kept = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        return sorted(node for pod in kept if (node := pod["spec"].get("nodeName")))

    def placed(self, namespace: str, *jobs: str) -> list[int]:
        """How many pods of each job have a node."""
        return [len(self.nodes(namespace, job)) for job in jobs]


@contextmanager
def volcano(generation: str, *extras: str, nodes: tuple[NodeKind, ...] = ()) -> Iterator[Volcano]:
    """The cluster, as long as the block lasts; it has these extras of the generation, and nodes of further kinds."""
    spec = RehearsalSpec(f"volcano-{uuid.uuid4().hex[:6]}", generation=generation, extras=extras, nodes=nodes)
    try:
        kubeconfig = up(spec).kubeconfig
        yield Volcano(Cluster.connect(kubeconfig), kubeconfig, generation)
    finally:
        left = down(spec.name).left
    assert left == ()
