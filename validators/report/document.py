"""The document of a run, kfv.report/v1: plain data, sorted, safe to show. The other formats render it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kubeflow_volcano import __version__
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.remains import Cleanup
from kubeflow_volcano.problems import Exit, Problem
from kubeflow_volcano.validators.core.check import natural
from kubeflow_volcano.validators.core.consequences import REASON
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Finding
from kubeflow_volcano.validators.core.resources import NODES, PODS
from kubeflow_volcano.validators.core.results import Result, Summary, summarise, worst
from kubeflow_volcano.validators.core.safe import LONGEST_EVIDENCE, safe, text
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.report.baseline import compare
from kubeflow_volcano.validators.report.conformance import conformance
from kubeflow_volcano.validators.report.snapshot import snapshot
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS

SCHEMA = "kfv.report/v1"
MANUAL = "docs/checks.md"
"""The manual of all checks, as a path from the top of the checkout."""
_MOST_OBJECTS = 200


@dataclass(frozen=True)
class Report:
    """Everything that a run found. `started` and `ended` are seconds since the epoch; `seconds` is monotonic."""

    run: str
    arguments: Mapping[str, Any]
    origin: str
    release: str
    release_from: str
    started: float
    ended: float
    seconds: float
    results: Sequence[Result]
    facts: Facts | None = None
    cleanup: Cleanup | None = None
    retries: int = 0
    strict: bool = False
    rollout_problems: Sequence[str] = ()
    """What was found wrong by the roll-out before."""
    interrupted: Exit | None = None
    unwritten: Problem | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    """Prefix of the names of all files of this kind of run."""
    baseline: Mapping[str, Any] | None = None
    """The document of an earlier run, to compare with."""
    language: str = ENGLISH
    """Of everything that is written for people; the document is English."""

    @property
    def stem(self) -> str:
        """Common prefix of the names of this run's files."""
        return f"{self.prefix}{stem(_time(self.started), self.run)}"

    @property
    def evidence(self) -> dict[str, str]:
        """Texts that are written beside the report, by their path relative to it; as safe to show as the document."""
        return {
            path: text(str(content), LONGEST_EVIDENCE)
            for item in self.results
            for path, content in zip(_evidence(item, self.stem), item.outcome.evidence.values(), strict=True)
        }

    @property
    def summary(self) -> Summary:
        """Counts and verdict."""
        return summarise(self.results)

    @property
    def exit_code(self) -> Exit:
        """The worst of verdict, interruption, unwritten report and leftovers."""
        codes = [self.summary.exit_code(strict=self.strict)]
        if self.interrupted:
            codes.append(self.interrupted)
        if self.unwritten:
            codes.append(Exit.REPORT_NOT_WRITTEN)
        if self.cleanup and self.cleanup.left:
            codes.append(Exit.LEFTOVERS)
        return worst(codes)

    def as_dict(self) -> dict[str, Any]:
        """The document."""
        in_order = sorted(self.results, key=lambda item: natural(item.check.id))
        checks = [_check(item, self.stem) for item in in_order]
        cluster = self._cluster()
        return {
            "schema": SCHEMA,
            "run": self._run(),
            "cluster": cluster,
            **self._hosts(),
            "summary": _summary(self.summary),
            "baseline": safe(compare(self.baseline, checks, cluster["uid"])) if self.baseline else None,
            "checks": checks,
            "conformance": conformance(checks),
            "snapshot": snapshot(self.facts),
            "cleanup": _cleanup(self.cleanup),
        }

    def _run(self) -> dict[str, Any]:
        arguments = json.dumps(safe(self.arguments), sort_keys=True)
        return {
            "id": self.run,
            "started": _time(self.started),
            "ended": _time(self.ended),
            "duration_s": round(self.seconds, 1),
            "tool": __version__,
            "args": safe(self.arguments),
            "args_digest": f"sha256:{hashlib.sha256(arguments.encode()).hexdigest()}",
            "release": self.release,
            "release_from": self.release_from,
            "gang_scheduler": self.facts.expectations.gang_scheduler if self.facts else "",
            "gang_scheduler_from": self.facts.expectations.gang_from if self.facts else "",
            "retries": self.retries,
            **({"rollout_problems": [text(item) for item in self.rollout_problems]} if self.rollout_problems else {}),
            "interrupted": self.interrupted is not None,
        }

    def _cluster(self) -> dict[str, Any]:
        facts = self.facts
        nodes, pods = (facts.objects.get(kind) if facts else None for kind in (NODES, PODS))
        systems = {item.get("status", {}).get("nodeInfo", {}).get("osImage", "") for item in nodes or ()}
        return {
            "origin": text(self.origin),
            "server_version": facts.server_version if facts else "",
            "uid": facts.cluster_uid if facts else "",
            "nodes": None if nodes is None else len(nodes),
            "os": sorted(text(item) for item in systems if item),
            "simulated_nodes": None if nodes is None or facts is None else len(facts.simulated_nodes),
            "pods": None if pods is None else len(pods),
            "simulated_pods": None if pods is None or facts is None else len(facts.simulated_pods),
            "simulated_webhooks": [
                {"kind": text(item.kind), "name": text(item.name), "webhooks": [text(name) for name in item.webhooks]}
                for item in (facts.known(SIMULATED_WEBHOOKS) if facts else ())
            ],
        }

    def _hosts(self) -> dict[str, Any]:
        """The hosts of a preflight; empty where only a cluster was judged."""
        inventory = self.facts.inventory if self.facts else None
        if inventory is None:
            return {}
        systems = {host.facts.os.name for host in inventory.reached if host.facts and host.facts.os}
        return {
            "hosts": {
                "asked": [text(host.name) for host in inventory.hosts],
                "answered": len(inventory.reached),
                "left_out": [text(name) for name in inventory.left_out],
                "os": sorted(text(name) for name in systems),
            }
        }


