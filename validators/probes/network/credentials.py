"""The login of check E9. The password comes from a file, the environment or the caller, and goes only into the form."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubeflow_volcano.problems import InvalidInput

VARIABLE = "KFV_LOGIN_PASSWORD"
"""The environment variable with the password if no file is named."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who signs in, and where: an empty URL means through the API server, at a pod of the gateway."""

    email: str
    password: str = field(repr=False)
    gateway_url: str = ""


def credentials(
    email: str, file: Path | None, gateway_url: str, environment: Mapping[str, str] = os.environ, known: str = ""
) -> Credentials | None:
    """The credentials; None without an email.

    Args:
        email: who signs in.
        file: contains one line, the password.
        gateway_url: where the gateway is.
        environment: with the password in KFV_LOGIN_PASSWORD, if no file is named.
        known: the password if neither a file nor the environment has one.

    Raises:
        InvalidInput: there is no password, others may read its file, or the URL is none.
    """
    if not email:
        return None
    if gateway_url and not gateway_url.startswith(("http://", "https://")):
        raise InvalidInput.problem(
            f"--gateway-url {gateway_url}.", "a URL such as https://kubeflow.example.com/.", "correct it."
        )
    password = _of_file(file) if file else environment.get(VARIABLE, "") or known
    if not password:
        where = f"{file} is empty" if file else f"{VARIABLE} is not set"
        todo = (
            f"set {VARIABLE}, or name a file of mode 0600 with --login-password-file (validation_login_password_file)."
        )
        raise InvalidInput.problem(f"no password for {email}: {where}.", "the password of this user.", todo)
    return Credentials(email, password, gateway_url)


def exposed_mode(file: Path) -> str:
    """The file's mode in octal, if others than its owner have any right to it; otherwise empty.

    Raises:
        OSError: the file cannot be looked at.
    """
    mode = stat.S_IMODE(file.stat().st_mode)
    return f"{mode:04o}" if mode & (stat.S_IRWXG | stat.S_IRWXO) else ""


def _of_file(file: Path) -> str:
    try:
        if mode := exposed_mode(file):
            raise InvalidInput.problem(
                f"{file} has mode {mode}.", "a file that only its owner may read.", f"chmod 600 {file}"
            )
        password = file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or "no text"
        todo = "correct --login-password-file, or remove it."
        raise InvalidInput.problem(f"{file}: {cause}.", "a file with the password.", todo) from error
    if "\n" in password:  # such as the account file of an earlier version
        todo = f"printf %s PASSWORD > {file}, or set {VARIABLE}."
        raise InvalidInput.problem(
            f"{file} has {len(password.splitlines())} lines.", "one line, the password alone.", todo
        )
    return password
