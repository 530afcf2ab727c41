"""The document of several clusters, kfv.clusters/v1: who stands where, and which finding is of which clusters."""

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
from validators.core.check import natural
from validators.core.results import Verdict, worst
from validators.core.safe import text
from validators.report.console import ATTENTION, attention
from validators.report.document import stem

__all__ = ["PREFIX", "SCHEMA", "Combined", "Judged"]

SCHEMA = "kfv.clusters/v1"
PREFIX = "clusters-"
"""What the names of all files of this report begin with."""

_RUN = ("id", "started", "ended", "duration_s", "release", "release_from", "retries", "interrupted")
_CLUSTER = ("origin", "server_version", "uid", "nodes", "os", "simulated_nodes", "pods", "simulated_pods")
_WORST_FIRST = (Verdict.FAIL, Verdict.INCOMPLETE, Verdict.WARN, Verdict.PASS)


@dataclass(frozen=True)
class Judged:
    """What became of one cluster: its report document with the files that hold it, or why there is none."""

    name: str
    exit_code: Exit
    document: Mapping[str, Any] | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Paths by format; empty where nothing was written."""
    problems: tuple[Problem, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """As in the document; nothing is known of a cluster without one."""
        return Verdict(self.document["summary"]["verdict"]) if self.document else Verdict.INCOMPLETE


@dataclass(frozen=True)
class Combined:
    """Several clusters, in the order in which they were named."""

    judged: Sequence[Judged]
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    unwritten: Problem | None = None
    files: Mapping[str, str] = field(default_factory=dict)

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
        """When the first cluster's run began; now where none did."""
        known = [item.document["run"]["started"] for item in self.judged if item.document]
        return min(known, default=datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))

    @property
    def stem(self) -> str:
        """What the names of this run's files begin with."""
        return f"{PREFIX}{stem(self.started, self.run)}"

    def as_dict(self, directory: Path | None = None) -> dict[str, Any]:
        """The document; files of the clusters are named as seen from `directory`."""
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
        "problems": [text(str(item)) for item in judged.problems],
        "run": {key: document["run"][key] for key in _RUN} if document else None,
        "cluster": {key: document["cluster"][key] for key in _CLUSTER} if document else None,
        "summary": document["summary"] if document else None,
        "left_behind": len(document["cleanup"]["left"]) if document else 0,
        "files": _files(judged, directory),
    }


def _files(judged: Judged, directory: Path | None) -> dict[str, str]:
    """The files of this very run, which stay when `latest` is another one."""
    if not (judged.document and directory):
        return {}
    run = judged.document["run"]
    name = stem(run["started"], run["id"])
    return {
        kind: Path(os.path.relpath(Path(path).with_name(f"{name}.{kind}"), directory)).as_posix()
        for kind, path in judged.files.items()
    }


def _same(judged: Sequence[Judged]) -> list[list[str]]:
    """Names that turned out to stand for one and the same cluster."""
    names: dict[str, list[str]] = defaultdict(list)
    for item in judged:
        if item.document and (uid := item.document["cluster"]["uid"]):
            names[uid].append(text(item.name))
    return [group for group in names.values() if len(group) > 1]


def _findings(judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """Failures, then what was not judged, then warnings; what several clusters have in common stands once."""
    found: dict[tuple[str, str, tuple[str, ...]], dict[str, Any]] = {}
    for cluster in judged:
        for items in attention(cluster.document) if cluster.document else ():
            first = items[0]
            key = (first["status"], first["message"], tuple(item["id"] for item in items))
            row = found.setdefault(key, _finding(items))
            row["clusters"].append(text(cluster.name))
    yield from sorted(found.values(), key=lambda row: ATTENTION.index(row["status"]))


def _finding(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = items[0]
    return {
        "status": first["status"],
        "checks": [{key: item[key] for key in ("id", "slug", "title")} for item in items],
        "message": first["message"],
        "expected": first["expected"] if len(items) == 1 else "",
        "remediation": {key: first["remediation"][key] for key in ("text", "commands", "url")},
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
