"""The subject of judging: all static checks of a large cluster, as a process of its own.

python -m tests.bench.judging KUBECONFIG RELEASE LISTED

Writes what was listed to LISTED, for the reference. Prints one line of JSON: seconds from connecting to the last
verdict, without those in which pods are only watched; how much was seen; the process's peak memory.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster, Listing
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.validators.run.runner import Options, validate
from kubeflow_volcano.validators.subjects.pods import WINDOW
from tests.bench.ours import peak_mib

_WINDOW_SECONDS = 1.0


def main(kubeconfig: str, release: str, listed: str) -> None:
    """Judge what can be judged by reading."""
    lists: list[dict[str, Any]] = []
    pages = Cluster.pages

    def recorded(cluster: Cluster, api_version: str, kind: str, **how: Any) -> Iterator[Listing]:
        asked = {key: how.get(key) or "" for key in ("namespace", "labels", "fields")} | {
            "brief": bool(how.get("brief"))
        }
        if (item := {"api_version": api_version, "kind": kind, **asked}) not in lists:
            lists.append(item)
        return pages(cluster, api_version, kind, **how)

    Cluster.pages = recorded  # type: ignore[assignment,method-assign]
    options = Options(
        Path(kubeconfig),
        release=release,
        profile="full",
        storage_mode="existing",
        read_only=True,
        stability_seconds=_WINDOW_SECONDS,
        report_dir=None,
    )
    started, cpu = time.monotonic(), time.process_time()
    report = validate(options, to_stderr())
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    Path(listed).write_text(json.dumps(lists))
    facts = report.facts
    window = facts.known(WINDOW) if facts else None
    counts = report.summary.counts
    result = {
        "seconds": seconds - (window.seconds if window else 0.0),
        "cpu": cpu,
        "peak_mib": peak_mib(),
        "objects": {name: len(items) for name, items in facts.objects.items()} if facts else {},
        "verdicts": {str(status): number for status, number in counts.items()},
        "errors": [
            f"{item.check.id}: {item.outcome.message}" for item in report.results if item.outcome.status == "error"
        ],
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