def stem(started: str, run: str) -> str:
    """Common prefix of the names of a run's files, from two fields of its document."""
    return f"{re.sub(r'[-:]', '', started)}-{run}"


def anchor(id_: str, slug: str) -> str:
    """Fragment of a check in the manual: what Markdown makes of the heading `C2 deployments-available`."""
    return f"{id_.lower()}-{slug}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _summary(summary: Summary) -> dict[str, Any]:
    counts = {str(status): number for status, number in summary.counts.items()}
    return {
        "verdict": str(summary.verdict),
        "planned": summary.planned,
        "evaluated": summary.evaluated,
        **counts,
        "coverage": round(summary.coverage, 4),
        "skipped": summary.skipped,
        "unevaluated": summary.unevaluated,
    }


def _check(result: Result, stem: str) -> dict[str, Any]:
    check, outcome, waived = result.check, result.outcome, result.waived
    return {
        "id": check.id,
        "slug": check.slug,
        "title": check.title,
        "category": check.family,
        "severity": str(check.severity),
        "status": str(outcome.status),
        "reason": outcome.reason,
        "message": text(outcome.message),
        "expected": text(outcome.expected),
        "observed": safe(outcome.observed),
        "objects": [_object(ref) for ref in sorted(outcome.objects)[:_MOST_OBJECTS]],
        "objects_total": len(outcome.objects),
        "because": list(outcome.because) if outcome.reason == REASON else [],
        "waived": {"status": str(waived.status), "reason": waived.reason, "message": text(waived.message)}
        if waived
        else None,
        "remediation": {
            "text": text(outcome.todo),
            "commands": [text(item) for item in outcome.commands[:_MOST_OBJECTS]],
            "changes": [text(item) for item in outcome.changes[:_MOST_OBJECTS]],
            "about": check.remedy,
            "url": f"{MANUAL}#{anchor(check.id, check.slug)}",
        },
        "findings": [_finding(item) for item in outcome.findings],
        "evidence": sorted(_evidence(result, stem)),
        "duration_s": round(result.seconds, 3),
        "started": _time(result.started),
    }


def _finding(item: Finding) -> dict[str, Any]:
    return {
        "objects": [_object(ref) for ref in item.objects[:_MOST_OBJECTS]],
        "found": [text(found) for found in item.found[:_MOST_OBJECTS]],
        "owners": [text(owner) for owner in item.owners[:_MOST_OBJECTS]],
        "todo": text(item.todo),
        "commands": [text(command) for command in item.commands[:_MOST_OBJECTS]],
        "changes": [text(command) for command in item.changes[:_MOST_OBJECTS]],
    }


def _evidence(result: Result, stem: str) -> list[str]:
    """Paths of the texts of one check; names that come from a cluster cannot leave the directory."""
    names = (re.sub(r"[^\w.-]", "_", name)[:120] for name in result.outcome.evidence)
    return [f"{stem}.evidence/{result.check.id}-{name}" for name in names]


def _object(ref: Ref) -> dict[str, str]:
    return {
        "api_version": text(ref.api_version),
        "kind": text(ref.kind),
        "namespace": text(ref.namespace),
        "name": text(ref.name),
    }


def _cleanup(cleanup: Cleanup | None) -> dict[str, Any]:
    if cleanup is None:
        return {"created": 0, "removed": 0, "swept": 0, "left": []}
    return {
        "created": len(cleanup.created),
        "removed": len(cleanup.removed),
        "swept": len(cleanup.swept),
        "left": [{**_object(item.ref), "uid": item.uid, "why": text(item.why)} for item in cleanup.left],
    }
