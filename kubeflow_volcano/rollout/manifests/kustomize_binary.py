"""The kustomize that builds a release: the one of the inventory, or the one whose sum the catalog has.

The catalog's sum is that of the file that upstream publishes, so that is kept beside the program, and the program is
compared with its content before it is run: wherever it came from, a bundle, a mirror, or an earlier run.
"""

from __future__ import annotations

import hashlib
import io
import platform
import re
import tarfile
from pathlib import Path
from typing import IO, NamedTuple, cast

from kubeflow_volcano.catalog.kustomize import RELEASES, KustomizeRelease, kustomize_release
from kubeflow_volcano.catalog.model import Release, version_key
from kubeflow_volcano.directories import require_private
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

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""uname's names to Go's."""
_VERSION_SECONDS = 60
_VERSION = re.compile(r"(\d+)\.\d+\.\d+")


class UnknownProgramError(InvalidInput):
    """The program is not the one that the inventory or the catalog names."""


class Provided(NamedTuple):
    """Where the program is, whether it was written now, and which version it says that it is."""

    path: Path
    changed: bool
    version: str


def provide(settings: Settings, progress: Progress) -> Provided:
    """A kustomize for this machine.

    Raises:
        InvalidInput: the named one is not there, has another sum or is of an older major version than the release's, no
            sum is known, no address serves the file of that sum, or others may change the place where it is kept.
    """
    place = settings.kustomize
    if settings.own_kustomize:
        require_known(settings)
        if not settings.kustomize_sum:
            progress(f"{place} has no sum in kustomize_binary, and is run as it is")
        said = _said(place)
        _require_release(place, said, settings.release)
        return Provided(place, changed=False, version=_version_in(said))
    require_private(place.parent)
    release = kustomize_release(settings.kustomize_version)
    changed = _cached(place, release, settings, progress)
    mark_used(place.parent)
    return Provided(place, changed, _version_in(_said(place)))


def require_known(settings: Settings) -> None:
    """See before it is run that the program is the one that the inventory or the catalog names.

    Raises:
        UnknownProgramError: it is another one.
        InvalidInput: others may change the place where it is kept.
    """
    place = settings.kustomize
    if settings.own_kustomize:
        if settings.kustomize_sum and place.is_file() and (actual := file_sum(place)) != settings.kustomize_sum:
            raise UnknownProgramError.problem(
                f"{place} has sha256 {actual}.",
                f"sha256 {settings.kustomize_sum}, as kustomize_binary says.",
                "put that program there, or correct kustomize_binary.",
            )
        return
    require_private(place.parent)
    release = kustomize_release(settings.kustomize_version)
    program = _kept(place, release)
    if program is None or place.read_bytes() != program:
        raise UnknownProgramError.problem(
            f"{place} is not kustomize {release.version} as upstream publishes it.",
            "the program whose sum the catalog has: no other one is run.",
            "run playbooks/plan.yml or playbooks/install.yml, which put it there again.",
        )


def version_of(settings: Settings) -> str:
    """The version of the program, such as 5.8.1; what the named one says, such as (devel), if that is no version.

    Raises:
        InvalidInput: the named one is not the one that it must be, or cannot be run.
    """
    if not settings.own_kustomize:
        return settings.kustomize_version
    require_known(settings)
    return _version_in(_said(settings.kustomize))


def _version_in(said: str) -> str:
    version = _VERSION.search(said)
    return version[0] if version else said[:80]


def _cached(place: Path, release: KustomizeRelease, settings: Settings, progress: Progress) -> bool:
    """Make sure of the program at `place`; whether it had to be put there."""
    program = _kept(place, release)
    with naming_full_disks(place.parent):
        if program is None:
            architecture = _architecture(release)
            file = _carried(release, architecture, settings) or asset(release, architecture, settings, progress)
            published = file.read_bytes()  # once, so that what was verified is what is used
            program = _verified(published, release, file)
            write_file(_published(place, release), published, 0o644)
        return write_file(place, program, 0o755)


def _architecture(release: KustomizeRelease) -> str:
    """That of this machine; raises InvalidInput if no sum of its file is known."""
    machine = platform.machine()
    architecture = ARCHITECTURES.get(machine, machine)
    if architecture not in release.sums:
        raise InvalidInput(_no_sum(release, architecture))
    return architecture


def _published(place: Path, release: KustomizeRelease) -> Path:
    """Where the file that upstream publishes is kept."""
    return place.with_name(f"published-{release.path(_architecture(release)).rpartition('/')[2]}")


def _kept(place: Path, release: KustomizeRelease) -> bytes | None:
    """The program in the file of upstream beside it; None if that is not there, or has another sum."""
    file = _published(place, release)
    try:
        return _verified(file.read_bytes(), release, file)
    except (OSError, InvalidInput):
        return None


def _verified(published: bytes, release: KustomizeRelease, origin: Path) -> bytes:
    """The program in a file of upstream whose sum is the catalog's; raises InvalidInput for any other file."""
    wanted = release.sums[_architecture(release)]
    if (actual := hashlib.sha256(published).hexdigest()) != wanted:
        raise InvalidInput.problem(
            f"{origin} has sha256 {actual}.",
            f"kustomize {release.version} as upstream publishes it, with sha256 {wanted}.",
            "use the file as it was published; do not use this one if you do not know who changed it.",
        )
    if not release.packed:
        return published
    with tarfile.open(fileobj=io.BytesIO(published)) as archive:
        return cast("IO[bytes]", archive.extractfile("kustomize")).read()


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
    carried = Bundle.open(directory).file(carried_name(release, architecture))
    if carried is None:
        raise InvalidInput.problem(
            f"kustomize {release.version} for {architecture} is not in the bundle {directory}.",
            "a bundle made with this inventory, for this architecture.",
            f"add {architecture} to plan_architectures, run playbooks/bundle.yml again where the bundle was made, "
            "and carry the result; or set kustomize_binary.",
        )
    return carried


def _said(place: Path) -> str:
    """The output of `kustomize version`."""
    try:
        done = run_program(place, "version", seconds=_VERSION_SECONDS)
        why = f"{place} version: {done.complaint}" if done.code else ""
    except ProgramError as error:
        why = str(error)
    if why:
        raise InvalidInput.problem(
            f"{why}.",
            "a kustomize for this machine.",
            "correct kustomize_binary, or set kustomize_cache_directory to a directory without noexec.",
        )
    return done.output.strip()


def _require_release(place: Path, said: str, release: Release) -> None:
    """A build without a version ("(devel)", "unknown") is accepted; a program that is no kustomize prints neither."""
    version = _VERSION.search(said)
    if not version and re.search("devel|unknown", said):
        return
    needed = release.kustomize_version
    if not version or int(version[1]) < version_key(needed)[0]:
        raise InvalidInput.problem(
            f"`{place} version` prints {said[:80] or 'nothing'}.",
            f"kustomize {needed}, which builds Kubeflow {release.version}, or another of that major version.",
            "correct kustomize_binary, or remove it.",
        )


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
