"""JSON that others wrote. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_MOST_CHARACTERS = 64 << 20
"""The images of a node take 1 kB each."""


def read_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is no JSON, too deep or too long.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"{len(text)} characters, which are more than {_MOST_CHARACTERS}")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("too many lists and mappings inside each other") from None


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; none where it is none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
