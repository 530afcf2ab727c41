"""The stages that need a cluster: each contestant rolls out to an empty one, then again, then the drift is mended."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from tests.bench.claims import Sample
from tests.bench.drift import Drift
from tests.bench.measure import Run, measure
from tests.bench.plane import Plane
from tests.bench.releases import PLACEHOLDERS, Release

CONTESTANTS = ("ours", "replay", "upstream")
_APPLY = "apply --server-side --force-conflicts"  # upstream's own flags from 1.9 on
_LOOP = f"""
rounds=1
while ! {{kustomize}} build {{example}} | sed '{PLACEHOLDERS}' | {{kubectl}} {_APPLY} -f -; do
  rounds=$((rounds + 1)); sleep 10
done
echo '{{{{"rounds": '$rounds'}}}}'
"""


def roll_outs(
    release: Release, programs: Mapping[str, Path], directory: Path, number: int, progress: Progress
) -> Iterator[Sample]:
    """One round: every contestant on its own empty control plane; every other round in the opposite order."""
    for contestant in CONTESTANTS[:: -1 if number % 2 else 1]:
        with Plane(programs, directory / "plane", release.namespaces) as plane:
            commands = _commands(contestant, release, programs, plane.kubeconfig)
            for stage, command in zip(("empty", "again"), commands, strict=True):
                yield _sample(release, stage, contestant, number, command=command, plane=plane, progress=progress)
                plane.settle()
            if contestant == "ours":
                drift = Drift(plane.kubeconfig, release)
                yield _sample(release, "drift", contestant, number, command=commands[1], plane=plane, progress=progress)
                drift.require_mended()


def _commands(
    contestant: str, release: Release, programs: Mapping[str, Path], kubeconfig: Path
) -> tuple[Sequence[str], Sequence[str]]:
    """What a contestant runs at first, and again."""
    if contestant == "upstream":
        kubectl = f"{programs['kubectl']} --kubeconfig={kubeconfig} --cache-dir={kubeconfig.parent}/kubectl"
        names = {"kustomize": programs["kustomize"], "example": release.example, "kubectl": kubectl}
        again = f"{kubectl} {_APPLY} -f {release.yaml}"
        return ["sh", "-c", _LOOP.format(**names)], shlex.split(again)
    if contestant == "replay":
        command = [sys.executable, "-S", "-m", "tests.bench.replay", str(kubeconfig), str(release.json)]
    else:
        command = [sys.executable, "-m", "tests.bench.ours", str(kubeconfig), str(release.variables)]
    return command, command


def _sample(
    release: Release,
    stage: str,
    contestant: str,
    number: int,
    *,
    command: Sequence[str],
    plane: Plane,
    progress: Progress,
) -> Sample:
    progress(f"{release.version}, round {number + 1}: {contestant}, {stage}")
    log = plane.directory / f"{contestant}-{stage}.log"
    run = measure(command, log, environment=release.environment, server_seconds=plane.server_seconds)
    _require_success(run)
    figures = {"seconds": run.wall, "cpu": run.client_cpu, "peak_mib": 0.0} | run.facts
    seconds, cpu, peak = (float(str(figures[name])) for name in ("seconds", "cpu", "peak_mib"))
    progress(f"{release.version}, round {number + 1}: {contestant}, {stage}: {seconds:.2f} s")
    return Sample(release.version, stage, contestant, number, seconds, cpu, run.server_cpu, peak, run.facts)


def _require_success(run: Run) -> None:
    if problems := run.facts.get("problems"):
        raise ProblemsError(Problem(f"the roll-out failed: {problems}", "one that succeeds.", "remove the cause."))
