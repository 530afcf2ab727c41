"""Playbooks run as a person runs them: with the checkout's configuration, and without colours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from tests.places import ROOT


def ansible(
    *words: str | Path,
    program: str = "ansible-playbook",
    enter: tuple[str, ...] = (),
    cwd: Path = ROOT,
    merged: bool = False,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """The program, run to its end; its exit code is the caller's to judge. `merged`: its output has its errors, too."""
    return subprocess.run(
        [*enter, Path(sys.executable).with_name(program), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merged else subprocess.PIPE,
        text=True,
        check=False,
        cwd=cwd,
        env=_environment(environment),
    )


def started(
    *words: str | Path, output: int | IO[str] = subprocess.PIPE, in_own_group: bool = False, **environment: str
) -> subprocess.Popen[str]:
    """ansible-playbook while it runs; what it says, errors too, goes to `output`."""
    return subprocess.Popen(
        [Path(sys.executable).with_name("ansible-playbook"), *words],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=_environment(environment),
        start_new_session=in_own_group,
    )


def _environment(more: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "NO_COLOR": "1", **more}
