"""Playbooks run to their end, as a person runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

__all__ = ["play"]


def play(playbook: str, inventory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The result of playbooks/<playbook>.yml with that inventory."""
    return subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", inventory, f"playbooks/{playbook}.yml", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "NO_COLOR": "1"},
    )
