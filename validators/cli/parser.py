"""The command line of `python -m validators`, and the options of a run that result from it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS
from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.catalog.read import releases
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.validators.cli.registry_logins import registry_logins
from kubeflow_volcano.validators.language.catalog import ENGLISH, LANGUAGES
from kubeflow_volcano.validators.run.options import AUTO, Options

PROGRAM = "python -m validators"

_KUBECONFIG = "default: $KUBECONFIG, ~/.kube/config, in-cluster"
_CONTEXT = "default: the kubeconfig's current context"
_EXITS = """\
exit codes: 0 gate met, 1 a check failed, 2 invalid options, 3 incomplete, 4 warnings with --strict, 5 busy,
6 probe objects left behind, 7 report not written, 130 and 143 interrupted"""


def parser(program: str = PROGRAM, *, only_validate: bool = False) -> argparse.ArgumentParser:
    """The parser of the whole command line, with or without the commands beside the validation."""
    whole = argparse.ArgumentParser(
        prog=program,
        description="Validate a Kubernetes cluster with Kubeflow and Volcano: read it, probe it, report what to do.",
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if only_validate:
        whole.set_defaults(command=None)
    else:
        _other_commands(whole, program)
    _clusters(whole.add_argument_group("cluster"))
    _installation(whole.add_argument_group("expected installation"))
    checks = whole.add_argument_group("checks")
    _selection(checks)
    _repeatable(checks, "--waive", "CHECK=REASON", "accept its findings")
    _repeatable(checks, "--ignore-namespace", "NAME", "ignore this namespace", "ignore_namespaces")
    checks.add_argument(
        "--stability-seconds", type=float, default=10.0, metavar="S", help="seconds to watch pods for flapping (10)"
    )
    output = whole.add_argument_group("output")
    _report_directory(output)
    output.add_argument("--baseline", type=Path, metavar="FILE", help="earlier report (JSON) to compare findings with")
    _language(output, default=ENGLISH)
    _flag(output, "--strict", "exit with 4 on warnings")
    _flag(output, "--quiet", "print only the summary, no progress")
    return whole


def _other_commands(whole: argparse.ArgumentParser, program: str) -> None:
    commands = whole.add_subparsers(
        dest="command", metavar="{list,explain,rbac,support-bundle}", title="other commands"
    )
    _language(commands.add_parser("list", help="print every check in one line"), default=argparse.SUPPRESS)
    _explain(
        commands.add_parser(
            "explain",
            help="print what a check claims and what to do when it fails; why a job does not start; what is wrong "
            "with the manifest of a job; or what a message means",
            usage=f"{program} explain CHECK [CHECK ...]\n"
            f"       {program} explain job NAMESPACE/NAME [--kind KIND] [--json]\n"
            f"       {program} explain manifest FILE [FILE ...] [--fix] [--offline] [--json]\n"
            f"       {program} explain message [TEXT]",
            allow_abbrev=False,
        )
    )
    _rbac(
        commands.add_parser(
            "rbac", help="print the least permissions of a run, for `kubectl apply -f -`", allow_abbrev=False
        )
    )
    _support_bundle(
        commands.add_parser(
            "support-bundle",
            help="write objects, events, logs and reports into one archive, without credentials",
            allow_abbrev=False,
        )
    )


def parse(
    arguments: Sequence[str] | None, program: str = PROGRAM, *, only_validate: bool = False
) -> argparse.Namespace:
    """The parsed command line; options of `explain` may stand among its words.

    Raises:
        SystemExit: it cannot be parsed; argparse has printed why.
    """
    whole = parser(program, only_validate=only_validate)
    parsed, rest = whole.parse_known_args(arguments)
    if rest and (parsed.command != "explain" or any(word.startswith("-") and word != "-" for word in rest)):
        whole.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        parsed.words += rest
    return parsed


def _language(parent: argparse._ActionsContainer, *, default: str) -> None:
    words = "of everything that people read: en (default) or zh (Chinese); JSON stays English"
    parent.add_argument("--language", default=default, choices=tuple(LANGUAGES), help=words)


def _explain(command: argparse.ArgumentParser) -> None:
    _language(command, default=argparse.SUPPRESS)
    command.add_argument("words", nargs="+", metavar="CHECK", help="id, slug, family letter or family name")
    codes = "exit code 1: something blocks it, 3: not everything could be read"
    job = command.add_argument_group("explain job", codes)
    _text(
        job,
        "--kind",
        "KIND",
        "needed if several jobs have the name (TFJob, vcjob, PodGroup …), and for other kinds: rayjobs, statefulsets …",
    )
    manifest = command.add_argument_group("explain manifest", f"FILE: YAML, or - for standard input; {codes}")
    _flag(manifest, "--offline", "ask no cluster, and judge by the files alone")
    _flag(manifest, "--fix", "print the corrected manifests; what was found goes to standard error")
    manifest.add_argument(
        "--requests", metavar="AMOUNTS", help="with --fix, of containers in gangs without any: cpu=100m,memory=128Mi"
    )
    manifest.add_argument("--output", type=Path, metavar="FILE", help="write them to this file instead")
    manifest.add_argument(
        "--namespace", default="default", metavar="NAME", help="of objects that name none (%(default)s)"
    )
    both = command.add_argument_group("explain job, explain manifest")
    _flag(both, "--json", "print a document, kfv.explanation/v1 or kfv.manifests/v1")
    command.add_argument_group(
        "explain message", "TEXT: what a program wrote, in quotes; default: standard input; exit code 3: not known"
    )
    # Without a default, so that options before the command stay in force.
    unset = argparse.SUPPRESS
    manifest.add_argument("--strict", action="store_true", default=unset, help="exit with 4 on notes")
    both.add_argument("--kubeconfig", type=Path, action="append", default=unset, metavar="FILE", help=_KUBECONFIG)
    both.add_argument("--context", action="append", default=unset, metavar="NAME", help=_CONTEXT)


def _rbac(command: argparse.ArgumentParser) -> None:
    where = command.add_argument_group("cluster", "read only to detect the release, without --release")
    where.add_argument("--kubeconfig", type=Path, metavar="FILE", help=_KUBECONFIG)
    where.add_argument("--context", metavar="NAME", help=_CONTEXT)
    _installation(command.add_argument_group("expected installation"))
    _selection(command.add_argument_group("checks"))
    command.add_argument(
        "--service-account",
        default="default/kubeflow-volcano-validators",
        metavar="NAMESPACE/NAME",
        help="ServiceAccount to grant them to (%(default)s)",
    )


def _support_bundle(command: argparse.ArgumentParser) -> None:
    command.add_argument("--kubeconfig", type=Path, metavar="FILE", help=_KUBECONFIG)
    command.add_argument("--context", metavar="NAME", help=_CONTEXT)
    _repeatable(command, "--namespace", "NAME", "a namespace of users to add, with the logs of its pods")
    _report_directory(command)
    command.add_argument("--output", type=Path, metavar="FILE", help="default: kubeflow-volcano-support-<time>.tar.gz")


def _report_directory(parent: argparse._ActionsContainer) -> None:
    parent.add_argument("--report-dir", type=Path, default=Path("reports"), metavar="DIR", help="default: reports")


def _clusters(group: argparse._ArgumentGroup) -> None:
    each = "repeatable: one cluster each"
    group.add_argument(
        "--kubeconfig", type=Path, action="append", default=[], metavar="FILE", help=f"{_KUBECONFIG}; {each}"
    )
    group.add_argument("--context", action="append", default=[], metavar="NAME", help=f"{_CONTEXT}; {each}")


def _installation(group: argparse._ArgumentGroup) -> None:
    release = f"{', '.join(releases())}, or auto (default): detected from the operator's image"
    group.add_argument("--release", type=_version, default=AUTO, help=release)
    group.add_argument("--profile", default="training", metavar="NAME", help="training (default) or full")
    _repeatable(group, "--component", "NAME[,…]", "these components instead of a profile")
    _repeatable(group, "--include", "NAME[,…]", "these components in addition to the profile's")
    _repeatable(group, "--exclude", "NAME[,…]", "without these components")
    _repeatable(group, "--existing", "NAME[,…]", "components of others: only what the rest needs is expected")
    for name in ("volcano", "scheduler-plugins", "training-operator", "local-path"):
        group.add_argument(
            f"--{name}-version", type=_version, default="", metavar="V", help="default: the release's version"
        )
    group.add_argument(
        "--operator-version", type=_version, default="", metavar="V", help="needed if its image has no version"
    )
    group.add_argument(
        "--gang-scheduler",
        default=AUTO,
        choices=(AUTO, *GANG_SCHEDULERS, "none"),
        help="auto (default): the installed one; of several, the one in the operator's arguments",
    )
    _text(group, "--volcano-scheduler", "NAMESPACE/NAME", "default: found by its labels")
    _repeatable(
        group, "--extra-plugin", "NAME[,…]", "plugins of Volcano's scheduler that a vendor added", "extra_plugins"
    )
    group.add_argument("--storage-mode", default="local_path", choices=("local_path", "existing", "static"))
    group.add_argument(
        "--expected", type=Path, metavar="FILE", help="objects.json of a plan: C1 checks that each object exists"
    )
    _text(group, "--user-email", "ADDRESS", "email address of the first user")
    _text(group, "--user-namespace", "NAME", "profile of the first user")
    group.add_argument(
        "--catalog", type=Path, metavar="DIRECTORY", help="entries of your own beside those of the catalog"
    )
    _flag(group, "--published-password", "upstream's published password is intended: E4 warns instead of failing")


def _selection(group: argparse._ArgumentGroup) -> None:
    """Options that decide which permissions a run needs."""
    _repeatable(group, "--select", "CHECK[,…]", "ids, slugs or families")
    _flag(group, "--read-only", "create nothing; checks that need a probe are skipped")
    _text(group, "--probe-namespace", "NAME", "existing namespace for probes; it is not deleted")
    _flag(group, "--exec-in-pods", "run commands in the release's own pods to check that they can write (D7)")
    _flag(group, "--network-per-node", "test the network from a pod on each node (E2)")
    _flag(group, "--acceptance", "create the project's examples and see that they run (J1 to J9)")
    _text(group, "--login-as", "EMAIL", "sign in at the gateway (E9); password in $KFV_LOGIN_PASSWORD or in a file")
    group.add_argument(
        "--login-password-file",
        type=Path,
        metavar="FILE",
        help="file of mode 0600 with the password, or with a roll-out's account",
    )
    _text(group, "--gateway-url", "URL", "default: a pod of the gateway, through the API server")
    group.add_argument("--pause-image", default=PAUSE, metavar="IMAGE", help="for probes of scheduling (%(default)s)")
    group.add_argument(
        "--busybox-image", default=BUSYBOX, metavar="IMAGE", help="for probes of storage and network (%(default)s)"
    )
    group.add_argument(
        "--registry-authfile",
        type=Path,
        metavar="FILE",
        help="file of mode 0600 with logins at registries for the images of probes, as podman login writes it",
    )
    _flag(group, "--twice", "two complete passes with equal verdicts (I4)")


def _flag(group: argparse._ArgumentGroup, name: str, words: str) -> None:
    group.add_argument(name, action="store_true", help=words)


def _text(group: argparse._ArgumentGroup, name: str, metavar: str, words: str) -> None:
    group.add_argument(name, default="", metavar=metavar, help=words)


def _repeatable(
    group: argparse._ActionsContainer, name: str, metavar: str, words: str, dest: str | None = None
) -> None:
    group.add_argument(name, dest=dest, action="append", default=[], metavar=metavar, help=f"{words}; repeatable")


def options(parsed: argparse.Namespace) -> Options:
    """The options of a run, without its cluster. From now on the catalog has the user's entries.

    Raises:
        InvalidInput: a waiver has no reason, or the file with logins or the user's entries cannot be used.
    """
    data.add(parsed.catalog)
    given = {item.name: getattr(parsed, item.name) for item in fields(Options) if hasattr(parsed, item.name)}
    del given["kubeconfig"], given["context"]
    given |= {name: _words(texts) for name, texts in given.items() if isinstance(texts, list)}
    given |= {"profile": _words(parsed.component) or parsed.profile, "waive": _waivers(parsed.waive)}
    return Options(**given, registry_logins=registry_logins(parsed.registry_authfile))


def _version(text: str) -> str:
    """The number of a version, which may have the v of a tag in front."""
    return re.sub(r"^v(?=[0-9])", "", text)


def _words(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for text in texts for word in text.split(",") if word)


def _waivers(texts: Sequence[str]) -> dict[str, str]:
    if wrong := [text for text in texts if not text.partition("=")[2].strip()]:
        raise InvalidInput(
            Problem(f"--waive {text}.", "CHECK=REASON; the report repeats the reason.", "add the reason.")
            for text in wrong
        )
    return {word: reason for word, _, reason in (text.partition("=") for text in texts)}
