"""What those who fetch images say when a registry did not give them one, and what that means."""

from __future__ import annotations

import re
from enum import StrEnum

__all__ = ["Answer", "answer_of"]


class Answer(StrEnum):
    """What a failed pull or copy means for the next one. A node is the one that pulls or copies."""

    REFUSED = "refused"
    """403, 404 or a request to sign in: this image, on no node again in this run."""
    BUSY = "busy"
    """429: everything waits and goes on slower."""
    FULL = "full"
    """No room: nothing more on this node."""
    UNTRUSTED = "untrusted"
    """The registry's certificate is not trusted by this node: nothing more on it."""
    SILENT = "silent"
    """No answer, or a 5xx: nothing more on this node when it comes three times in a row."""
    FAILED = "failed"
    """Anything else, about this image alone."""


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
"""Words of containerd (core/remotes/docker/resolver.go), CRI-O, ctr, skopeo and the distribution API, in the order in
which they are looked for: numbers only beside their words, as tags are numbers, too."""


def answer_of(error: str) -> Answer:
    """What the words of a runtime or tool that got no image mean."""
    for meaning, pattern in _MEANINGS:
        if re.search(pattern, error, re.IGNORECASE):
            return meaning
    return Answer.FAILED
