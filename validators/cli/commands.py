"""The commands of `python -m validators`: validate, list, explain, rbac, support-bundle."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.problems import Exit, InvalidInput, NotWritten, Problem, ProblemsError
from kubeflow_volcano.progress import silent, to_stderr
from kubeflow_volcano.text import print_what_the_terminal_can
from kubeflow_volcano.validators.cli import explaining, manual, messages, rbac, supporting
from kubeflow_volcano.validators.cli.parser import PROGRAM, options, parse
from kubeflow_volcano.validators.report import console
from kubeflow_volcano.validators.run.clusters import directory_of, named, validate_all
from kubeflow_volcano.validators.run.options import HINTS
from kubeflow_volcano.validators.run.runner import validate
from kubeflow_volcano.validators.run.selection import select


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM, *, only_validate: bool = False) -> int:
    """Run one command; returns its exit code.

    Args:
        arguments: what follows the program's name; by default those of this process.
        program: how it was called, for usage and help.
        only_validate: take no other command.
    """
    print_what_the_terminal_can()
    try:
        parsed = parse(arguments, program, only_validate=only_validate)
        return _COMMANDS[parsed.command](parsed)
    except ProblemsError as error:
        for problem in error.problems:
            sys.stderr.write(f"{problem.hinted(HINTS)}\n")
        return error.exit_code
    except KeyboardInterrupt:  # before the run began, or after it ended
        return Exit.INTERRUPTED


def _list(parsed: argparse.Namespace) -> int:
    return _print(manual.overview(parsed.language))


def _explain(parsed: argparse.Namespace) -> int:
    first, *others = parsed.words
    if first not in _SUBJECTS:
        return _print(manual.describe(select(manual.ALL_CHECKS, parsed.words), parsed.language))
    text, code = _SUBJECTS[first](parsed, others)
    _print(text)
    return code


def _rbac(parsed: argparse.Namespace) -> int:
    chosen = replace(options(parsed), kubeconfig=parsed.kubeconfig, context=parsed.context)
    return _print(rbac.render(chosen, parsed.service_account))


def _validate(parsed: argparse.Namespace) -> int:
    clusters = named(parsed.kubeconfig, parsed.context)
    if len(clusters) > 1:
        return _validate_all(parsed, clusters)
    ((kubeconfig, context),) = clusters.values()
    chosen = replace(options(parsed), kubeconfig=kubeconfig, context=context)
    report = validate(chosen, silent if parsed.quiet else to_stderr())
    _print(console.render(report.as_dict(), report.files, colour=_has_colour(), language=parsed.language))
    return _exit(report.exit_code, report.unwritten)


def _validate_all(parsed: argparse.Namespace, clusters: Mapping[str, tuple[Path | None, str | None]]) -> int:
    for name in ("baseline", "gateway_url"):
        if getattr(parsed, name):
            raise InvalidInput.problem(
                f"--{name.replace('_', '-')} with several clusters.",
                "a single cluster: this option belongs to one.",
                f"omit it, or set validation_{name} for each cluster of an inventory.",
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
        language=parsed.language,
    )
    document = combined.as_dict(parsed.report_dir)
    _print(console.render_clusters(document, combined.files, colour=_has_colour(), language=parsed.language))
    return _exit(combined.exit_code, combined.unwritten)


def _exit(code: Exit, unwritten: Problem | None) -> Exit:
    if unwritten:
        sys.stderr.write(f"{unwritten}\n")
    return code


def _has_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _print(text: str) -> Exit:
    """Write to standard output; a reader that closes it early (`| head`) is no error.

    Raises:
        NotWritten: there is no space left for it.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no second attempt at interpreter exit
        found = f"standard output cannot be written: {error}."
        raise NotWritten.problem(found, "free space.", "free some space, or redirect it elsewhere.") from error
    return Exit.OK


_SUBJECTS = {
    "job": explaining.explain_job,
    "manifest": explaining.explain_manifests,
    "message": messages.explain_message,
}
"""What `explain` explains beside checks."""
_COMMANDS: Mapping[str | None, Callable[[argparse.Namespace], int]] = {
    None: _validate,
    "list": _list,
    "explain": _explain,
    "rbac": _rbac,
    "support-bundle": lambda parsed: _print(supporting.support_bundle(parsed)),
}
"""By the name on the command line; without one, a cluster is validated."""
