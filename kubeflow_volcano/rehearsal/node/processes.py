"""Who lives in a node, read from the kernel, and how they end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup

__all__ = ["end_processes", "first_process", "host_numbers"]

_END_SECONDS = 20.0
_LOOK_SECONDS = 0.02
_NODE_DEPTH = 3  # the word NSpid:, the number here, the number in the node


def first_process(cgroup: NodeCgroup) -> int:
    """The id of the process that is number 1 of the node's own process namespace, or 0."""
    return host_numbers(cgroup).get(1, 0)


def host_numbers(cgroup: NodeCgroup) -> dict[int, int]:
    """The ids that this machine gives to processes of the node, by the ids that the node itself gives them."""
    found: dict[int, int] = {}
    for pid in cgroup.processes():
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                # Containers in the node are one namespace deeper: they have three numbers.
                if line.startswith("NSpid:") and len(line.split()) == _NODE_DEPTH:
                    found[int(line.split()[2])] = pid
    return found


def end_processes(cgroup: NodeCgroup) -> None:
    """Kill process 1, with which the kernel kills its namespace, then what else is in the control groups.

    Raises:
        ProblemsError: some did not end; names them.
    """
    deadline = time.monotonic() + _END_SECONDS
    first = first_process(cgroup)
    targets = frozenset({first}) if first else cgroup.processes()
    while targets:
        for pid in targets:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_SECONDS)
        targets = cgroup.processes()
        if targets and time.monotonic() > deadline:
            raise ProblemsError(
                Problem(
                    f"processes {', '.join(map(str, sorted(targets)))} of control group {cgroup.name} do not end.",
                    "a node whose processes are gone.",
                    "see what they wait for (`cat /proc/PID/stack`); a hanging disk or network file system does this.",
                )
            )
