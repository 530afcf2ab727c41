"""python -m kubeflow_volcano.rehearsal up|down|status|exec|logs: the rehearsal cluster from the command line."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

from kubeflow_volcano.problems import Exit, ProblemsError
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.rehearsal.cluster.status import read_status, render
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.node.daemons import NODE_PATH
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from kubeflow_volcano.text import print_what_the_terminal_can, visible

_PROGRAM = "python -m kubeflow_volcano.rehearsal"


class _Terminated(BaseException):
    """SIGTERM arrived."""


def main(arguments: Sequence[str] | None = None, program: str = _PROGRAM) -> int:
    """Run one command; returns a code of `kubeflow_volcano.problems.Exit`, or that of the program of `exec`.

    Args:
        arguments: what follows the program's name; by default those of this process.
        program: how it was called, for usage, help and what to do after an interruption.
    """
    print_what_the_terminal_can()
    options = _parser(program).parse_args(arguments)
    former = signal.signal(signal.SIGTERM, _terminate)
    try:
        return _COMMANDS[options.command](options)
    except ProblemsError as error:
        sys.stderr.write(f"{error.describe()}\n")
        return error.exit_code
    except (KeyboardInterrupt, _Terminated) as error:
        sys.stderr.write(
            f"Interrupted. `{program} up --name {options.name}` continues from here, "
            f"`{program} down --name {options.name}` removes the cluster.\n"
        )
        return Exit.TERMINATED if isinstance(error, _Terminated) else Exit.INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, former)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated


def _parser(program: str) -> argparse.ArgumentParser:
    default = RehearsalSpec()
    parser = argparse.ArgumentParser(
        prog=program, description="Run a real Kubernetes on this machine: the rehearsal cluster."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, summary in (
        ("up", "create the cluster, or change it to match the options"),
        ("down", "remove the cluster and all that belongs to it"),
        ("status", "show what runs, which pods are real, and which webhooks the stub answers"),
        ("exec", "run a program inside the node"),
        ("logs", "print the log of a daemon of the node"),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument("--name", default=default.name, help="the cluster's name (default: %(default)s)")
        if name == "up":
            add = command.add_argument
            add("--gpu-nodes", type=int, default=default.gpu_nodes, help="simulated nodes (default: %(default)s)")
            add("--gpus-per-node", type=int, default=default.gpus_per_node, help="GPUs of each (default: %(default)s)")
            add("--generation", default=default.generation, help="set of versions (default: %(default)s)")
            add("--extra", action="append", default=[], help="optional programs of the generation; repeatable")
        elif name == "exec":
            command.add_argument("program", nargs=argparse.REMAINDER, help="the program and its arguments")
        elif name == "logs":
            command.add_argument("daemon", help="for example kubelet; `node` is the log of the node's start")
            command.add_argument("--lines", type=int, default=200, help="number of last lines (default: %(default)s)")
    return parser


def _up(options: argparse.Namespace) -> int:
    extras = tuple(options.extra)
    spec = RehearsalSpec(options.name, options.gpu_nodes, options.gpus_per_node, options.generation, extras)
    result = up(spec, to_stderr())
    sys.stdout.write(f"{'changed' if result.changed else 'unchanged'}: {result.api_server}\n")
    sys.stdout.write(f"export KUBECONFIG={result.kubeconfig}\n")
    return Exit.OK


def _down(options: argparse.Namespace) -> int:
    return Exit.LEFTOVERS if down(options.name, to_stderr()).left else Exit.OK


def _status(options: argparse.Namespace) -> int:
    status = read_status(options.name)
    sys.stdout.write(visible(render(status)))
    return Exit.OK if status.ready else Exit.INCOMPLETE


def _exec(options: argparse.Namespace) -> int:
    pid = NodeCgroup(read_layout(), ClusterPaths.of(options.name).cgroup).first_process()
    if not pid:
        sys.stderr.write(f"The cluster {options.name} is not running.\n")
        return Exit.INCOMPLETE
    program = [word for word in options.program if word != "--"] or ["sh"]
    enter = ["nsenter", f"--target={pid}", "--mount", "--net", "--pid", "--uts", "--ipc", "--root", "--wd", *program]
    return subprocess.run(enter, check=False, env=os.environ | {"PATH": NODE_PATH}).returncode


def _logs(options: argparse.Namespace) -> int:
    log = ClusterPaths.of(options.name).logs / f"{options.daemon}.log"
    if not log.is_file():
        known = ", ".join(sorted(path.stem for path in log.parent.glob("*.log"))) or "none"
        sys.stderr.write(f"There is no log {log}; existing logs: {known}.\n")
        return Exit.INVALID_INPUT
    lines = log.read_text(errors="replace").splitlines()[-options.lines :]
    sys.stdout.write("".join(f"{visible(line)}\n" for line in lines))
    return Exit.OK


_COMMANDS = {"up": _up, "down": _down, "status": _status, "exec": _exec, "logs": _logs}

if __name__ == "__main__":
    sys.exit(main())
