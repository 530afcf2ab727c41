"""Logins at registries that probe pods need for their images: from a file as podman, skopeo and docker write it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.probes.network.credentials import exposed_mode


def registry_logins(file: Path | None) -> str:
    """The logins of the file as the text of a Docker configuration with nothing else in it; empty without a file.

    Credential helpers are not run: what they know is not in the file, and a pull secret needs it.

    Raises:
        InvalidInput: the file cannot be read, others may read it, or a login in it has no password.
    """
    if file is None:
        return ""
    try:
        if mode := exposed_mode(file):
            raise _invalid(f"{file} has mode {mode}", "a file that only its owner may read", f"chmod 600 {file}")
        auths = read_json(file.read_text(encoding="utf-8"))["auths"]
        without = sorted(_without_password(auths))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # The text of a JSON error may quote the file, and with it a password.
        why = error.strerror if isinstance(error, OSError) else "it has no logins that can be read"
        raise _invalid(
            f"{file}: {why}",
            "a file with logins, as podman login --authfile writes it",
            f"podman login --authfile {file} REGISTRY",
        ) from None
    if without or not auths:
        names = f"no password for {', '.join(without)}" if without else "no login"
        raise _invalid(
            f"{file} has {names}",
            "the logins themselves; credential helpers (credsStore, credHelpers) are not run",
            f"write another file, as with podman login --authfile FILE {without[0] if without else 'REGISTRY'}",
        )
    return json.dumps({"auths": auths}, sort_keys=True)


def _without_password(auths: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Registries whose entry has neither `auth` nor user and password."""
    for registry, entry in auths.items():
        text = entry.get("auth") or ""
        user, _, password = base64.b64decode(text, validate=True).decode().partition(":")
        if not (user and password) and not (entry.get("username") and entry.get("password")):
            yield registry


def _invalid(found: str, needed: str, todo: str) -> InvalidInput:
    return InvalidInput.problem(f"--registry-authfile: {found}.", f"{needed}.", f"{todo}.")
