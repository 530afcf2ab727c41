"""The users that the configurations of images name, as roll-outs have read them, kept in the cache by name and digest.

What runs on a cluster is found by its digest, so that a validation knows it without a request.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json

_FOLDER = "identities"
_USER = re.compile(r"(?P<user>[0-9]+)(?::(?P<group>[0-9]+))?(?::.*)?")
_MOST_ID = 2**31 - 1
"""Of Kubernetes and Linux."""


class ImageUser(NamedTuple):
    """What the configuration names, as it is written there, and the digest of what the image's name stands for."""

    user: str
    digest: str

    @property
    def numbers(self) -> tuple[int, int | None] | None:
        """Its uid and gid, which may be left to the image; None where it has a name, whose uid only the image knows.

        An absent user is root (getImageUser in pkg/kubelet/kuberuntime/helpers.go).
        """
        match = _USER.fullmatch(self.user or "0")
        if match is None or int(match["user"]) > _MOST_ID:
            return None
        return int(match["user"]), int(match["group"]) if match["group"] else None


def kept_at(cache: Path, name: str) -> Path:
    """The file for an image by its digest, which is the same image wherever it is, or by its name with a tag."""
    return cache / _FOLDER / f"{hashlib.sha256(name.encode()).hexdigest()}.json"


def kept_user(cache: Path, name: str, architectures: Collection[str]) -> ImageUser | None:
    """The user of that image on nodes of these architectures, if an earlier run has read it."""
    try:
        content: Any = read_json(kept_at(cache, name).read_bytes())
        if {*architectures} <= {*content["architectures"]}:
            return ImageUser(str(content["user"]), str(content["digest"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def keep_user(cache: Path, names: Iterable[str], found: ImageUser, architectures: Collection[str]) -> None:
    """Keep what was read of the image with these names, and by its digest."""
    content = {**found._asdict(), "architectures": sorted(architectures)}
    for name in {*names, found.digest}:
        with suppress(OSError):  # a cache that cannot be written costs the next run a question
            write_file(kept_at(cache, name), json.dumps(content))
