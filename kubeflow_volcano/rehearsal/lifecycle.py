"""`up`, `down`: from whatever is there to a whole cluster, or to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.images import ensure_images
from kubeflow_volcano.rehearsal.build.tools import ensure_tools, tools_to_make
from kubeflow_volcano.rehearsal.cluster.converge import Journal, converge
from kubeflow_volcano.rehearsal.cluster.removal import leftovers, remove
from kubeflow_volcano.rehearsal.host.facts import look_at_host, look_closely
from kubeflow_volcano.rehearsal.host.preflight import check_basics, check_earlier, check_host
from kubeflow_volcano.rehearsal.lock import held
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.node.processes import first_process
from kubeflow_volcano.rehearsal.node.state import State
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec

__all__ = ["DownResult", "UpResult", "down", "up"]

_LOCK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class UpResult:
    """A running cluster. `changes` says what was done; `seconds` when what was ready, counted without the tools."""

    kubeconfig: Path
    api_server: str
    changes: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def changed(self) -> bool:
        """Whether anything had to be done."""
        return bool(self.changes)


@dataclass(frozen=True, slots=True)
class DownResult:
    """`changed`: there was something to remove. `left`: what could not be removed."""

    changed: bool
    left: tuple[str, ...]


def up(spec: RehearsalSpec, progress: Progress = silent) -> UpResult:
    """Bring the cluster up, or what runs of it to what `spec` asks for; nothing is done to one that is as it should be.

    Raises:
        InvalidInput: the specification or the host can't be used; nothing was changed.
        Busy: another process is changing this cluster.
        ProblemsError: a step failed; what is there stays, and the next `up` goes on from it.
    """
    spec.check()
    generation = load_generation(spec.generation, extras=spec.extras)
    check_basics(look_at_host())
    paths = ClusterPaths.of(spec.name)
    if first_process(NodeCgroup(read_layout(), paths.cgroup)):
        check_earlier(look_at_host(), spec, State.load(paths.state))
    else:
        check_host(look_closely(paths, tools_to_make(generation)), spec, State.load(paths.state), paths.identity)
    tools = ensure_tools(generation, progress=progress)
    store = ensure_images(tools, progress=progress)
    journal = Journal(progress)  # its clock starts when the tools are there
    with held(paths.lock, progress, _LOCK_SECONDS):
        node = converge(spec, paths, tools, store.home, journal)
    return UpResult(paths.kubeconfig, node.facts.api_server, tuple(journal.changes), journal.seconds)


def down(name: str, progress: Progress = silent) -> DownResult:
    """Remove the cluster called `name`: processes, mounts, control groups, cable, route, directory; then look again.

    Raises:
        Busy: another process is changing this cluster.
    """
    RehearsalSpec(name=name).check()
    check_basics(look_at_host())
    paths = ClusterPaths.of(name)
    with held(paths.lock, progress, _LOCK_SECONDS):
        cgroup = NodeCgroup(read_layout(), paths.cgroup)
        before = leftovers(paths, cgroup)
        if not before:
            return DownResult(changed=False, left=())
        progress(f"removing the rehearsal cluster {name}")
        remove(paths, cgroup)
        left = leftovers(paths, cgroup)
    progress("nothing is left" if not left else f"left: {', '.join(left)}")
    return DownResult(changed=True, left=left)
