"""python -m tests.faults.killed KUBECONFIG OBJECTS: rolls out a JSON list of objects, for tests that end it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.progress import to_stderr
from tests.faults.rolling import run


def main(kubeconfig: str, objects: str) -> int:
    """1 when something was refused."""
    result = run(Cluster.connect(Path(kubeconfig)), json.loads(Path(objects).read_text("utf-8")), progress=to_stderr())
    return int(bool(result.problems))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
