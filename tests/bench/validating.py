"""The stage of validation: a large cluster is judged, against a bare listing of what is read for it."""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from tests.bench.claims import Sample
from tests.bench.crowd import Crowd
from tests.bench.measure import Run, measure
from tests.bench.plane import Plane
from tests.bench.releases import Release

_VOLCANO = "volcano-1.12.2.yaml.gz"


def validations(
    release: Release,
    programs: Mapping[str, Path],
    archives: Path,
    directory: Path,
    crowd: Crowd,
    *,
    rounds: int,
    progress: Progress,
) -> Iterator[Sample]:
    """All rounds on one control plane that has the release, Volcano and the crowd, and a judgement to warm up.

    The stage of another crowd than the usual one is `validate-large`, for which other claims hold.
    """
    stage = "validate" if crowd == Crowd() else "validate-large"
    with Plane(programs, directory / "large", (*release.namespaces, "volcano-system"), crowded=True) as plane:
        progress(f"{release.version}: creating {crowd.nodes:,} nodes and {crowd.pods:,} pods")
        _install(release, archives, plane, crowd)
        listed = directory / "listed.json"
        commands = {
            "ours": ["tests.bench.judging", str(plane.kubeconfig), release.version, str(listed)],
            "listing": ["tests.bench.listing", str(plane.kubeconfig), str(listed)],
        }
        for number in range(-1, rounds):
            for contestant in sorted(commands, reverse=number % 2 == 1):
                plane.settle()
                command = [sys.executable, "-m", *commands[contestant]]
                log = plane.directory / f"{contestant}.log"
                run = measure(command, log, environment=release.environment, server_seconds=plane.server_seconds)
                _require_whole(run, contestant, crowd)
                seconds, cpu, peak = (float(str(run.facts[name])) for name in ("seconds", "cpu", "peak_mib"))
                progress(f"{release.version}, round {number + 1}: {contestant}, validate: {seconds:.2f} s")
                if number >= 0:
                    yield Sample(
                        release.version, stage, contestant, number, seconds, cpu, run.server_cpu, peak, run.facts
                    )


def _install(release: Release, archives: Path, plane: Plane, crowd: Crowd) -> None:
    """Kubeflow and Volcano; and the crowd before Volcano's webhooks, which would have to see every pod of it."""
    ours = [sys.executable, "-m", "tests.bench.ours", str(plane.kubeconfig), str(release.variables)]
    measure(ours, plane.directory / "install.log", environment=release.environment)
    cluster = Cluster.connect(plane.kubeconfig)
    volcano = foreign.parse(gzip.decompress((archives / _VOLCANO).read_bytes()), _VOLCANO)
    definitions = [obj for obj in volcano if obj["kind"] == "CustomResourceDefinition"]
    for obj in definitions:
        cluster.apply(obj, manager="bench")
    while "PodGroup" not in cluster.kinds("scheduling.volcano.sh/v1beta1"):
        time.sleep(0.2)
    crowd.fill(cluster, plane.store)
    for obj in volcano:
        if obj not in definitions:
            cluster.apply(obj, manager="bench")


def _require_whole(run: Run, contestant: str, crowd: Crowd) -> None:
    """A judgement of less than everything would be fast for the wrong reason."""
    seen = run.facts["objects"]
    if contestant == "ours" and isinstance(seen, dict) and seen.get("pods", 0) < crowd.pods:
        raise ProblemsError(Problem(f"of the crowd only {seen} was read.", "all of it.", "read the run's log."))
