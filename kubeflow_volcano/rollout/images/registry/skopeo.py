"""skopeo, which copies whole images with their digests: found, and called for one image at a time.

Why `skopeo copy` and not `skopeo sync` (tried with 1.9.3 and registries that log requests; openEuler's cloud native SIG
lists 1.1.0, which cannot preserve digests at all, and later 1.8.0, whose sync is the one that was tried):

- It knows no rate limit and no end. With --keep-going a mirror that answers 429 to everything got 40 requests for 4
  images in 240 s, ten for each: the 94 of Kubeflow 1.6.1 would make it 940, and 100 ban an address. Without
  --keep-going the first missing image ends the run.
- --dry-run sends no request, and lists every image whether it is present or not: no check mode, no `changed`.
- A second run sent 3 requests to the source for each of the 4 images and wrote indexes again; comparing digests takes
  one HEAD request for a tag and none for a digest.
- Into a directory it refuses to overwrite: the first image that is present ends the run, so an export that was
  interrupted cannot be continued.
- Which images failed stands only in its log.

Its other gap can be closed: registries.conf with a location for each source registry keeps the mirror's name out of the
target's paths.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.programs import ProgramError, run_program

_HELP_SECONDS = 30.0
_NEEDED = ("--all", "--preserve-digests", "--digestfile")
_REQUESTS = re.compile(r"^Copying (?:blob|config|image) ", re.MULTILINE)
_FIRST_REQUESTS = 2
"""Of every copy: whether it is a registry at all, and the manifest of the name."""
_TARGET = re.compile(r"destination|writing (?:blob|manifest|config)|uploading|trying to reuse blob", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Copied:
    """How a copy ended. `error` is empty if it succeeded, `at_target` says on which side it failed.

    `requests` is how many the source got at most, `digest` what was copied.
    """

    error: str
    at_target: bool
    requests: int
    digest: str


class Skopeo:
    """The program, with what both ends have in common: a file with credentials, and the time limit of a copy."""

    def __init__(self, program: str, authfile: Path | None, timeout_seconds: float) -> None:
        self._program = program
        self._common = ["--authfile", str(authfile)] if authfile else []
        self._timeout = timeout_seconds

    @classmethod
    def find(cls, authfile: Path | None, timeout_seconds: float) -> Skopeo:
        """The one in $PATH.

        Raises:
            InvalidInput: there is none, or it is too old.
        """
        program = shutil.which("skopeo")
        text = ""
        if program:
            with contextlib.suppress(ProgramError):
                done = run_program(program, "copy", "--help", seconds=_HELP_SECONDS)
                text = done.output + done.complaint
        lacking = [option for option in _NEEDED if option not in text]
        if program and not lacking:
            return cls(program, authfile, timeout_seconds)
        raise InvalidInput.problem(
            f"{program} does not know {', '.join(lacking)}." if program else "skopeo is not installed.",
            "skopeo 1.6 or later on the machine that runs Ansible, which copies images with their digests.",
            "install the package skopeo (dnf install skopeo, apt install skopeo).",
        )

    def copy(self, source: str, target: str, options: Sequence[str]) -> Copied:
        """Copy an image, or all images of an index, between two places in skopeo's notation."""
        with tempfile.TemporaryDirectory(prefix="kubeflow-volcano-copy-") as room:
            digest = Path(room) / "digest"
            command = [self._program, "copy", "--all", "--preserve-digests", "--digestfile", str(digest)]
            try:
                done = run_program(*command, *self._common, *options, source, target, seconds=self._timeout)
            except ProgramError as error:
                return Copied(str(error), at_target=False, requests=0, digest="")
            requests = _FIRST_REQUESTS + len(_REQUESTS.findall(done.output))
            if done.code == 0:
                return Copied("", at_target=False, requests=requests, digest=digest.read_text("utf-8").strip())
            error_line = re.sub(r'^time="[^"]*" level=\w+ msg="?|"$', "", done.complaint.splitlines()[-1])
            return Copied(error_line, at_target=bool(_TARGET.search(error_line)), requests=requests, digest="")
