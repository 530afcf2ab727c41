"""The document of several clusters, kfv.clusters/v1: the verdict of each, and the clusters of each finding."""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from kubeflow_volcano import __version__
from kubeflow_volcano.problems import Exit, Problem
from kubeflow_volcano.validators.core.check import natural
from kubeflow_volcano.validators.core.results import Verdict, worst
from kubeflow_volcano.validators.core.safe import text
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import counted, say
from kubeflow_volcano.validators.report.document import stem
from kubeflow_volcano.validators.report.summary import ATTENTION, attention

SCHEMA = "kfv.clusters/v1"
PREFIX = "clusters-"
"""Prefix of the names of all files of this report."""

_RUN = ("id", "started", "ended", "duration_s", "release", "release_from", "retries", "interrupted")
_CLUSTER = ("origin", "server_version", "uid", "nodes", "os", "simulated_nodes", "pods", "simulated_pods")
_WORST_FIRST = (Verdict.FAIL, Verdict.INCOMPLETE, Verdict.WARN, Verdict.PASS)
_VERDICTS = {"fail": "failed", "incomplete": "incomplete", "warn": "with warnings", "pass": "passed"}
_WELL = ("pass", "skip")


@dataclass(frozen=True)
class Judged:
    """The result of one cluster: its report document and the files that hold it, or why there is none."""

    name: str
    exit_code: Exit
    document: Mapping[str, Any] | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Paths by format; empty where nothing was written."""
    problems: tuple[Problem, ...] = ()
    rollout: str = ""
    """What became of the roll-out before: changed, unchanged, failed or not begun; empty without one."""

    @property
    def verdict(self) -> Verdict:
        """As in the document; incomplete without one."""
        return Verdict(self.document["summary"]["verdict"]) if self.document else Verdict.INCOMPLETE


@dataclass(frozen=True)
class Combined:
    """Several clusters, in the order in which they were named."""

    judged: Sequence[Judged]
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    unwritten: Problem | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    language: str = ENGLISH
    """Of everything that is written for people; the document is English."""

    @property
    def exit_code(self) -> Exit:
        """The worst of all clusters."""
        codes = [item.exit_code for item in self.judged]
        return worst([*codes, Exit.REPORT_NOT_WRITTEN] if self.unwritten else codes)

    @property
    def verdict(self) -> Verdict:
        """The worst of all clusters."""
        return min((item.verdict for item in self.judged), key=_WORST_FIRST.index)

    @cached_property
    def started(self) -> str:
        """When the first cluster's run began; the current time where none did."""
        known = [item.document["run"]["started"] for item in self.judged if item.document]
        return min(known, default=datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))

    @property
    def stem(self) -> str:
        """Common prefix of the names of this run's files."""
        return f"{PREFIX}{stem(self.started, self.run)}"

    def as_dict(self, directory: Path | None = None) -> dict[str, Any]:
        """The document; paths of the clusters' files are relative to `directory`."""
        verdicts = Counter(item.verdict for item in self.judged)
        ended = [item.document["run"]["ended"] for item in self.judged if item.document]
        return {
            "schema": SCHEMA,
            "run": {
                "id": self.run,
                "started": self.started,
                "ended": max(ended, default=self.started),
                "tool": __version__,
            },
            "summary": {
                "verdict": str(self.verdict),
                "exit_code": int(self.exit_code),
                "clusters": len(self.judged),
                **{str(verdict): verdicts[verdict] for verdict in Verdict},
            },
            "clusters": [_cluster(item, directory) for item in self.judged],
            "same_cluster": _same(self.judged),
            "attention": list(_findings(self.judged)),
            "checks": _checks(self.judged),
        }


def _cluster(judged: Judged, directory: Path | None) -> dict[str, Any]:
    document = judged.document
    return {
        "name": text(judged.name),
        "verdict": str(judged.verdict),
        "exit_code": int(judged.exit_code),
        "rollout": judged.rollout,
        "problems": [text(str(item)) for item in judged.problems],
        "run": {key: document["run"][key] for key in _RUN} if document else None,
        "cluster": {key: document["cluster"][key] for key in _CLUSTER} if document else None,
        "summary": document["summary"] if document else None,
        "left_behind": len(document["cleanup"]["left"]) if document else 0,
        "files": _files(judged, directory),
    }


