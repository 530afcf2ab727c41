"""The problem behind a failed connection to a host: messages of ssh, sudo and Ansible by the table of symptoms.

Every other message of ssh or sudo becomes a problem with their own words.
"""

from __future__ import annotations

import re

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.problems import Problem

# The same as Ansible words them, of a task on a host that was reached.
_BECOME = re.compile(r"(?i)(incorrect|missing) \S+ password|privilege escalation|become|sudo:|not in the sudoers")
_PYTHON = re.compile(r"(?i)interpreter|python version|python \S+ is too old|SyntaxError|ModuleNotFoundError|libpython")

_CONNECTION = "Failed to connect to the host via ssh:"
"""Ansible's words before those of ssh."""

_MOST_LINES = 3


def kind_of(said: str) -> str:
    """What failed on a host that was reached: `become`, `python`, or the `module` itself."""
    if _BECOME.search(said):
        return "become"
    return "python" if _PYTHON.search(said) else "module"


def trouble(said: str, *, reached: bool, printed: str = "") -> Problem | None:
    """The problem behind what ssh, sudo or Ansible said; None if it is about something else.

    A task that failed on a host that was `reached` may mention other connections than the one to the host. `printed` is
    what came in place of a module's answer; a traceback in it is about the module.
    """
    if (known := recognise(said, "ansible" if reached else "ssh")) and known.needed:
        return Problem(f"{known.cause.rstrip('.')}.", known.needed, known.todo)
    if lines := [line.strip() for line in printed.splitlines() if line.strip() and "Traceback" not in printed]:
        return Problem(
            f"no module answered; the host printed: {' '.join(lines[-_MOST_LINES:]).rstrip('.')}.",
            "a user whose shell runs programs.",
            "run ssh to the host as this user and correct what it prints (an expired password, the shell nologin), or "
            "set ansible_user to another user.",
        )
    if reached or _CONNECTION not in said:
        return None
    words_of_ssh = "; ".join(line.strip() for line in said.partition(_CONNECTION)[2].splitlines() if line.strip(" @"))
    return Problem(
        f"ssh says: {words_of_ssh.rstrip('.')}.",
        "an SSH connection from this machine.",
        "run ssh -v to the host, and correct ansible_host, ansible_port, ansible_user, ansible_ssh_private_key_file or "
        "ansible_ssh_common_args (ProxyJump).",
    )
