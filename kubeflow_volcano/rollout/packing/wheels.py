"""Wheels of what the machine that runs Ansible needs: the versions of the lock file, and this project's own wheel."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import kubeflow_volcano
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.programs import ProgramError, run_program
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.bundle.writing import Writer
from kubeflow_volcano.rollout.manifests.kustomize_binary import ARCHITECTURES

_SECONDS = 1800.0
_AT_ONCE = 8
"""Packages that one call of pip downloads: a line of progress for each call, and what was killed is little."""
_MACHINES = {name: machine for machine, name in ARCHITECTURES.items()}
_GLIBC = ("_2_28", "_2_27", "_2_26", "_2_24", "_2_17", "2014", "_2_12", "2010", "_2_5", "1")
"""manylinux tags up to glibc 2.28, which every supported distribution has (openEuler 22.03: 2.34, RHEL 8: 2.28)."""
_LOCKED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
_LOCK = "requirements/run.txt"


def python_version() -> str:
    """The version of Python whose wheels are fetched: that of this process."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


class Wheels:
    """The wheels for one architecture each, below wheels/ARCHITECTURE.

    Raises:
        InvalidInput: this project does not run from a checkout, which has the lock file.
    """

    def __init__(self, writer: Writer, progress: Progress, scratch: Path) -> None:
        self._writer, self._progress, self._scratch = writer, progress, scratch
        self._checkout = Path(kubeflow_volcano.__file__).resolve().parents[1]
        self.lock = self._checkout / _LOCK
        if not (self.lock.is_file() and (self._checkout / "pyproject.toml").is_file()):
            raise InvalidInput.problem(
                f"no {_LOCK} in {self._checkout}, from where this project runs.",
                "a checkout, whose lock file says which packages belong together.",
                "make the bundle from a checkout, or take wheels out of bundle_contents and carry the collection, "
                "the wheel and what they require yourself (docs/collection.md).",
            )
        self._locked = _packages(self.lock.read_text("utf-8"))

    def present(self, architecture: str) -> dict[str, str]:
        """Path of each wheel of the lock file that is whole, by the name of its package."""
        wheels = {}
        for path, entry in self._writer.entries(f"wheels/{architecture}").items():
            name, _, version = entry.source.partition("==")
            pinned = self._locked.get(name, {}).get(version, "")
            if f"sha256:{entry.sha256}" in pinned and self._writer.is_whole(path, entry.source):
                wheels[name] = path
        return wheels

    def missing(self, present: Container[str]) -> list[str]:
        """Names of the packages whose wheel is not among those `present`."""
        return [name for name in self._locked if name not in present]

    def fetch(self, architecture: str, names: Sequence[str]) -> Iterator[str]:
        """Download these packages and list them; yields the path of each wheel.

        Raises:
            InvalidInput: pip could not download one.
        """
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            self._progress(f"wheels for {architecture}: {start + 1} to {start + len(some)} of {len(names)}")
            with tempfile.TemporaryDirectory(dir=self._scratch) as room:
                lines = "".join(text for name in some for text in self._locked[name].values())
                (Path(room) / "lock.txt").write_text(lines, "utf-8")
                for wheel in self._downloaded(architecture, Path(room)):
                    name, version, _ = wheel.name.split("-", 2)
                    path = f"wheels/{architecture}/{wheel.name}"
                    self._writer.put(path, f"{_normal(name)}=={version}", wheel)
                    yield path

    def own(self) -> Path:
        """This project's wheel, built from the checkout.

        Raises:
            InvalidInput: it cannot be built.
        """
        self._progress("building the wheel of this project")
        target = Path(tempfile.mkdtemp(dir=self._scratch))
        _pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", target, self._checkout)
        (wheel,) = target.glob("*.whl")
        return wheel

    def _downloaded(self, architecture: str, room: Path) -> list[Path]:
        machine = _MACHINES.get(architecture, architecture)
        platforms = [word for tag in _GLIBC for word in ("--platform", f"manylinux{tag}_{machine}")]
        _pip(
            *("download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", *platforms),
            *("--python-version", python_version(), "--implementation", "cp"),
            *("--requirement", room / "lock.txt", "--dest", room),
        )
        return sorted(room.glob("*.whl"))


def _packages(lock: str) -> dict[str, dict[str, str]]:
    """The lines of each package in a lock file, by name and version: one version applies to this Python."""
    starts = [match.start() for match in _LOCKED.finditer(lock)]
    packages: dict[str, dict[str, str]] = {}
    for start, end in zip(starts, [*starts[1:], len(lock)], strict=True):
        text = lock[start:end]
        if match := _LOCKED.match(text):
            packages.setdefault(_normal(match[1]), {})[match[2]] = text
    return packages


def _normal(name: str) -> str:
    """The name of a package in its normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *words]
    try:
        done = run_program(*command, seconds=_SECONDS)
        why = done.complaint if done.code else ""
    except ProgramError as error:
        why = str(error)
    if why:
        raise InvalidInput.problem(
            f"pip {words[0]} failed: {' '.join(why.split())[-600:]}.",
            f"wheels for Python {python_version()} from the index that pip is configured for.",
            "see whether this machine reaches that index (PIP_INDEX_URL), and run again: what is there stays.",
        )
