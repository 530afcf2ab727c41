"""Text that is safe in a report: no secrets, no terminal sequences, limited length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.redaction import HIDDEN, is_secret_name, redacted
from kubeflow_volcano.text import visible

__all__ = ["safe", "text"]

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
    """Apply `text` to everything in `value`; the value of a key that looks like a secret is redacted."""
    if isinstance(value, str):
        return text(str(value))
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, Mapping):
        items = list(value.items())[:_MOST_ITEMS]
        named = _hides(str(value.get("name", "")), value.get("value"))  # an environment variable
        return {
            text(str(key), 200): HIDDEN if _hides(str(key), item) or (named and key == "value") else safe(item)
            for key, item in items
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [safe(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)][
            :_MOST_ITEMS
        ]
    return text(str(value))


def _hides(key: str, item: Any) -> bool:
    """Whether the item must be redacted; numbers and flags are no secrets."""
    return bool(item) and not isinstance(item, bool | int | float) and is_secret_name(key)
