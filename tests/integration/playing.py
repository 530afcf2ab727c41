"""Playbooks run to their end, as a person runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT


def play(playbook: str, inventory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The result of playbooks/<playbook>.yml with that inventory."""
    with started(playbook, inventory, *arguments) as running:
        said, _ = running.communicate()
    return subprocess.CompletedProcess(running.args, running.returncode, said)


def started(playbook: str, inventory: Path, *arguments: str) -> subprocess.Popen[str]:
    """The playbook while it runs; what it says comes together on its output."""
    return subprocess.Popen(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", inventory, f"playbooks/{playbook}.yml", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "NO_COLOR": "1"},
    )
