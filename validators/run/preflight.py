"""One preflight from answers of hosts to report: the cluster is asked where there is one, and nothing is changed."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.inventory import Inventory
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.resources import NODES
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.hosts import CHECKS
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.reading.collect import unread
from kubeflow_volcano.validators.report import files
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.run.judging import Judging
from kubeflow_volcano.validators.run.options import HINTS
from kubeflow_volcano.validators.run.selection import select, waivers

PREFIX = "preflight-"
_ACCESS = ("P1", "P2", "P3")
_TO_BE_REPAIRED = "to be repaired, as preflight_repair asks"


@dataclass(frozen=True)
class Options:
    """What a person may choose. With `repair`, findings that can be repaired do not fail."""

    kubeconfig: Path | None = None
    context: str | None = None
    select: tuple[str, ...] = ()
    waive: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    repair: bool = False
    language: str = ENGLISH
    """Of everything that is written for people."""
    report_dir: Path | None = Path("reports")


def _with_access(planned: Sequence[Check], inventory: Inventory) -> tuple[Check, ...]:
    """The chosen checks, and where hosts did not answer those that say so: all others judge only hosts that did."""
    missing = len(inventory.reached) < len(inventory.hosts)
    return tuple(item for item in CHECKS if item in planned or (missing and item.id in _ACCESS))


def preflight(options: Options, expectations: Expectations, inventory: Inventory, progress: Progress) -> Report:
    """Judge the hosts and, where there is one, the cluster; write the report. Changes nothing.

    Raises:
        InvalidInput: a word of the options names no check; nothing was judged.
    """
    planned = _with_access(select(CHECKS, options.select), inventory)
    waived = waivers(CHECKS, options.waive)
    started, clock = time.time(), time.monotonic()
    facts = _with_cluster(options, Facts(expectations, started, inventory=inventory))
    results = _judged(planned, waived, facts, progress)
    if options.repair and (coming := _repairable(results)):
        later = dict.fromkeys(coming, _TO_BE_REPAIRED) | dict(waived)
        results = _judged(planned, later, facts, lambda _: None)
    report = Report(
        run=secrets.token_hex(4),
        arguments={"select": list(options.select), "waive": dict(options.waive), "strict": options.strict},
        origin=f"kubeconfig {options.kubeconfig or 'from the environment'}, context {options.context or 'current'}",
        release=expectations.release,
        release_from="given",
        started=started,
        ended=time.time(),
        seconds=time.monotonic() - clock,
        results=results,
        facts=facts,
        strict=options.strict,
        language=options.language,
        prefix=PREFIX,
    )
    return files.write(report, options.report_dir) if options.report_dir else report


def repairs(results: Iterable[Result]) -> dict[str, list[dict[str, str]]]:
    """What may be repaired, by host, each thing once; waived findings are left alone, unless a repair is coming."""
    by_host: dict[str, list[dict[str, str]]] = {}
    for result in results:
        if result.waived and result.outcome.message != f"waived: {_TO_BE_REPAIRED}":
            continue
        for row in result.outcome.observed.get("findings", ()):
            for host in row["hosts"] if row.get("repairs") else ():
                wanted = by_host.setdefault(host, [])
                wanted += [item for item in row["repairs"] if item not in wanted]
    return by_host


def _judged(
    planned: Sequence[Check], waived: Mapping[str, str], facts: Facts, progress: Progress
) -> tuple[Result, ...]:
    judging = Judging(planned, waived, progress)
    judging.judge(facts)
    return judging.results()


def _repairable(results: Iterable[Result]) -> list[str]:
    """Ids of checks that do not hold, and of which every finding can be repaired."""
    names = []
    for result in results:
        status = result.outcome.status
        rows: Any = result.outcome.observed.get("findings", ())
        wrong = [row for row in rows if row.get("status") != Status.PASS]
        if status in {Status.FAIL, Status.WARN} and wrong and all(row.get("repairs") for row in wrong):
            names.append(result.check.id)
    return names


def _with_cluster(options: Options, facts: Facts) -> Facts:
    """The facts with those of the cluster; if it does not answer, the reason is in `cluster`."""
    if not _has_kubeconfig(options):
        message = "there is no kubeconfig, so that the cluster was not asked."
        return replace(facts, unread={"cluster": Unread("NoKubeconfig", message, "set kubeflow_kubeconfig.")})
    try:
        cluster = Cluster.connect(options.kubeconfig, options.context, user_agent="kubeflow-volcano-preflight")
    except ProblemsError as error:
        first = error.problems[0].hinted(HINTS)
        return replace(facts, unread={"cluster": Unread("Unreachable", first.found, first.todo)})
    version = cluster.version.get("gitVersion", "")
    asked = replace(facts.inventory, kubernetes=version) if facts.inventory and version else facts.inventory
    facts = replace(facts, server_version=version, inventory=asked)
    try:
        nodes = tuple(cluster.list(NODES.api_version, NODES.kind).items)
        services = cluster.list("v1", "Service", namespace="default", fields="metadata.name=kubernetes").items
    except ApiError as error:
        return replace(facts, unread={NODES: unread(NODES, error)})
    networks = {
        "pods": tuple(dict.fromkeys(cidr for node in nodes if (cidr := node["spec"].get("podCIDR")))),
        "services": tuple(item["spec"]["clusterIP"] for item in services if item["spec"].get("clusterIP")),
    }
    asked = replace(asked, networks=networks) if asked else None
    return replace(facts, objects={NODES: nodes}, inventory=asked)


def _has_kubeconfig(options: Options) -> bool:
    default = Path(os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config").expanduser()
    return (options.kubeconfig or default).exists()
