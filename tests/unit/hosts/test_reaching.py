"""What ssh, sudo and Ansible say about a host that cannot be worked on becomes found, needed and do."""

from __future__ import annotations

import pytest

from kubeflow_volcano.hosts.reaching import trouble

CHANGED = """Failed to connect to the host via ssh: @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
The fingerprint for the ED25519 key sent by the remote host is
SHA256:AbCd0123/xyz+w.
Please contact your system administrator.
Add correct host key in /root/.ssh/known_hosts to get rid of this message.
Offending ED25519 key in /root/.ssh/known_hosts:7
Host key for 192.0.2.7 has changed and you have requested strict checking.
Host key verification failed."""
SSH = "Failed to connect to the host via ssh: "


@pytest.mark.parametrize(
    ("said", "found", "todo"),
    [
        (CHANGED, "(/root/.ssh/known_hosts:7); it now shows SHA256:AbCd0123/xyz+w.", "ssh-keygen -R"),
        (SSH + "Host key verification failed.", "its host key is not known here.", "accept the key"),
        (
            SSH + "No ED25519 host key is known for 192.0.2.7 and you have requested strict checking.\r\n"
            "Host key verification failed.",
            "its host key is not known here.",
            "accept the key",
        ),
        (
            SSH + "ops@192.0.2.7: Permission denied (publickey,password).",
            "the user ops in (publickey,password).",
            "ansible_user",
        ),
        (SSH + "Permission denied (publickey).", "the user of the inventory in (publickey).", "ansible_user"),
        ("Invalid/incorrect password: Permission denied", "does not let the user", "ansible_user"),
        (
            SSH + "ssh: connect to host 192.0.2.7 port 22: Connection timed out\r\n",
            "192.0.2.7 port 22: Connection timed out.",
            "ProxyJump",
        ),
        (SSH + "ssh: connect to host a.lan port 2222: No route to host", "a.lan port 2222: No route to host.", "is up"),
        (SSH + "ssh: connect to host 192.0.2.7 port 22: Connection refused", "Connection refused.", "ansible_port"),
        (
            SSH + "ssh: Could not resolve hostname node-7: Name or service not known",
            "ssh says: ssh: Could not resolve hostname node-7: Name or service not known.",
            "ansible_host",
        ),
        (SSH + "Connection timed out during banner exchange", "ssh says: Connection timed out during", "ssh -v"),
        (
            "Data could not be sent to remote host '192.0.2.7'. Make sure this host can be reached over SSH.",
            "ssh to 192.0.2.7 ended before anything could be sent.",
            "ansible_port",
        ),
        (
            'Data could not be sent to remote host "h". Make sure: ssh: connect to host h port 22: No route to host',
            "h port 22: No route to host.",
            "ansible_port",
        ),
        (
            SSH + 'unix_listener: path "/home/me/.ansible/cp/0123.AbCdEfGhIjKlMnOp" too long for Unix domain socket',
            "longer than the system allows",
            "ANSIBLE_SSH_CONTROL_PATH_DIR",
        ),
        (SSH + "Timeout, server 192.0.2.7 not responding.", "ended while it was in use", "run again"),
        (SSH + "kex_exchange_identification: Connection closed by remote host", "ended while", "run again"),
        (SSH + "Shared connection to 192.0.2.7 closed.", "ended while it was in use", "run again"),
        (
            SSH
            + "@@@@\n@ WARNING: UNPROTECTED PRIVATE KEY FILE! @\nPermissions 0644 for '/home/me/key' are too open.\n"
            'Load key "/home/me/key": bad permissions\nops@h: Permission denied (publickey).',
            "it does not let the user ops in (publickey).",
            "chmod 600",
        ),
        (
            SSH + "no such identity: /home/me/none: No such file or directory\r\nops@h: Permission denied (publickey).",
            "it does not let the user ops in (publickey).",
            "ansible_ssh_private_key_file",
        ),
        ("Task failed: Incorrect sudo password", "sudo does not accept the password.", "--ask-become-pass"),
        ("Task failed: Missing sudo password", "none was given", "--ask-become-pass"),
        ("sudo: a password is required\n", "none was given", "ansible-vault"),
        ("ops is not in the sudoers file.", "this user may not become root.", "wheel"),
        ("/bin/sh: line 1: sudo: command not found", "sudo says: command not found.", "ansible_become_method (su)"),
        (
            "Failed to create temporary directory. [...] mkdir: cannot create '/tmp/x': No space left on device",
            "it takes no files of this user: No space left on device.",
            "make room",
        ),
        (
            "Failed to create temporary directory. In some cases, ...",
            "no directory can be created.",
            "ansible_remote_tmp",
        ),
        (
            "sudo: sorry, you must have a tty to run sudo",
            "sudo says: sorry, you must have a tty to run sudo.",
            "sudo -v",
        ),
        (SSH + "Password change required but no TTY available.", "has expired", "set a new password"),
        (
            "sudo: Account or password is expired, reset your password and try again",
            "has expired",
            "chage",
        ),
        (SSH + "This account is currently not available.", "its shell is nologin", "ansible_user"),
        (
            "ansible-core requires a minimum of Python version 3.8. Current version: 3.6.8 (default, Nov 16 2020)",
            "its Python is 3.6.8.",
            "ansible_python_interpreter",
        ),
        (
            SSH + "channel 0: open failed: connect failed: No route to host\r\nstdio forwarding failed\r\n"
            "Connection closed by UNKNOWN port 65535",
            "ssh says: channel 0: open failed: connect failed: No route to host; stdio forwarding failed; Connection",
            "ProxyJump",
        ),
        (
            SSH + "kex_exchange_identification: Connection closed\r\nConnection closed by UNKNOWN port 65535",
            "ssh says: kex_exchange_identification: Connection closed; Connection closed by UNKNOWN port 65535.",
            "ProxyJump",
        ),
        ("The module interpreter '/usr/bin/python9' was not found.", "no Python", "ansible_python_interpreter"),
        ("/bin/sh: 1: /usr/bin/python3: not found", "no Python", "ansible_python_interpreter"),
    ],
)
def test_each_cause_is_told_in_three_parts(said: str, found: str, todo: str) -> None:
    problem = trouble(said, reached=False)
    assert problem is not None
    assert found in problem.found
    assert todo in problem.todo
    assert problem.needed


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Destination directory /opt/x does not exist",
        "Found: a wrong sum. Needed: another. Do: correct it.",
        "to use the 'ssh' connection type with passwords or pkcs11_provider, you must install the sshpass program",
        "Timeout (12s) waiting for privilege escalation prompt: ",
    ],
)
def test_other_failures_are_left_to_those_who_know_them(said: str) -> None:
    assert trouble(said, reached=False) is None


def test_a_task_that_failed_may_speak_of_another_connection_than_the_one_to_its_host() -> None:
    assert trouble("GET https://registry.lan:5000/v2/: Connection reset by peer", reached=True) is None
    assert trouble("Incorrect sudo password", reached=True) is not None


def test_no_message_has_the_braces_of_a_part_that_was_not_said() -> None:
    for said in (CHANGED.partition("The fingerprint")[0], "Load key", "Too many authentication failures"):
        problem = trouble(said, reached=False)
        assert problem is None or not set("{}") & set(str(problem))


def test_what_a_shell_printed_in_place_of_a_modules_answer_is_quoted() -> None:
    said = "Module result deserialization failed: No start of json char found"
    printed = "This account is currently not available."
    problem = trouble(said, reached=True, printed=f"\n{printed}\n")
    assert problem is not None
    assert problem.found.endswith(f": {printed}")
    assert "ansible_user" in problem.todo


def test_a_traceback_in_place_of_a_modules_answer_is_not_about_the_shell() -> None:
    assert trouble("", reached=True, printed="Traceback (most recent call last):\nMemoryError") is None
