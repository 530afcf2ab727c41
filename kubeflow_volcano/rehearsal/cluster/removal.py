"""What a cluster leaves on a host, and how it is removed."""

from __future__ import annotations

import shutil
from contextlib import suppress

from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rehearsal.inside.mounts import mounts_below
from kubeflow_volcano.rehearsal.node import network
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup
from kubeflow_volcano.rehearsal.node.processes import end_processes
from kubeflow_volcano.rehearsal.spec import ClusterPaths

__all__ = ["leftovers", "remove"]

_CGROUP_SECONDS = 20.0


def remove(paths: ClusterPaths, cgroup: NodeCgroup) -> None:
    """Remove processes, cable, route, control groups and the directory; what resists stays, see `leftovers`."""
    with suppress(ProblemsError):
        end_processes(cgroup)
    network.remove(paths.interface, paths.identity)
    cgroup.remove(_CGROUP_SECONDS)
    if not mounts_below(paths.home):  # a directory with mounts in it is not ours alone to delete
        _remove_directory(paths)


def _remove_directory(paths: ClusterPaths) -> None:
    """Remove the cluster's directory; when this is interrupted, no later `up` finds half of it."""
    shutil.rmtree(paths.removed, ignore_errors=True)
    with suppress(FileNotFoundError):
        paths.home.rename(paths.removed)
    shutil.rmtree(paths.removed, ignore_errors=True)


def leftovers(paths: ClusterPaths, cgroup: NodeCgroup) -> tuple[str, ...]:
    """Everything on this host that belongs to the cluster, as a person would name it."""
    return (
        *(f"process {pid}" for pid in sorted(cgroup.processes())),
        *(f"control group {directory}" for directory in cgroup.removable if directory.exists()),
        *network.traces(paths.interface, paths.identity),
        *(f"mount {point}" for point in mounts_below(paths.home)),
        *(f"directory {directory}" for directory in (paths.home, paths.removed) if directory.exists()),
    )
