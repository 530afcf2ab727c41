"""`up` completes a cluster from any state; `down` removes everything of it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.images import ensure_images
from kubeflow_volcano.rehearsal.build.tools import ensure_tools, tools_to_build
from kubeflow_volcano.rehearsal.cluster.converge import Journal, converge
from kubeflow_volcano.rehearsal.host.facts import look_at_host, look_closely
from kubeflow_volcano.rehearsal.host.preflight import check_basics, check_earlier, check_host
from kubeflow_volcano.rehearsal.inside.boot import mounts_below
from kubeflow_volcano.rehearsal.lock import hold_lock
from kubeflow_volcano.rehearsal.node import network
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec, State

_LOCK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class UpResult:
    """A running cluster.

    `changes` says what was done; `seconds` is the time until each milestone, from the moment the tools were ready.
    """

    kubeconfig: Path
    api_server: str
    changes: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def changed(self) -> bool:
        """Whether `up` changed anything."""
        return bool(self.changes)


@dataclass(frozen=True, slots=True)
class DownResult:
    """`changed`: something was removed. `left`: what could not be removed."""

    changed: bool
    left: tuple[str, ...]


def up(spec: RehearsalSpec, progress: Progress = silent) -> UpResult:
    """Create the cluster, or change a running one to match `spec`; a cluster that matches is left alone.

    Raises:
        InvalidInput: the specification or the host cannot be used; nothing was changed.
        Busy: another process is changing this cluster.
        ProblemsError: a step failed; the next `up` continues from there.
    """
    spec.validate()
    generation = load_generation(spec.generation, extras=spec.extras)
    check_basics(look_at_host())
    paths = ClusterPaths.of(spec.name)
    if NodeCgroup(read_layout(), paths.cgroup).first_process():
        check_earlier(look_at_host(), spec, State.load(paths.state))
    else:
        check_host(look_closely(paths, tools_to_build(generation)), spec, State.load(paths.state), paths.identity)
    tools = ensure_tools(generation, progress=progress)
    store = ensure_images(tools, progress=progress)
    journal = Journal(progress)  # its clock starts when the tools are ready
    with hold_lock(paths.lock, progress, _LOCK_SECONDS):
        node = converge(spec, paths, tools, store.home, journal)
    return UpResult(paths.kubeconfig, node.facts.api_server, tuple(journal.changes), journal.seconds)


def down(name: str, progress: Progress = silent) -> DownResult:
    """Remove the cluster called `name`: processes, mounts, control groups, veth pair, route, directory. Then verify.

    Raises:
        Busy: another process is changing this cluster.
    """
    RehearsalSpec(name=name).validate()
    check_basics(look_at_host())
    paths = ClusterPaths.of(name)
    with hold_lock(paths.lock, progress, _LOCK_SECONDS):
        cgroup = NodeCgroup(read_layout(), paths.cgroup)
        if not find_leftovers(paths, cgroup):
            return DownResult(changed=False, left=())
        progress(f"removing the rehearsal cluster {name}")
        _remove(paths, cgroup)
        left = find_leftovers(paths, cgroup)
    progress(f"left: {', '.join(left)}" if left else "nothing is left")
    return DownResult(changed=True, left=left)


def _remove(paths: ClusterPaths, cgroup: NodeCgroup) -> None:
    with suppress(ProblemsError):
        cgroup.kill()
    network.remove(paths.interface, paths.identity)
    cgroup.remove()
    if mounts_below(paths.home):  # deleting through a mount would delete files that are not this cluster's
        return
    # Renamed first, so that an interrupted removal leaves no half directory to a later `up`.
    shutil.rmtree(paths.removed, ignore_errors=True)
    with suppress(FileNotFoundError):
        paths.home.rename(paths.removed)
    shutil.rmtree(paths.removed, ignore_errors=True)


def find_leftovers(paths: ClusterPaths, cgroup: NodeCgroup) -> tuple[str, ...]:
    """Everything on this host that belongs to the cluster, as text for people."""
    return (
        *(f"process {pid}" for pid in sorted(cgroup.processes())),
        *(f"control group {directory}" for directory in cgroup.removable if directory.exists()),
        *network.find_leftovers(paths.interface, paths.identity),
        *(f"mount {point}" for point in mounts_below(paths.home)),
        *(f"directory {directory}" for directory in (paths.home, paths.removed) if directory.exists()),
    )
