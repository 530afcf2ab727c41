"""As whom check E9 signs in. The password comes from a file or the environment, and goes nowhere but into the form."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["VARIABLE", "Credentials", "credentials"]

VARIABLE = "KFV_LOGIN_PASSWORD"
"""The environment variable that holds the password where no file is named."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who signs in, and where: an empty URL means through the API server, at a pod of the gateway."""

    email: str
    password: str = field(repr=False)
    gateway_url: str = ""


def credentials(
    email: str, file: Path | None, gateway_url: str, environment: Mapping[str, str] = os.environ
) -> Credentials | None:
    """The credentials; None where nobody is to sign in.

    The file holds the password alone, or it is the account that a roll-out keeps.

    Raises:
        InvalidInput: there is no password, others may read its file, or the URL is none.
    """
    if not email:
        return None
    if gateway_url and not gateway_url.startswith(("http://", "https://")):
        raise _invalid(f"--gateway-url {gateway_url}.", "a URL such as https://kubeflow.example.com/.", "correct it.")
    password = _of_file(file, email) if file else environment.get(VARIABLE, "")
    if not password:
        where = f"{file} is empty" if file else f"{VARIABLE} is not set"
        todo = (
            f"set {VARIABLE}, or name a file of mode 0600 with --login-password-file (validation_login_password_file)."
        )
        raise _invalid(f"no password for {email}: {where}.", "the password that this user signs in with.", todo)
    return Credentials(email, password, gateway_url)


def _of_file(file: Path, email: str) -> str:
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise _invalid(f"{file} has mode {mode:04o}.", "a file that its owner alone may read.", f"chmod 600 {file}")
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or "no text"
        todo = "correct --login-password-file, or leave it away."
        raise _invalid(f"{file}: {cause}.", "a file with the password.", todo) from error
    account = _account(text)
    if account is None:
        return text.rstrip("\r\n")
    if account.get("email") != email:
        found = f"{file} is the account of {account.get('email')}, not of {email}."
        raise _invalid(found, "the account of who signs in.", "correct --login-as, or name another file.")
    if not account.get("password"):
        found = f"{file} knows the hash of {email}'s password alone."
        todo = f"give the password itself: {VARIABLE}, or a file that holds nothing else."
        raise _invalid(found, "the password, which a roll-out keeps where it made it.", todo)
    return str(account["password"])


def _account(text: str) -> Mapping[str, object] | None:
    """What a roll-out wrote; None for everything else."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "password_hash" in found else None


def _invalid(found: str, needed: str, todo: str) -> InvalidInput:
    return InvalidInput(Problem(found, needed, todo))
