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
from kubeflow_volcano.rollout.desired import rendered
from kubeflow_volcano.rollout.settings import parse


def main(variables: str) -> None:
    """Render what stands in upstream's example, of the components that the variables choose."""
    settings = parse(json.loads(Path(variables).read_bytes()))
    example = [part for part in settings.components if part.example]
    started = time.monotonic()
    parts, _ = rendered(settings, example, to_stderr())
    facts = {"seconds": time.monotonic() - started, "objects": sum(map(len, parts.values()))}
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
