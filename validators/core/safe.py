"""Text that is safe in a report: no secrets, no terminal sequences, limited length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.redaction import redacted, without_secrets
from kubeflow_volcano.text import visible

LONGEST_TEXT = 4_000
LONGEST_EVIDENCE = 64_000
_MOST_ITEMS = 200
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")


def text(value: str, longest: int = LONGEST_TEXT) -> str:
    """`value` without secrets and with control characters as escapes, cut to `longest` characters."""
    # Cut first, so that a text of a megabyte does not keep the patterns busy; then leave no half of a secret.
    cut = value[: longest * 2]
    plain = _ESCAPES.sub("", cut)
    # Colours within a credential would keep it from being recognized: then the text is shown without them.
    cut = redacted(visible(cut)) if redacted(plain) == plain else redacted(visible(plain))
    return cut if len(cut) <= longest else cut[: longest - 1] + "…"


def safe(value: Any) -> Any:
    """Plain data of limited size: no secrets, and `text` applied to everything in it."""
    return without_secrets(_limited(value), text)


def _limited(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {text(str(key), 200): _limited(item) for key, item in list(value.items())[:_MOST_ITEMS]}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [_limited(item) for item in items[:_MOST_ITEMS]]
    return value if isinstance(value, bool | int | float) or value is None else str(value)
