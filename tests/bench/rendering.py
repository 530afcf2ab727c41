"""The subject of rendering: all components of upstream's example, as a process of its own.

python -m tests.bench.rendering VARIABLES

VARIABLES is a JSON file of inventory variables. Prints one line of JSON with the seconds and the number of objects.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.rollout.desired import render_upstream
from tests.bench.releases import example_of


def main(variables: str) -> None:
    """Render what these variables choose of the example."""
    settings, components = example_of(Path(variables))
    started = time.monotonic()
    parts, _ = render_upstream(settings, components, to_stderr())
    facts = {"seconds": time.monotonic() - started, "objects": sum(map(len, parts.values()))}
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
