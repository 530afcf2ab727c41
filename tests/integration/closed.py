"""Playbooks in a network namespace without a route, beside a registry of one's own that is there, too.

python -m tests.integration.closed VARIABLES PLAYBOOK…     # prints a Closed as JSON; image_mirror_registry is added
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.hosts.lab.registry import Registry
from tests.places import ROOT


@dataclass(frozen=True)
class Closed:
    """Exit code and output of each playbook, the routes of the namespace, and what the registry has in the end."""

    codes: list[int]
    outputs: list[str]
    routes: str
    digests: dict[str, dict[str, str]]


def run_closed(variables: Mapping[str, Any], *playbooks: str, environment: Mapping[str, str], net: str = "") -> Closed:
    """Run playbooks with the sample inventory, in a new namespace or in that of the process `net`."""
    inside = [sys.executable, "-m", "tests.integration.closed", json.dumps(variables), *playbooks]
    enter = ["nsenter", f"--net=/proc/{net}/ns/net"] if net else ["unshare", "--net"]
    up = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    done = subprocess.run(
        [*enter, *up, *inside], cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Closed(**json.loads(done.stdout))


def main() -> None:
    """Inside of the namespace."""
    variables, playbooks = json.loads(sys.argv[1]), sys.argv[2:]
    routes = subprocess.run(["ip", "route", "show", "default"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as home:
        registry = Registry("127.0.0.1", Path(home), tls=False)
        given = json.dumps({"image_mirror_registry": registry.address, **variables})
        program = Path(sys.executable).with_name("ansible-playbook")
        runs = [
            subprocess.run(
                [program, "-i", "inventory/sample", "-e", given, *playbook.split()],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=os.environ,
                text=True,
                check=False,
            )
            for playbook in playbooks
        ]
        digests = {
            name: {tag: _digest_of(found, tag) for tag in found if not tag.startswith("sha256:")}
            for name, found in registry.manifests.items()
        }
        registry.stop()
    answer = Closed([run.returncode for run in runs], [run.stdout for run in runs], routes, digests)
    sys.stdout.write(json.dumps(asdict(answer)))


def _digest_of(found: Mapping[str, tuple[str, bytes]], tag: str) -> str:
    return next(name for name, kept in found.items() if name.startswith("sha256:") and kept == found[tag])


if __name__ == "__main__":
    main()
