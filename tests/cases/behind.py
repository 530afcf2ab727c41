"""An API server behind a path, as a manager of several clusters offers it, with credentials that a program gives."""

from __future__ import annotations

import contextlib
import json
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests import serving
from tests.faults.proxy import served, status


@contextlib.contextmanager
def behind(kubeconfig: Path, path: str, directory: Path) -> Iterator[Path]:
    """A kubeconfig whose server is behind `path`, and whose program gives a token that is taken there only."""
    token, version = secrets.token_hex(16), "client.authentication.k8s.io/v1"
    answer = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": token}})
    program = {
        "apiVersion": version,
        "command": "sh",
        "args": ["-c", f"echo {shlex.quote(answer)}"],
        "interactiveMode": "Never",
    }
    file = directory / "behind.kubeconfig"
    with served(kubeconfig) as (proxy, url):
        proxy.path = path
        proxy.plan = lambda asked: (
            None
            if asked.path.startswith(f"{path}/") and asked.token == token
            else status(401, "Unauthorized", "Unauthorized")
        )
        file.write_text(json.dumps(serving.kubeconfig(f"{url}{path}", {"exec": program})), encoding="utf-8")
        yield file
