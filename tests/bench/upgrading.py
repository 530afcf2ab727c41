"""An upgrade that changes nothing beside a rerun without changes, in one process, so that both meet the same server.

python -m tests.bench.upgrading KUBECONFIG VARIABLES

VARIABLES is a JSON file of inventory variables. Installs first. Prints one line of JSON: the seconds of both as medians
of three pairs, the median ratio of the pairs, and the process's peak memory.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.progress import Progress, to_stderr
from kubeflow_volcano.rollout.run import roll_out
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.upgrade.document import preview
from tests.bench.claims import Sample
from tests.bench.measure import measure
from tests.bench.ours import peak_mib
from tests.bench.plane import Plane
from tests.bench.releases import Release

_PAIRS = 3
_VOLUMES = 8  # more than any release claims


def upgrades(
    release: Release, programs: Mapping[str, Path], directory: Path, number: int, progress: Progress
) -> Iterator[Sample]:
    """One round, on a control plane of its own."""
    progress(f"{release.version}, round {number + 1}: ours, upgrade")
    with Plane(programs, directory / "plane", release.namespaces) as plane:
        command = [sys.executable, "-m", "tests.bench.upgrading", str(plane.kubeconfig), str(release.variables)]
        log = plane.directory / "ours-upgrade.log"
        run = measure(command, log, environment=release.environment, server_seconds=plane.server_seconds)
    seconds, peak = (float(str(run.facts[name])) for name in ("seconds", "peak_mib"))
    yield Sample(release.version, "upgrade", "ours", number, seconds, run.client_cpu, run.server_cpu, peak, run.facts)


def main(kubeconfig: str, variables: str) -> None:
    """Install what these variables choose, and time both."""
    progress = to_stderr()
    given = json.loads(Path(variables).read_bytes())
    # The control plane has no programs of Volcano, whose default queue a roll-out waits for.
    settings = parse(given | {"kubeflow_exclude": [VOLCANO.name]})
    scope = scope_of(settings)
    cluster = Cluster.connect(Path(kubeconfig))
    for obj in _storage():
        cluster.create(obj)
    problems = roll_out(cluster, settings, scope, check=False, progress=progress).problems
    assert not problems, problems

    def again() -> None:
        done = roll_out(cluster, settings, scope, check=False, progress=progress, texts=False)
        assert not done.changed, done.summary()

    def upgrade() -> None:
        document = preview(cluster, replace(settings, prune=True), check=False, progress=progress)
        assert not document["needed"], document["changes"]

    pairs = [(_seconds(again), _seconds(upgrade)) for _ in range(_PAIRS)]
    facts = {
        "seconds": statistics.median(second for _, second in pairs),
        "rerun": statistics.median(first for first, _ in pairs),
        "upgrade_share": statistics.median(second / first for first, second in pairs),
        "peak_mib": peak_mib(),
    }
    sys.stdout.write(json.dumps(facts) + "\n")


def _seconds(work: Callable[[], None]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def _storage() -> Iterator[Object]:
    """A default StorageClass, and volumes for it."""
    meta = {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    yield {**kind, "metadata": meta, "provisioner": "kubernetes.io/no-provisioner"}
    for number in range(_VOLUMES):
        spec = {
            "storageClassName": "standard",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "50Gi"},
            "hostPath": {"path": "/none"},
        }
        meta = {"name": f"standard-{number}"}
        yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec}


if __name__ == "__main__":
    main(*sys.argv[1:])
