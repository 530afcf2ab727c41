"""containerd's files without credentials, for people to read: of registries, in headers, and in addresses."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from kubeflow_volcano.foreign import read_toml
from kubeflow_volcano.redaction import HIDDEN, is_secret_name, without_logins

_HEADERS = "header"
"""A table whose values may all be credentials."""
_LINE = re.compile(r"^(?P<key>[ \t]*(?:[^\s=#]*\.)?[\"']?(?P<name>[\w-]+)[\"']?[ \t]*=[ \t]*)[^\s{\[].*$", re.MULTILINE)
_LONG = 8
"""Characters from which on a value is looked for without its quotes, too, as in a text of several lines."""


def without_credentials(text: str) -> str:
    """The text of a file with a word in place of each credential; nothing of it where one cannot be found in it."""
    try:
        values = set(_values(read_toml(text), secret=False))
    except tomllib.TOMLDecodeError:
        return f"{HIDDEN}: it is no TOML"
    shown = _LINE.sub(lambda line: f"{line['key']}{HIDDEN}" if is_secret_name(line["name"]) else line[0], text)
    for value in sorted(values, key=len, reverse=True):
        spellings = [json.dumps(value), f'"{value}"', f"'{value}'", *([value] if len(value) >= _LONG else [])]
        if not any(spelling in text for spelling in spellings):
            return f"{HIDDEN}: it has credentials in a spelling that is not known here"
        for spelling in spellings:
            shown = shown.replace(spelling, f'"{HIDDEN}"' if spelling[0] in "\"'" else HIDDEN)
    return "".join(map(without_logins, shown.splitlines(keepends=True)))


def _values(item: Any, *, secret: bool) -> Iterator[str]:
    """The texts below names of credentials."""
    if isinstance(item, dict):
        for name, below in item.items():
            named = is_secret_name(name) and not isinstance(below, dict)
            yield from _values(below, secret=secret or named or name.lower() == _HEADERS)
    elif isinstance(item, list):
        for below in item:
            yield from _values(below, secret=secret)
    elif secret and isinstance(item, str) and item:
        yield item
