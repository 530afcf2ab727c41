"""The problem behind a failed connection to a host: the frequent messages of ssh, sudo and Ansible, explained.

Every other message of ssh or sudo becomes a problem with their own words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kubeflow_volcano.problems import Problem

__all__ = ["kind_of", "trouble"]


class _Cause(NamedTuple):
    """A message (a regular expression) with this cause; its groups fill the braces of `found`."""

    message: str
    found: str
    needed: str
    todo: str


_ROOT = "the password with which this user may become root."
_SUDO = "run with --ask-become-pass, or set ansible_become_password in a file that ansible-vault encrypts."

# Messages of OpenSSH's ssh(1); the first that matches counts.
_OF_SSH = (
    _Cause(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED(?:.*?key sent by the remote host is\s+(?P<shown>\S+?)\.?\s)?"
        r"(?:.*?Offending \S+ key in (?P<known>\S+))?",
        "its host key is not the one that this machine knows ({known}); it now shows {shown}.",
        "the key that was accepted before: with another key it is another machine, or an attacker in between.",
        "compare with ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub on the host's console. Only if the host was "
        "reinstalled: ssh-keygen -R ADDRESS, then ssh to it once and accept the key.",
    ),
    _Cause(
        r"Host key verification failed|No \S+ host key is known for",
        "its host key is not known here.",
        "a host key that was compared and accepted.",
        "ssh to it once from here and accept the key after comparing it, or add it to known_hosts.",
    ),
    _Cause(
        r"(?:(?P<user>\S+)@\S+: )?Permission denied \((?P<ways>[^)]*)\)|Invalid/incorrect password",
        "it does not let the user {user} in ({ways}).",
        "a user and a key that the host accepts.",
        "set ansible_user and ansible_ssh_private_key_file (a file that only you can read: chmod 600), copy the key "
        "with ssh-copy-id, or run with --ask-pass.",
    ),
    _Cause(
        r"connect to host (?P<address>\S+) port (?P<port>\d+): (?P<why>[^\r\n]+)",
        "{address} port {port}: {why}.",
        "an SSH server that answers this machine.",
        "check that the host is up and that ansible_host and ansible_port are right. If only another host reaches it, "
        "set ansible_ssh_common_args: -o ProxyJump=user@jump.example.org.",
    ),
    # Ansible writes to an ssh that is about to end, and gives up before it reads why.
    _Cause(
        r"Data could not be sent to remote host '?(?P<host>\S+?)'?\. Make sure this host can be reached over SSH\.",
        "ssh to {host} ended before anything could be sent.",
        "an SSH server that answers this machine, and a short path for the socket of ssh on this machine.",
        "check that the host is up and that ansible_host and ansible_port are right; ssh -v to it tells more. If your "
        "home directory has a path of more than 60 characters: export ANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/ssh-$USER.",
    ),
    # A socket's address has 108 bytes, and ssh adds 17 characters to ControlPath (OpenSSH, mux.c).
    _Cause(
        r"too long for Unix domain socket|ControlPath too long",
        "the path of the socket that ssh keeps below your home directory is longer than the system allows.",
        "a path of at most 90 characters.",
        "export ANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/ssh-$USER, and run again.",
    ),
    _Cause(
        r"Timeout, server \S+ not responding|Broken pipe|Connection (?:closed|reset) by (?!UNKNOWN)|"
        r"closed by remote host|Shared connection to \S+ closed|Data could not be sent to remote host",
        "the connection ended while it was in use.",
        "a host that stays up.",
        "see on its console whether it went down or sshd stopped, then run again; finished work is not repeated.",
    ),
)

# Messages of PAM, nologin(8), sudo(8) and Ansible, once ssh has a connection.
_OF_THE_HOST = (
    _Cause(
        r"(?:[Pp]assword change required|(?:[Pp]assword|[Aa]ccount)(?: or password)? (?:is|has) expired)",
        "the password or the account of this user has expired.",
        "a user who may log in.",
        "log in on the host and set a new password, or disable its expiry (chage -M -1) for a user with a key.",
    ),
    _Cause(
        r"This account is currently not available",
        "this user may not run commands; its shell is nologin.",
        "a user with a shell.",
        "set ansible_user to another user.",
    ),
    _Cause(r"Incorrect (?:\S+ )?password|Sorry, try again", "sudo does not accept the password.", _ROOT, _SUDO),
    _Cause(
        r"Missing (?:\S+ )?password|a password is required",
        "sudo requires a password, and none was given.",
        _ROOT,
        _SUDO,
    ),
    _Cause(
        r"not in the sudoers file|is not allowed to (?:execute|run)",
        "this user may not become root.",
        "root: packages, kernel settings, container runtimes and directories of volumes belong to it.",
        "add the user to the group wheel, or set ansible_user to one that may.",
    ),
    _Cause(
        r"Failed to create temporary directory"
        r"(?:.*(?P<place>No space left on device|Read-only file system|Permission denied|Disk quota exceeded))?",
        "it takes no files of this user: {place}.",
        "a few MB in the directory that ansible_remote_tmp names (~/.ansible/tmp), which the user may write to.",
        "make room there, correct its owner, or set ansible_remote_tmp to another directory.",
    ),
    _Cause(
        r"interpreter '(?P<path>[^']+)' was not found|(?P<shell>\S*python\S*): (?:command )?not found|"
        r"(?P<none>No python interpreters found)",
        "no Python runs where Ansible looks for one.",
        "Python 3.9 or newer.",
        "install python3 there, or set ansible_python_interpreter to the path of one.",
    ),
    _Cause(
        r"requires a minimum of Python(?:2 version \S+ or Python3)? version \S+\. Current version: (?P<old>[\d.]+\d)",
        "its Python is {old}.",
        "Python 3.9 or newer.",
        "install a newer one beside it, and set ansible_python_interpreter to its path.",
    ),
    _Cause(
        r"(?m)(?:^|\s)sudo: (?P<words>[^\r\n]+)",
        "sudo says: {words}.",
        "a sudo that runs commands of this user without a terminal.",
        "run sudo -v as this user on the host and correct what it reports, or set ansible_user or "
        "ansible_become_method (su).",
    ),
)

# The same as Ansible words them, of a task on a host that was reached.
_BECOME = re.compile(r"(?i)(incorrect|missing) \S+ password|privilege escalation|become|sudo:|not in the sudoers")
_PYTHON = re.compile(r"(?i)interpreter|python version|python \S+ is too old|SyntaxError|ModuleNotFoundError|libpython")

_CONNECTION = "Failed to connect to the host via ssh:"
"""Ansible's words before those of ssh."""

_UNSAID = {
    "known": "known_hosts",
    "place": "no directory can be created",
    "shown": "another",
    "user": "of the inventory",
    "ways": "in no way",
}
"""What replaces a part that a message does not have."""


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
    for cause in _OF_THE_HOST if reached else (*_OF_SSH, *_OF_THE_HOST):
        if match := re.search(cause.message, said, re.DOTALL):
            words = {name: (value or _UNSAID.get(name, "")).strip() for name, value in match.groupdict().items()}
            return Problem(cause.found.format(**words), cause.needed, cause.todo)
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
