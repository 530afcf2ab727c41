"""The stages that need no cluster: rendering everything anew, and the plan with a warm cache."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from kubeflow_volcano.progress import Progress
from tests.bench.claims import Sample
from tests.bench.measure import Run, measure
from tests.bench.releases import Release
from tests.places import ROOT

_HOSTS = "localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}\n"


class Offline:
    """Both stages for one release, with a cache of their own below `directory`."""

    def __init__(
        self, release: Release, programs: Mapping[str, Path], archives: Path, directory: Path, progress: Progress
    ) -> None:
        self._release = release
        self._kustomize = programs["kustomize"]
        self._directory = directory
        self._progress = progress
        self._environment = {**release.environment, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
        (directory / "plan.json").write_text(json.dumps(_plan_variables(archives, directory)))
        (directory / "hosts").write_text(_HOSTS)

    def render(self, number: int) -> Iterator[Sample]:
        """One round: all components of the example from unpacked sources, and upstream's one build."""
        program = [sys.executable, "-m", "tests.bench.rendering", str(self._release.variables)]
        renders = self._directory / "cache" / "kubeflow-volcano" / "renders"
        commands = {"ours": program, "kustomize": [str(self._kustomize), "build", str(self._release.example)]}
        for contestant in sorted(commands, reverse=bool(number % 2)):
            shutil.rmtree(renders, ignore_errors=True)
            yield self._sample("render", contestant, number, self._run(commands[contestant], contestant))

    def plan(self, number: int) -> Iterator[Sample]:
        """One round: the whole playbook; before the first, once to warm the cache."""
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", f"{self._directory}/hosts"]
        command += ["-e", f"@{self._release.variables}", "-e", f"@{self._directory}/plan.json"]
        command.append(str(ROOT / "playbooks" / "plan.yml"))
        if number == 0:
            self._run(command, "warm-up")
        yield self._sample("plan", "ours", number, self._run(command, "plan"))

    def _run(self, command: list[str], name: str) -> Run:
        return measure(command, self._directory / f"{name}.log", environment=self._environment)

    def _sample(self, stage: str, contestant: str, number: int, run: Run) -> Sample:
        seconds = float(str(run.facts.get("seconds", run.wall)))
        version = self._release.version
        self._progress(f"{version}, round {number + 1}: {contestant}, {stage}: {seconds:.2f} s")
        return Sample(version, stage, contestant, number, seconds, run.client_cpu, 0.0, 0.0, run.facts)


def _plan_variables(archives: Path, directory: Path) -> dict[str, str]:
    """The plan is that of the whole: with Volcano and with storage."""
    return {
        "gang_scheduling_scheduler": "volcano",
        "volcano_version": "1.12.2",
        "volcano_source": str(archives / "volcano-1.12.2.yaml.gz"),
        "local_path_storage_mode": "local_path",
        "local_path_version": "0.0.37",
        "local_path_source": str(archives / "local-path-storage-0.0.37.yaml"),
        "plan_directory": str(directory / "plan"),
    }
