"""The built files of a release, as a user has them: installed in an empty directory, and tried on a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.validators.report.summary import counts

_COLLECTION = "kubeflow_volcano.platform"
_INVENTORY = "collections/ansible_collections/kubeflow_volcano/platform/inventory"


class Place:
    """An empty directory with an environment of Python and the collection; nothing of a checkout is found from it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._programs = directory / "environment" / "bin"

    def run(self, program: str, *words: str | Path) -> str:
        """What a program of the environment prints.

        Raises:
            ProblemsError: it failed.
        """
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "PYTHON"))}
        environment |= {
            "ANSIBLE_COLLECTIONS_PATH": str(self.directory / "collections"),
            "NO_COLOR": "1",
            "PATH": f"{self._programs}{os.pathsep}{environment['PATH']}",
        }
        command: Sequence[str | Path] = [self._programs / program, *words]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=self.directory,
            env=environment,
        )
        if done.returncode:
            said = "\n".join(done.stdout.splitlines()[-40:])
            raise ProblemsError(
                Problem(
                    f"{program} {' '.join(map(str, words))} ended with {done.returncode}:\n{said}",
                    "that the built files work where nothing else is installed.",
                    "mend what failed; nothing was committed or tagged.",
                )
            )
        return done.stdout

    def play(self, inventory: str | Path, *names: str, **variables: str) -> str:
        """What playbooks of the collection print."""
        given = ["-e", json.dumps(variables)] if variables else []
        return self.run("ansible-playbook", "-i", inventory, *given, *(f"{_COLLECTION}.{name}" for name in names))


def installed(files: Sequence[Path], lock: Path, directory: Path, version: str) -> Place:
    """The wheel with the locked libraries, and the collection, in a directory that is empty.

    Args:
        files: the wheel and the collection.
        lock: what the wheel requires, with sums.
        directory: the directory.
        version: the version that both have to have.

    Raises:
        ProblemsError: they cannot be installed, or have another version.
    """
    wheel, collection = files[:2]
    place = Place(directory)
    venv.EnvBuilder(with_pip=True, symlinks=True).create(directory / "environment")
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    place.run("python", *pip, "install", "--require-hashes", "-r", lock)
    place.run("python", *pip, "install", "--no-deps", wheel)
    place.run("python", *pip, "check")
    place.run("ansible-galaxy", "collection", "install", "--offline", "-p", directory / "collections", collection)
    said = place.run("kubeflow-volcano", "--version").split()[-1]
    listed = place.run("ansible-galaxy", "collection", "list", _COLLECTION)
    if said != version or version not in listed.split():
        raise ProblemsError(
            Problem(f"the wheel has version {said}; {' '.join(listed.split())}.", version, "look at versions.py.")
        )
    return place


def try_out(place: Place, name: str, kubeconfig: Path | None, progress: Callable[[str], None]) -> str:
    """Install on a cluster and validate it; returns the verdict in a line.

    Args:
        place: what `installed` returned.
        name: of the rehearsal cluster that is made for it, and removed.
        kubeconfig: a cluster that is there already, and has an installation, in place of it.
        progress: gets a line for each step.

    Raises:
        ProblemsError: a step failed, or the verdict is not PASS.
    """
    if kubeconfig:
        progress(f"validates the cluster of {kubeconfig}")
        place.play("localhost,", "validate", kubeflow_kubeconfig=str(kubeconfig.resolve()))
        return verdict_in(place.directory)
    inventory = Path(_INVENTORY, "rehearsal")
    try:
        progress(f"brings the rehearsal cluster {name} up, installs on it, and validates it")
        place.play(inventory, "rehearsal", "install", "validate", rehearsal_cluster_name=name)
        return verdict_in(place.directory)
    finally:
        progress(f"removes the rehearsal cluster {name}")
        place.play(inventory, "rehearsal", rehearsal_cluster_name=name, rehearsal_cluster_state="absent")


def verdict_in(directory: Path) -> str:
    """The verdict of the one report below a directory, in a line.

    Raises:
        ProblemsError: it is not PASS.
    """
    (path,) = directory.glob("**/reports/latest.json")
    summary = json.loads(path.read_text("utf-8"))["summary"]
    line = f"{summary['verdict'].upper()}: {counts(summary)}"
    if summary["verdict"] != "pass":
        raise ProblemsError(Problem(f"{line}.", "PASS.", f"read {path.with_suffix('.md')}."))
    return line
