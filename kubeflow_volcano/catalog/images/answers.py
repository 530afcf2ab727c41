"""What the errors of container runtimes and copy tools mean for further pulls and copies."""

from __future__ import annotations

import re
from enum import StrEnum

__all__ = ["Answer", "answer_of"]


class Answer(StrEnum):
    """What a failed pull or copy means for the next ones. Node: the machine that pulls or copies."""

    REFUSED = "refused"
    """401, 403 or 404: do not try this image again in this run, on any node."""
    BUSY = "busy"
    """429: pause, then continue more slowly."""
    FULL = "full"
    """Disk full: stop on this node."""
    UNTRUSTED = "untrusted"
    """This node does not trust the registry's certificate: stop on this node."""
    SILENT = "silent"
    """No answer, or a 5xx: stop on this node after three in a row."""
    FAILED = "failed"
    """Any other error: continue with the next image."""


_MEANINGS = (
    (Answer.BUSY, r"429 too many|(?:status(?:code)?:?|registry) ?429|too ?many ?requests"),
    (Answer.FULL, r"no space left on device|disk quota exceeded"),
    (Answer.UNTRUSTED, r"x509:|certificate signed by unknown|failed to verify certificate"),
    (Answer.SILENT, r"50[0234] (?:internal|bad|service|gateway)|(?:status(?:code)?:?|registry) ?50[0234]"),
    (Answer.SILENT, r"timed? ?-?out|deadline exceeded"),
    (Answer.SILENT, r"connection re(?:fused|set)|no such host|no route to host|network is unreachable|misbehaving"),
    (Answer.SILENT, r"context canceled|unexpected EOF"),
    (Answer.REFUSED, r"40[134] (?:unauthorized|forbidden|not found)|(?:status(?:code)?:?|registry) ?40[134]"),
    (Answer.REFUSED, r"pull access denied|insufficient_scope|: denied|unauthorized|authentication required|forbidden"),
    (Answer.REFUSED, r"code = NotFound|not found\W*$|manifest unknown|name unknown"),
)
"""Error texts of containerd (core/remotes/docker/resolver.go), CRI-O, ctr, skopeo and the distribution API; the first
match applies. Status codes match only beside a word, as image tags are numbers, too."""


def answer_of(error: str) -> Answer:
    """What that error text of a runtime or tool means."""
    for meaning, pattern in _MEANINGS:
        if re.search(pattern, error, re.IGNORECASE):
            return meaning
    return Answer.FAILED
