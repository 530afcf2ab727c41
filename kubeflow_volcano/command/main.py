"""The commands of `kubeflow-volcano`; what follows the first word is parsed by the room that does the work."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kubeflow_volcano import __version__
from kubeflow_volcano.deriving import cli as deriving
from kubeflow_volcano.rehearsal import __main__ as rehearsal
from kubeflow_volcano.text import print_what_the_terminal_can
from kubeflow_volcano.validators.cli import commands as validators

_PROGRAM = "kubeflow-volcano"


class Command(NamedTuple):
    """What a command does, in a few words, and what runs it with the words that follow."""

    summary: str
    run: Callable[[Sequence[str]], int]


def _of_validators(name: str, words: Sequence[str]) -> int:
    return validators.main([name, *words], program=_PROGRAM)


COMMANDS: Mapping[str, Command] = {
    "validate": Command(
        "validate a cluster, and write the report",
        partial(validators.main, program=f"{_PROGRAM} validate", only_validate=True),
    ),
    "explain": Command(
        "say what a check claims, why a job does not start, what is wrong with a manifest, or what a message means",
        partial(_of_validators, "explain"),
    ),
    "list": Command("print every check in one line", partial(_of_validators, "list")),
    "rbac": Command("print the least permissions of a validation", partial(_of_validators, "rbac")),
    "support-bundle": Command(
        "write objects, events, logs and reports into one archive, without credentials",
        partial(_of_validators, "support-bundle"),
    ),
    "catalog": Command("make the entry of a version that is not listed", deriving.main),
    "rehearsal": Command(
        "run a real Kubernetes on this machine: up, down, status, exec, logs",
        partial(rehearsal.main, program=f"{_PROGRAM} rehearsal"),
    ),
}
"""Each command by its name. `python -m validators` and `python -m kubeflow_volcano.rehearsal` do the same."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code.

    Raises:
        SystemExit: help or the version was printed, or there is no such command.
    """
    print_what_the_terminal_can()
    words = sys.argv[1:] if arguments is None else arguments
    command = _parser().parse_args(words[:1]).command
    return COMMANDS[command].run(words[1:])


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS)) + 2
    lines = "\n".join(f"  {name:<{width}}{command.summary}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        usage=f"{_PROGRAM} [-h] [--version] COMMAND ...",
        description="Kubeflow with gang scheduling: validate a cluster, explain jobs, rehearse on this machine.",
        epilog=f"commands:\n{lines}\n\n`{_PROGRAM} COMMAND --help` describes one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {__version__}")
    parser.add_argument("command", choices=tuple(COMMANDS), metavar="COMMAND", help="one of those below")
    return parser
