"""python -m validators: judge a cluster from the command line."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.catalog.read import releases
from kubeflow_volcano.problems import Exit, InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import silent, to_stderr
from validators.checks import CHECKS
from validators.clusters import directory_of, named, validate_all
from validators.hosts.checks import CHECKS as HOST_CHECKS
from validators.model import FAMILIES
from validators.report import console
from validators.report.clusters import console as several
from validators.runner import Options, validate
from validators.selection import select

__all__ = ["main"]

_EXITS = """\
exit codes: 0 gate met, 1 a check failed, 2 bad options, 3 incomplete, 4 warnings with --strict, 5 busy,
6 probe objects left behind, 7 report not written, 130 and 143 interrupted"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = _parser()
    try:
        parsed = parser.parse_args(arguments)
        if parsed.command == "list":
            return _list()
        if parsed.command == "explain":
            return _explain(parsed.words)
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
    options = replace(_options(parsed), kubeconfig=kubeconfig, context=context)
    report = validate(options, silent if parsed.quiet else to_stderr())
    _print(console.render(report.as_dict(), report.files, colour=_colour()))
    if report.unwritten:
        sys.stderr.write(f"{report.unwritten}\n")
    return report.exit_code


def _validate_all(parsed: argparse.Namespace, clusters: Mapping[str, tuple[Path | None, str | None]]) -> int:
    if parsed.baseline:
        raise InvalidInput(
            Problem(
                "--baseline with several clusters.",
                "one cluster, for an earlier report is of one.",
                "leave it away, or give each cluster of an inventory its own validation_baseline.",
            )
        )
    directories = directory_of(clusters)
    common = _options(parsed)
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


def _options(parsed: argparse.Namespace) -> Options:
    return Options(
        release=parsed.release,
        profile=_words(parsed.component) or parsed.profile,
        exclude=_words(parsed.exclude),
        storage_mode=parsed.storage_mode,
        user_email=parsed.user_email,
        user_namespace=parsed.user_namespace,
        published_password=parsed.published_password,
        volcano_version=parsed.volcano_version,
        local_path_version=parsed.local_path_version,
        operator_version=parsed.operator_version,
        gang_scheduler=parsed.gang_scheduler,
        select=_words(parsed.select),
        waive=_waivers(parsed.waive),
        ignore_namespaces=tuple(parsed.ignore_namespace),
        probe_namespace=parsed.probe_namespace,
        read_only=parsed.read_only,
        strict=parsed.strict,
        stability_seconds=parsed.stability_seconds,
        report_dir=parsed.report_dir,
        baseline=parsed.baseline,
    )


def _words(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for text in texts for word in text.split(",") if word)


def _waivers(texts: Sequence[str]) -> dict[str, str]:
    if wrong := [text for text in texts if not text.partition("=")[2].strip()]:
        raise InvalidInput(
            Problem(f"--waive {text}.", "CHECK=REASON; the report repeats the reason.", "give the reason.")
            for text in wrong
        )
    return {word: reason for word, _, reason in (text.partition("=") for text in texts)}


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
        facts += [f"judges what probe {item.probe} found out"] if item.probe else []
        facts += [f"is done only with --{item.opt_in.replace('_', '-')}"] if item.opt_in else []
        facts += [f"needs the right to {', '.join(str(rule) for rule in item.needs)}"] if item.needs else []
        lines += [f"{item.id} {item.slug}: {item.title}", textwrap.indent(item.remedy, "  ")]
        lines += [textwrap.fill(text, 110, initial_indent="  - ", subsequent_indent="    ") for text in facts]
    _print("\n".join(lines) + "\n")
    return Exit.OK


def _print(text: str) -> None:
    """Write to standard output; a reader who has seen enough and left (`| head`) is no trouble."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m validators",
        description="Judge a Kubernetes cluster with Kubeflow and Volcano: read it, try it out, and say what to do.",
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="{list,explain}", title="other commands")
    commands.add_parser("list", help="every check in one line")
    explain = commands.add_parser("explain", help="what a check claims, why, and what to do when it fails")
    explain.add_argument("words", nargs="+", metavar="CHECK", help="id, slug, family letter or family name")
    where = parser.add_argument_group("cluster")
    where.add_argument(
        "--kubeconfig",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="default: $KUBECONFIG, ~/.kube/config, in-cluster; repeatable: one cluster each",
    )
    where.add_argument(
        "--context",
        action="append",
        default=[],
        metavar="NAME",
        help="default: the kubeconfig's current one; repeatable: one cluster each",
    )
    expected = parser.add_argument_group("what is expected of it")
    known = ", ".join(releases())
    expected.add_argument("--release", default="auto", help=f"{known}, or auto (default): as the operator's image says")
    expected.add_argument("--profile", default="training", metavar="NAME", help="training (default) or full")
    expected.add_argument(
        "--component", action="append", default=[], metavar="NAME[,…]", help="these instead of a profile; repeatable"
    )
    expected.add_argument(
        "--exclude", action="append", default=[], metavar="NAME[,…]", help="without these components; repeatable"
    )
    expected.add_argument(
        "--volcano-version", default="", metavar="V", help="default: the one that goes with the release"
    )
    expected.add_argument("--local-path-version", default="", metavar="V", help="default: that of the release")
    expected.add_argument("--operator-version", default="", metavar="V", help="where its image does not tell")
    expected.add_argument("--gang-scheduler", default="volcano", choices=("volcano", "none"))
    expected.add_argument("--storage-mode", default="local_path", choices=("local_path", "existing", "static"))
    expected.add_argument("--user-email", default="", metavar="ADDRESS", help="who is to sign in first")
    expected.add_argument("--user-namespace", default="", metavar="NAME", help="the first user's profile")
    expected.add_argument(
        "--published-password", action="store_true", help="upstream's password is meant: E4 warns and does not fail"
    )
    what = parser.add_argument_group("what is judged")
    what.add_argument(
        "--select", action="append", default=[], metavar="CHECK[,…]", help="ids, slugs or families; repeatable"
    )
    what.add_argument(
        "--waive", action="append", default=[], metavar="CHECK=REASON", help="accept what it finds; repeatable"
    )
    what.add_argument(
        "--ignore-namespace", action="append", default=[], metavar="NAME", help="do not look there; repeatable"
    )
    what.add_argument("--read-only", action="store_true", help="create nothing: checks that need a probe are skipped")
    what.add_argument("--probe-namespace", default="", metavar="NAME", help="an existing one for probes; never deleted")
    what.add_argument(
        "--stability-seconds", type=float, default=10.0, metavar="S", help="how long pods are watched (10)"
    )
    output = parser.add_argument_group("output")
    output.add_argument("--report-dir", type=Path, default=Path("reports"), metavar="DIR", help="default: reports")
    output.add_argument(
        "--baseline", type=Path, metavar="FILE", help="an earlier report (JSON): what is new, fixed, still there"
    )
    output.add_argument("--strict", action="store_true", help="exit 4 when there are warnings")
    output.add_argument("--quiet", action="store_true", help="no progress, only the summary")
    return parser


if __name__ == "__main__":
    sys.exit(main())
