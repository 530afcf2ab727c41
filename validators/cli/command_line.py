"""What may be said on the command line of `python -m validators`, and the options that it comes to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS
from kubeflow_volcano.catalog.read import releases
from kubeflow_volcano.problems import InvalidInput, Problem
from validators.run.options import AUTO, Options

__all__ = ["options", "parser"]

_EXITS = """\
exit codes: 0 gate met, 1 a check failed, 2 bad options, 3 incomplete, 4 warnings with --strict, 5 busy,
6 probe objects left behind, 7 report not written, 130 and 143 interrupted"""


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    whole = argparse.ArgumentParser(
        prog="python -m validators",
        description="Judge a Kubernetes cluster with Kubeflow and Volcano: read it, try it out, and say what to do.",
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = whole.add_subparsers(dest="command", metavar="{list,explain,rbac}", title="other commands")
    commands.add_parser("list", help="every check in one line")
    explain = commands.add_parser(
        "explain",
        help="what a check claims, why, and what to do when it fails; or why a job does not start",
        usage="python -m validators explain CHECK [CHECK ...]\n"
        "       python -m validators explain job NAMESPACE/NAME [--kind KIND] [--json]",
        allow_abbrev=False,
    )
    explain.add_argument("words", nargs="+", metavar="CHECK", help="id, slug, family letter or family name")
    _job(explain.add_argument_group("explain job", "exit code 1 where something is in its way, 3 where more may be"))
    rbac = commands.add_parser("rbac", help="the least rights of a run, for `kubectl apply -f -`", allow_abbrev=False)
    where = rbac.add_argument_group("cluster", "asked which release it is, where --release does not say")
    where.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="default: $KUBECONFIG, ~/.kube/config, in-cluster"
    )
    where.add_argument("--context", metavar="NAME", help="default: the kubeconfig's current one")
    _expected(rbac)
    _chosen(rbac.add_argument_group("what is judged"))
    rbac.add_argument(
        "--service-account",
        default="default/kubeflow-volcano-validators",
        metavar="NAMESPACE/NAME",
        help="who gets the rights (%(default)s)",
    )
    _cluster(whole)
    _expected(whole)
    what = whole.add_argument_group("what is judged")
    _chosen(what)
    what.add_argument(
        "--waive", action="append", default=[], metavar="CHECK=REASON", help="accept what it finds; repeatable"
    )
    what.add_argument(
        "--ignore-namespace", action="append", default=[], metavar="NAME", help="do not look there; repeatable"
    )
    what.add_argument(
        "--stability-seconds", type=float, default=10.0, metavar="S", help="how long pods are watched (10)"
    )
    output = whole.add_argument_group("output")
    output.add_argument("--report-dir", type=Path, default=Path("reports"), metavar="DIR", help="default: reports")
    output.add_argument(
        "--baseline", type=Path, metavar="FILE", help="an earlier report (JSON): what is new, fixed, still there"
    )
    output.add_argument("--strict", action="store_true", help="exit 4 when there are warnings")
    output.add_argument("--quiet", action="store_true", help="no progress, only the summary")
    return whole


def _job(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--kind", default="", metavar="KIND", help="where several have the name: TFJob, vcjob, PodGroup …"
    )
    group.add_argument("--json", action="store_true", help="as a document, kfv.explanation/v1")
    # Without a default, so that what was said before the command stands.
    suppressed = argparse.SUPPRESS
    group.add_argument("--kubeconfig", type=Path, action="append", default=suppressed, metavar="FILE", help="as above")
    group.add_argument("--context", action="append", default=suppressed, metavar="NAME", help="as above")


def options(parsed: argparse.Namespace) -> Options:
    """The options of a run, without which cluster it is about.

    Raises:
        InvalidInput: a waiver without a reason.
    """
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
        twice=parsed.twice,
        expected=parsed.expected,
        exec_in_pods=parsed.exec_in_pods,
        network_per_node=parsed.network_per_node,
        login_as=parsed.login_as,
        login_password_file=parsed.login_password_file,
        gateway_url=parsed.gateway_url,
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


def _cluster(parser: argparse.ArgumentParser) -> None:
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


def _expected(parser: argparse.ArgumentParser) -> None:
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
    expected.add_argument(
        "--gang-scheduler",
        default=AUTO,
        choices=(AUTO, *GANG_SCHEDULERS, "none"),
        help="auto (default): the one that is installed; of several the one that the operator's arguments name",
    )
    expected.add_argument("--storage-mode", default="local_path", choices=("local_path", "existing", "static"))
    expected.add_argument(
        "--expected", type=Path, metavar="FILE", help="objects.json of a plan: C1 sees that each of them exists"
    )
    expected.add_argument("--user-email", default="", metavar="ADDRESS", help="who is to sign in first")
    expected.add_argument("--user-namespace", default="", metavar="NAME", help="the first user's profile")
    expected.add_argument(
        "--published-password", action="store_true", help="upstream's password is meant: E4 warns and does not fail"
    )


def _chosen(what: argparse._ArgumentGroup) -> None:
    """What decides about the rights that a run needs."""
    what.add_argument(
        "--select", action="append", default=[], metavar="CHECK[,…]", help="ids, slugs or families; repeatable"
    )
    what.add_argument("--read-only", action="store_true", help="create nothing: checks that need a probe are skipped")
    what.add_argument("--probe-namespace", default="", metavar="NAME", help="an existing one for probes; never deleted")
    what.add_argument(
        "--exec-in-pods", action="store_true", help="ask the release's own pods whether they may write (D7)"
    )
    what.add_argument("--network-per-node", action="store_true", help="a pod on each node tries the network (E2)")
    what.add_argument(
        "--login-as",
        default="",
        metavar="EMAIL",
        help="sign in at the gateway (E9); the password is in $KFV_LOGIN_PASSWORD or in a file",
    )
    what.add_argument(
        "--login-password-file", type=Path, metavar="FILE", help="of mode 0600: the password, or a roll-out's account"
    )
    what.add_argument(
        "--gateway-url", default="", metavar="URL", help="default: a pod of the gateway, through the API server"
    )
    what.add_argument("--twice", action="store_true", help="two whole passes, whose verdicts must agree (I4)")
