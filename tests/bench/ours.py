"""The subject: the project's own engine rolls out upstream's example; a process of its own, so that it can be measured.

python -m tests.bench.ours KUBECONFIG VARIABLES

VARIABLES is a JSON file of inventory variables. Renders first, or takes the kept builds. Prints one line of JSON:
seconds from connecting to the last object's acceptance, without the rendering; what became of the objects; how long the
look for stale objects takes, as a share of all before it; requests that had to be repeated; the process's peak memory.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from kubeflow_volcano.apply.removing.managed import managed_objects
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import Brought
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.rollout.desired import render_upstream
from kubeflow_volcano.rollout.existing.owners import brought_uids
from kubeflow_volcano.rollout.run import engine_for
from kubeflow_volcano.rollout.state.inventory import write_inventory
from kubeflow_volcano.rollout.state.store import ensure_namespace
from tests.bench.releases import example_of


def peak_mib(process: int | str = "self") -> float:
    """The most memory that a process ever had resident; without a number, this one."""
    match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(match[1]) / 1024 if match else 0.0


def main(kubeconfig: str, variables: str) -> None:
    """Roll out what these variables choose of the example."""
    progress = to_stderr()
    begun = time.monotonic()
    settings, components = example_of(Path(variables))
    parts, _ = render_upstream(settings, components, progress)
    started, cpu = time.monotonic(), time.process_time()
    cluster = Cluster.connect(Path(kubeconfig))
    brought = brought_uids(cluster)
    engine = engine_for(
        cluster, settings, components, parts, check=False, progress=progress, texts=False, brought=brought
    )
    engine.apply()
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    whole = time.monotonic()
    found = managed_objects(cluster, engine.deadline)
    share = (time.monotonic() - whole) / (whole - begun)
    result = engine.result()
    ensure_namespace(cluster, settings.namespace_labels)
    # By it the next run knows an object of whose fields others own all.
    uids = {item.ref: item.uid for item in result.outcomes if item.uid}
    write_inventory(cluster, {"example": Brought(settings.release.version, uids)})
    facts = {
        "seconds": seconds,
        "cpu": cpu,
        "objects": sum(map(len, parts.values())),
        "actions": Counter(str(item.action) for item in result.outcomes),
        "problems": [str(problem) for problem in result.problems],
        "managed": len(found.objects),
        "stale_share": share,
        "sent_again": cluster.retries,
        "peak_mib": peak_mib(),
    }
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
