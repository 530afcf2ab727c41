"""What a failed connection to a host means, and what to do about it: the words of ssh, sudo and Ansible, understood."""

from __future__ import annotations

import re
from typing import NamedTuple

from kubeflow_volcano.problems import Problem

__all__ = ["trouble"]


class _Cause(NamedTuple):
    """What is said (a regular expression) where this is the cause; its groups fill the braces of `found`."""

    said: str
    found: str
    needed: str
    todo: str


_WAY = "an SSH server that answers this machine."
_NETWORK = (
    "see that the host is up and that ansible_host and ansible_port are right; where only another host reaches it, "
    "name that one: ansible_ssh_common_args: -o ProxyJump=user@jump.example.org."
)
_ROOT = "the password with which this user may become root."
_SUDO = "run with --ask-become-pass, or set ansible_become_password in a file that ansible-vault encrypts."

# Messages of OpenSSH's ssh(1) and of Ansible's connection plugin ssh; the first that fits counts.
_OF_THE_WAY = (
    _Cause(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED(?:.*?key sent by the remote host is\s+(?P<shown>\S+?)\.?\s)?"
        r"(?:.*?Offending \S+ key in (?P<known>\S+))?",
        "its host key is not the one that this machine knows ({known}); it now shows {shown}.",
        "the key that was accepted before: another one is another machine, or somebody in between.",
        "compare with ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub on the host's console. Only where the host was "
        "installed anew: ssh-keygen -R ADDRESS, then ssh to it once and accept the key.",
    ),
    _Cause(
        r"Host key verification failed|No \S+ host key is known for",
        "its host key is not known here.",
        "a host key that somebody has compared and accepted.",
        "ssh to it once from here and accept the key after comparing it, or add it to known_hosts.",
    ),
    _Cause(
        r"(?:Bad owner or permissions on|Permissions \d+ for) '?(?P<file>[^\s']+)",
        "{file} can be read by others, so ssh does not use it.",
        "a file that only you can read.",
        "chmod 600 that file.",
    ),
    _Cause(
        r"no such identity: (?P<file>[^\s:]+)|Load key \"(?P<key>[^\"]+)\"",
        "the key file {file}{key} cannot be used.",
        "a private key that ssh can read.",
        "correct ansible_ssh_private_key_file; load a key with a passphrase into ssh-agent.",
    ),
    _Cause(
        r"install the sshpass program",
        "a password for ssh, and no sshpass on this machine.",
        "a key, or the program sshpass, which hands passwords to ssh.",
        "copy a key with ssh-copy-id, or install sshpass.",
    ),
    _Cause(
        r"(?:(?P<user>\S+)@\S+: )?Permission denied \((?P<ways>[^)]*)\)|Too many authentication failures|"
        r"Invalid/incorrect password",
        "it does not let the user {user} in ({ways}).",
        "a user and a key that the host knows.",
        "set ansible_user and ansible_ssh_private_key_file, copy the key with ssh-copy-id, or run with --ask-pass.",
    ),
    _Cause(
        r"Could not resolve hostname (?P<name>[^\s:]+)",
        "the name {name} has no address here.",
        "a name that this machine can resolve, or an address.",
        "set ansible_host to the host's address.",
    ),
    _Cause(
        r"connect to host (?P<address>\S+) port (?P<port>\d+): (?P<why>[^\r\n]+)",
        "{address} port {port}: {why}.",
        _WAY,
        _NETWORK,
    ),
    _Cause(
        r"open failed: (?P<why>[^\r\n]+)|(?P<closed>Connection closed) by UNKNOWN port 65535",
        "the host in between does not pass the connection on ({why}{closed}).",
        "a host in between that reaches it and forwards connections.",
        "try ssh from there to it; see AllowTcpForwarding of its SSH server, and ProxyJump in ansible_ssh_common_args.",
    ),
    _Cause(
        r"Connection timed out during banner exchange|Connection to (?P<address>\S+) port \d+ timed out",
        "it takes connections, and then says nothing.",
        _WAY,
        _NETWORK,
    ),
    _Cause(
        r"Timeout, server \S+ not responding|Broken pipe|Connection (?:closed|reset) by|closed by remote host|"
        r"kex_exchange_identification|Shared connection to \S+ closed|Data could not be sent to remote host",
        "the connection ended while it was in use.",
        "a host that stays up.",
        "see on its console whether it went down or sshd was stopped, then run again; what was done is not repeated.",
    ),
)

# Messages of sudo(8) and of Ansible, once ssh is in.
_OF_THE_HOST = (
    _Cause(
        r"Incorrect (?:\S+ )?password|Sorry, try again",
        "sudo does not accept the password.",
        _ROOT,
        _SUDO,
    ),
    _Cause(
        r"Missing (?:\S+ )?password|a password is required",
        "sudo asks for a password, and none was given.",
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
        r"you must have a tty",
        "its sudo works on terminals only (requiretty).",
        "a sudo that works without one.",
        "remove Defaults requiretty from its sudoers for this user, or set ansible_pipelining: false and "
        "ansible_ssh_use_tty: true.",
    ),
    _Cause(
        r"(?:[Pp]assword change required|(?:[Pp]assword|[Aa]ccount)(?: or password)? (?:is|has) expired)",
        "the password or the account of this user has expired.",
        "a user who may sign in.",
        "sign in there by hand and set a new password, or let it not expire (chage -M -1) for a user with a key.",
    ),
    _Cause(
        r"This account is currently not available",
        "this user may not run commands there; its shell is nologin.",
        "a user with a shell.",
        "set ansible_user to another one.",
    ),
    _Cause(
        r"sudo: (?:command )?not found|sudo: No such file",
        "it has no sudo.",
        "a way to become root.",
        "install sudo, set ansible_user: root, or ansible_become_method: su.",
    ),
    _Cause(
        r"waiting for privilege escalation prompt",
        "sudo gave no answer in time.",
        "a sudo that asks for its password, or does not need one.",
        "try sudo there by hand: a name service that hangs, or a message before the prompt, delays it.",
    ),
    _Cause(
        r"Failed to create temporary directory"
        r"(?:.*(?P<place>No space left on device|Read-only file system|Permission denied|Disk quota exceeded))?",
        "it takes no files of this user: {place}.",
        "a few MB in the directory that ansible_remote_tmp names (~/.ansible/tmp), which the user may write to.",
        "make room there, mend its owner, or set ansible_remote_tmp to another directory.",
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
)


_UNSAID = {
    "known": "known_hosts",
    "place": "no directory can be made",
    "shown": "another",
    "user": "that was asked for",
    "ways": "in no way",
}
"""What stands for a part of a message that was not said."""


def trouble(said: str, *, reached: bool) -> Problem | None:
    """The problem behind what ssh, sudo or Ansible said; None where it is about something else.

    A task that failed on a host that was `reached` may speak of other connections than the one to the host.
    """
    for cause in _OF_THE_HOST if reached else (*_OF_THE_WAY, *_OF_THE_HOST):
        if match := re.search(cause.said, said, re.DOTALL):
            words = {name: (value or _UNSAID.get(name, "")).strip() for name, value in match.groupdict().items()}
            return Problem(cause.found.format(**words), cause.needed, cause.todo)
    return None