def _files(judged: Judged, directory: Path | None) -> dict[str, str]:
    """The files of this run itself, which stay when `latest` is overwritten."""
    if not (judged.document and directory):
        return {}
    run = judged.document["run"]
    name = stem(run["started"], run["id"])
    return {
        kind: Path(os.path.relpath(Path(path).with_name(f"{name}.{kind}"), directory)).as_posix()
        for kind, path in judged.files.items()
    }


def _same(judged: Sequence[Judged]) -> list[list[str]]:
    """Groups of names of the same cluster."""
    names: dict[str, list[str]] = defaultdict(list)
    for item in judged:
        if item.document and (uid := item.document["cluster"]["uid"]):
            names[uid].append(text(item.name))
    return [group for group in names.values() if len(group) > 1]


def _findings(judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """Findings, the worst status first; a finding of several clusters is listed once."""
    rows: dict[tuple[str, str, tuple[str, ...]], dict[str, Any]] = {}
    for cluster in judged:
        for items in attention(cluster.document) if cluster.document else ():
            first = items[0]
            key = (first["status"], first["message"], tuple(item["id"] for item in items))
            row = rows.setdefault(key, _finding(items))
            row["clusters"].append(text(cluster.name))
    yield from sorted(rows.values(), key=lambda row: ATTENTION.index(row["status"]))


def _finding(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = items[0]
    return {
        "status": first["status"],
        "checks": [{key: item[key] for key in ("id", "slug", "title")} for item in items],
        "message": first["message"],
        "expected": first["expected"] if len(items) == 1 else "",
        "remediation": {key: first["remediation"][key] for key in ("text", "commands", "changes", "url")},
        "clusters": [],
    }


def _checks(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Every check with its status on each cluster where it was planned."""
    rows: dict[str, dict[str, Any]] = {}
    for cluster in judged:
        for item in cluster.document["checks"] if cluster.document else ():
            known = {key: item[key] for key in ("id", "slug", "title", "category", "severity")}
            row = rows.setdefault(item["id"], known | {"statuses": {}})
            row["statuses"][text(cluster.name)] = item["status"]
    return [rows[id_] for id_ in sorted(rows, key=natural)]


def describe_verdicts(document: Mapping[str, Any]) -> str:
    """How many clusters have which verdict: `1 failed, 2 passed`."""
    summary = document["summary"]
    return say(", ").join(
        say(f"{{number}} {words}", number=summary[key]) for key, words in _VERDICTS.items() if summary[key]
    )


def describe_cluster(item: Mapping[str, Any]) -> str:
    """The roll-out before, versions and number of nodes of one cluster of the document."""
    cluster, run = item["cluster"], item["run"]
    before = say("roll-out {result}; ", result=say(item["rollout"])) if item["rollout"] else ""
    if not (cluster and cluster["server_version"]):
        return before + (say("not validated") if item["rollout"] and not run else say("not reached"))
    simulated = say(" ({number} simulated)", number=cluster["simulated_nodes"]) if cluster["simulated_nodes"] else ""
    nodes = f"{counted(cluster['nodes'], 'node')}{simulated}"
    return f"{before}{cluster['server_version']}, {nodes}, Kubeflow {run['release']}"


def differing_checks(document: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], int]:
    """Checks that neither passed nor were skipped on some cluster, and the number of all other checks.

    Clusters on which no check could be evaluated, such as unreachable ones, do not count.
    """
    evaluated = {item["name"] for item in document["clusters"] if item["summary"] and item["summary"]["evaluated"]}
    planned = [row for row in document["checks"] if evaluated.intersection(row["statuses"])]
    rows = [row for row in planned if any(row["statuses"].get(name, _WELL[0]) not in _WELL for name in evaluated)]
    return rows, len(planned) - len(rows)


def clusters_with(row: Mapping[str, Any], status: str) -> list[str]:
    """Names of the clusters on which the check has that status."""
    return [name for name, found in row["statuses"].items() if found == status]
