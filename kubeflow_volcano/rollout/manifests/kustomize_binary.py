"""The kustomize that builds a release: the one of the inventory, the cached one, or a download with a known sum."""

from __future__ import annotations

import platform
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

from kubeflow_volcano.catalog.kustomize import RELEASES, KustomizeRelease, kustomize_release
from kubeflow_volcano.catalog.model import Release, version_key
from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.programs import ProgramError, run_program
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.retries import naming_full_disks
from kubeflow_volcano.rollout.bundle.reading import Bundle
from kubeflow_volcano.rollout.manifests.downloads import fetch, mirrored
from kubeflow_volcano.rollout.manifests.pruning import mark_used
from kubeflow_volcano.rollout.manifests.trees import file_sum
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["ARCHITECTURES", "Provided", "asset", "carried_name", "provide", "version_of"]

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""uname's names to Go's."""
_VERSION_SECONDS = 60
_VERSION = re.compile(r"(\d+)\.\d+\.\d+")


class Provided(NamedTuple):
    """Where the program is, whether it was written now, and which version it says that it is."""

    path: Path
    changed: bool
    version: str


def provide(settings: Settings, progress: Progress) -> Provided:
    """A kustomize for this machine.

    Raises:
        InvalidInput: the named one is not there or is of an older major version than the release's, no sum is known, or
            no address serves the file of that sum.
    """
    if settings.own_kustomize:
        _see_that_it_fits(settings.kustomize, _said(settings.kustomize), settings.release)
        return Provided(settings.kustomize, changed=False, version=version_of(settings.kustomize))
    changed = _cached(settings.kustomize, settings, progress)
    mark_used(settings.kustomize.parent)
    return Provided(settings.kustomize, changed, version_of(settings.kustomize))


def version_of(place: Path) -> str:
    """The version that the program says, such as 5.8.1; without a number what it says, such as (devel).

    Raises:
        InvalidInput: it cannot be run.
    """
    said = _said(place)
    version = _VERSION.search(said)
    return version[0] if version else said[:80]


def _cached(place: Path, settings: Settings, progress: Progress) -> bool:
    """Make sure of the program at `place`; whether it had to be put there."""
    if _is_whole(place):
        return False
    release = kustomize_release(settings.kustomize_version)
    machine = platform.machine()
    architecture = ARCHITECTURES.get(machine, machine)
    if architecture not in release.sums:
        raise InvalidInput(_no_sum(release, architecture))
    file = _carried(release, architecture, settings) or asset(release, architecture, settings, progress)
    with naming_full_disks(place.parent):
        _keep(_program(file, release), place)
    return True


def asset(release: KustomizeRelease, architecture: str, settings: Settings, progress: Progress) -> Path:
    """What upstream publishes for an architecture whose sum is known, from the cache or an address.

    Raises:
        InvalidInput: no address serves the file of that sum.
    """
    if architecture in release.single:
        progress(f"the sum of kustomize {release.version} for {architecture} is known from one place only")
    path = release.path(architecture)
    bases = (RELEASES, *settings.kustomize_mirrors)
    addresses = [f"{base.rstrip('/')}/{path}" for base in bases]
    addresses += mirrored(addresses[0], settings.mirror.preset)[1:]
    try:
        return fetch(addresses, release.sums[architecture], settings.cache_directory / "downloads", progress)
    except InvalidInput as error:
        raise InvalidInput([*error.problems, _another_way(release)]) from error


def carried_name(release: KustomizeRelease, architecture: str) -> str:
    """The source of that asset, as a bundle names it."""
    return f"{RELEASES}/{release.path(architecture)}#sha256={release.sums[architecture]}"


def _carried(release: KustomizeRelease, architecture: str, settings: Settings) -> Path | None:
    """The asset in the inventory's bundle; None without a bundle."""
    directory = settings.bundle.directory
    if directory is None:
        return None
    found = Bundle.open(directory).file(carried_name(release, architecture))
    if found is None:
        raise InvalidInput(
            Problem(
                f"kustomize {release.version} for {architecture} is not in the bundle {directory}.",
                "a bundle made with this inventory, for this architecture.",
                f"add {architecture} to plan_architectures, run playbooks/bundle.yml again where the bundle was made, "
                "and carry the result; or set kustomize_binary.",
            )
        )
    return found


def _said(place: Path) -> str:
    """The output of `kustomize version`."""
    try:
        done = run_program(place, "version", seconds=_VERSION_SECONDS)
        why = f"{place} version: {done.complaint}" if done.code else ""
    except ProgramError as error:
        why = str(error)
    if why:
        raise InvalidInput(
            Problem(
                f"{why}.",
                "a kustomize for this machine.",
                "correct kustomize_binary, or set kustomize_cache_directory to a directory without noexec.",
            )
        )
    return done.output.strip()


def _see_that_it_fits(place: Path, said: str, release: Release) -> None:
    """A build without a version ("(devel)", "unknown") is accepted; a program that is no kustomize prints neither."""
    version = _VERSION.search(said)
    if not version and re.search("devel|unknown", said):
        return
    needed = release.kustomize_version
    if not version or int(version[1]) < version_key(needed)[0]:
        raise InvalidInput(
            Problem(
                f"`{place} version` prints {said[:80] or 'nothing'}.",
                f"kustomize {needed}, which builds Kubeflow {release.version}, or another of that major version.",
                "correct kustomize_binary, or remove it.",
            )
        )


def _record(place: Path) -> Path:
    return place.with_name("kustomize.sha256")


def _is_whole(place: Path) -> bool:
    return place.is_file() and _record(place).is_file() and _record(place).read_text("ascii") == file_sum(place)


def _program(asset: Path, release: KustomizeRelease) -> bytes:
    if not release.packed:
        return asset.read_bytes()
    with tarfile.open(asset) as archive:
        member = archive.extractfile("kustomize")
        if member is None:
            raise InvalidInput(Problem(f"no program in {asset}.", "a kustomize.", "set kustomize_binary."))
        return member.read()


def _keep(program: bytes, place: Path) -> None:
    """Write the program first and its sum last: after an interruption the sum is that of the old one, or missing."""
    write_file(place, program, 0o755)
    write_file(_record(place), file_sum(place))


def _no_sum(release: KustomizeRelease, architecture: str) -> Problem:
    why = release.absent.get(architecture, "upstream publishes none that is known here")
    return Problem(
        f"no kustomize {release.version} for {architecture}: {why}.",
        f"one that is published for {', '.join(release.sums)}, or another version.",
        "set kustomize_binary to a kustomize for this machine that you trust, "
        "or kustomize_version to one that is published for it.",
    )


def _another_way(release: KustomizeRelease) -> Problem:
    return Problem(
        f"no kustomize {release.version} in the cache, nor from any address.",
        "that kustomize, which builds the manifests.",
        "set kustomize_binary to the path of a kustomize on this machine, or kustomize_mirrors to addresses that "
        "serve upstream's files.",
    )
