"""python -m validators: judge a cluster from the command line."""

from __future__ import annotations

import signal

if __name__ == "__main__":  # the imports take a second; who ends it in that one gets no traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.problems import Exit, InvalidInput, NotWritten, Problem, ProblemsError
from kubeflow_volcano.progress import silent, to_stderr
from validators.checks import CHECKS
from validators.cli import rbac
from validators.cli.command_line import options, parser
from validators.core.check import FAMILIES
from validators.core.facts import Probe
from validators.explain.command import explain_job
from validators.hosts.checks import CHECKS as HOST_CHECKS
from validators.report import console
from validators.report.clusters import console as several
from validators.run.clusters import directory_of, named, validate_all
from validators.run.runner import validate
from validators.run.selection import select

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        parsed = parser().parse_args(arguments)
        if parsed.command == "list":
            return _list()
        if parsed.command == "explain":
            return _explain_job(parsed) if parsed.words[0] == "job" else _explain(parsed.words)
        if parsed.command == "rbac":
            return _rbac(parsed)
        return _validate(parsed)
    except ProblemsError as error:
        for problem in error.problems:
            sys.stderr.write(f"{problem}\n")
        return error.exit_code
    except KeyboardInterrupt:  # before the run began, or after it ended
        return Exit.INTERRUPTED


def _validate(parsed: argparse.Namespace) -> int:
    clusters = named(parsed.kubeconfig, parsed.context)
    if len(clusters) > 1:
        return _validate_all(parsed, clusters)
    ((kubeconfig, context),) = clusters.values()
    chosen = replace(options(parsed), kubeconfig=kubeconfig, context=context)
    report = validate(chosen, silent if parsed.quiet else to_stderr())
    _print(console.render(report.as_dict(), report.files, colour=_colour()))
    if report.unwritten:
        sys.stderr.write(f"{report.unwritten}\n")
    return report.exit_code


def _validate_all(parsed: argparse.Namespace, clusters: Mapping[str, tuple[Path | None, str | None]]) -> int:
    for name, what in (("baseline", "an earlier report"), ("gateway_url", "a URL")):
        if getattr(parsed, name):
            raise InvalidInput(
                Problem(
                    f"--{name.replace('_', '-')} with several clusters.",
                    f"one cluster, for {what} is of one.",
                    f"leave it away, or give each cluster of an inventory its own validation_{name}.",
                )
            )
    directories = directory_of(clusters)
    common = options(parsed)
    combined = validate_all(
        {
            name: replace(common, kubeconfig=path, context=context, report_dir=parsed.report_dir / directories[name])
            for name, (path, context) in clusters.items()
        },
        parsed.report_dir,
        quiet=parsed.quiet,
    )
    _print(several.render(combined.as_dict(parsed.report_dir), combined.files, colour=_colour()))
    if combined.unwritten:
        sys.stderr.write(f"{combined.unwritten}\n")
    return combined.exit_code


def _colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _rbac(parsed: argparse.Namespace) -> int:
    chosen = replace(options(parsed), kubeconfig=parsed.kubeconfig, context=parsed.context)
    _print(rbac.render(chosen, parsed.service_account))
    return Exit.OK


def _list() -> int:
    lines = []
    for letter, family in FAMILIES.items():
        members = [item for item in (*CHECKS, *HOST_CHECKS) if item.id[0] == letter]
        lines += [f"{letter} {family}"] if members else []
        lines += [f"  {item.id:<3} {item.slug:<24} {item.severity:<8} {item.title}" for item in members]
    _print("\n".join(lines) + "\n")
    return Exit.OK


def _explain(words: Sequence[str]) -> int:
    lines = []
    for item in select((*CHECKS, *HOST_CHECKS), words):
        facts = [f"severity {item.severity}", f"family {item.family}"]
        facts += [f"says nothing when these fail: {', '.join(item.requires)}"] if item.requires else []
        facts += [f"judges what probe {item.probe.name} found out"] if isinstance(item.probe, Probe) else []
        facts += [f"is done only with --{item.opt_in.replace('_', '-')}"] if item.opt_in else []
        facts += [f"needs the right to {', '.join(str(rule) for rule in item.rules)}"] if item.rules else []
        besides = dict.fromkeys(str(rule) for _, rule in item.rules_with)
        facts += [f"needs where the release holds them the right to {', '.join(besides)}"] if besides else []
        lines += [f"{item.id} {item.slug}: {item.title}", textwrap.indent(item.remedy, "  ")]
        lines += [textwrap.fill(text, 110, initial_indent="  - ", subsequent_indent="    ") for text in facts]
    _print("\n".join(lines) + "\n")
    return Exit.OK


def _explain_job(parsed: argparse.Namespace) -> int:
    clusters = named(parsed.kubeconfig, parsed.context)
    names = parsed.words[1:]
    if len(clusters) != 1 or len(names) != 1:
        found = f"{len(names)} names of jobs, {len(clusters)} clusters."
        raise InvalidInput(Problem(found, "one of each: explain job NAMESPACE/NAME.", "run it once for each."))
    kubeconfig, context = next(iter(clusters.values()))
    text, code = explain_job(names[0], kind=parsed.kind, as_json=parsed.json, kubeconfig=kubeconfig, context=context)
    _print(text)
    return code


def _print(text: str) -> None:
    """Write to standard output; a reader who has seen enough and left (`| head`) is no trouble.

    Raises:
        NotWritten: there is no room for it.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest is not tried again at the end
        found = f"standard output cannot be written: {error}."
        raise NotWritten(Problem(found, "a place with room.", "free some, or send it elsewhere.")) from error


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    exit_code = main()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(exit_code)
