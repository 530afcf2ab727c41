"""The reference of judging: the same lists by the same client, page by page, and nothing is done with them.

python -m tests.bench.listing KUBECONFIG LISTED

As many at a time as the subject reads. Prints one line of JSON: seconds, number of objects, peak memory.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from tests.bench.ours import peak_mib

_THREADS = 6


def main(kubeconfig: str, listed: str) -> None:
    """Read all that the subject read."""
    lists = json.loads(Path(listed).read_bytes())
    started, cpu = time.monotonic(), time.process_time()
    cluster = Cluster.connect(Path(kubeconfig))

    def read(how: dict[str, Any]) -> int:
        try:
            return sum(len(page.items) for page in cluster.pages(**how))
        except NotServed:
            return 0

    with ThreadPoolExecutor(_THREADS) as pool:
        objects = sum(pool.map(read, lists))
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    facts = {"seconds": seconds, "cpu": cpu, "objects": objects, "lists": len(lists), "peak_mib": peak_mib()}
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
