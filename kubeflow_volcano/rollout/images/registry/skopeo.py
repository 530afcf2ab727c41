"""skopeo, which copies whole images with their digests: found, and called for one image at a time."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["Copied", "Skopeo"]

_ASK_SECONDS = 30.0
_NEEDED = ("--all", "--preserve-digests", "--digestfile")
_REQUESTS = re.compile(r"^Copying (?:blob|config|image) ", re.MULTILINE)
_FIRST_REQUESTS = 2
"""Of every copy: whether it is a registry at all, and the manifest of the name."""
_TARGET = re.compile(r"destination|writing (?:blob|manifest|config)|uploading|trying to reuse blob", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Copied:
    """How a copy ended. `error` is empty where it went well, `at_target` says on whose side it failed.

    `requests` is how many the source was asked at most, `digest` what was copied.
    """

    error: str
    at_target: bool
    requests: int
    digest: str


class Skopeo:
    """The program, with what both its ends have in common: a file with credentials, and how long a copy may take."""

    def __init__(self, program: str, authfile: Path | None, timeout_seconds: float) -> None:
        self._program = program
        self._common = ["--authfile", str(authfile)] if authfile else []
        self._timeout = timeout_seconds

    @classmethod
    def find(cls, authfile: Path | None, timeout_seconds: float) -> Skopeo:
        """The one on the path.

        Raises:
            InvalidInput: there is none, or it is too old.
        """
        program = shutil.which("skopeo")
        text = ""
        if program:
            told = subprocess.run(
                [program, "copy", "--help"], capture_output=True, text=True, check=False, timeout=_ASK_SECONDS
            )
            text = told.stdout + told.stderr
        if program and all(option in text for option in _NEEDED):
            return cls(program, authfile, timeout_seconds)
        lacking = ", ".join(option for option in _NEEDED if option not in text)
        raise InvalidInput(
            Problem(
                f"{program} does not know {lacking}." if program else "skopeo is not installed.",
                "skopeo 1.6 or later on the machine that runs Ansible, which copies images with their digests.",
                "install the package skopeo (dnf install skopeo, apt install skopeo).",
            )
        )

    def copy(self, source: str, target: str, options: Sequence[str]) -> Copied:
        """Copy an image, or all images of an index, between two places as skopeo names them."""
        with tempfile.TemporaryDirectory(prefix="kubeflow-volcano-copy-") as room:
            digest = Path(room) / "digest"
            command = [self._program, "copy", "--all", "--preserve-digests", "--digestfile", str(digest)]
            try:
                done = subprocess.run(
                    [*command, *self._common, *options, source, target],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=self._timeout,
                )
            except subprocess.TimeoutExpired:
                return Copied(f"timed out after {self._timeout:.0f} s", at_target=False, requests=0, digest="")
            requests = _FIRST_REQUESTS + len(_REQUESTS.findall(done.stdout))
            if done.returncode == 0:
                return Copied("", at_target=False, requests=requests, digest=digest.read_text("utf-8").strip())
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            error = re.sub(r'^time="[^"]*" level=\w+ msg="?|"$', "", lines[-1])
            return Copied(error, at_target=bool(_TARGET.search(error)), requests=requests, digest="")
