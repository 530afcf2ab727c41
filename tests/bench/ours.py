"""The subject: the project's own engine rolls out a render; run as a process of its own, so that it can be measured.

python -m tests.bench.ours KUBECONFIG RENDER

Prints one line of JSON: seconds from connecting to the last object's acceptance; what became of the objects; requests
that had to be repeated; the process's peak memory.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.rollout.run import apply_objects

_LIMIT_SECONDS = 600.0


def peak_mib() -> float:
    """The most memory that this process ever had resident."""
    match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(match[1]) / 1024 if match else 0.0


def main(kubeconfig: str, render: str) -> None:
    """Roll out `render`, a JSON list of objects."""
    objects = json.loads(Path(render).read_bytes())
    started = time.monotonic()
    cluster = Cluster.connect(Path(kubeconfig))
    result = apply_objects(cluster, objects, Deadline(_LIMIT_SECONDS), to_stderr())
    seconds = time.monotonic() - started
    facts = {
        "seconds": seconds,
        "objects": len(objects),
        "actions": Counter(str(item.action) for item in result.outcomes),
        "problems": [str(problem) for problem in result.problems],
        "sent_again": cluster.retries,
        "peak_mib": peak_mib(),
    }
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
