"""Corrections of a manifest's text: only what is corrected changes; comments, order, quotes and indentation stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.foreign import PurePythonLoader, compose_yaml, read_json
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.explain.manifest.templates import Path

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_PLAIN = re.compile(r"[A-Za-z][\w./-]*")
_WORDS = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})
"""Which some readers of YAML take for something else than text."""
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class Edit:
    """Set the value at `path`, with the mappings on the way to it; without a `value`, remove what is there."""

    path: Path
    value: Any = None


def apply(text: str, number: int, edits: Sequence[Edit]) -> str | None:
    """The text with edits in its document `number`, from 1 on and empty ones not counted.

    None where these edits cannot be made without a change of anything else, as where a YAML alias repeats the place.
    """
    expected = foreign.parse(text, "")
    expected[number - 1] = read_json(json.dumps(expected[number - 1]))  # without aliases
    try:
        for edit in edits:
            _change(expected[number - 1], edit)
            changed = _rewritten(text, number, edit)
            if changed is None:
                return None
            text = changed
        return text if foreign.parse(text, "") == expected else None
    except (InvalidInput, yaml.YAMLError):
        return None


def _change(value: Any, edit: Edit) -> None:
    """Make the edit in plain data."""
    *way, last = edit.path
    for step in way:
        if isinstance(value, dict) and value.get(step) is None:
            value[step] = {}
        value = value[step]
    if edit.value is None:
        del value[last]
    else:
        value[last] = edit.value


def _rewritten(text: str, number: int, edit: Edit) -> str | None:
    """The text with one edit; None where its place is not in the text."""
    root = node = list(_documents(text))[number - 1]
    quotes = isinstance(root, yaml.MappingNode) and bool(root.flow_style) and root.value[0][0].style == '"'
    for depth, step in enumerate(edit.path):
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            continue
        if not isinstance(node, yaml.MappingNode):
            return None
        index = next((index for index, (key, _) in enumerate(node.value) if key.value == step), None)
        rest = edit.path[depth + 1 :]
        if index is None:
            if edit.value is None:  # an alias, already changed under its other name
                return text
            return _inserted(text, node, _flow((step, *rest), edit.value, quotes=quotes))
        _, child = node.value[index]
        if edit.value is None and not rest:
            return _removed(text, node, index)
        if edit.value is not None and (child.tag == _NULL or not rest):
            quoted = quotes or (isinstance(child, yaml.ScalarNode) and child.style in {'"', "'"})
            return _replaced(text, child, _flow(rest, edit.value, quotes=quoted, braces=bool(rest)))
        node = child
    return None


def _documents(text: str) -> Iterator[yaml.Node]:
    """The root of each document that is not empty; from the parser in Python, whose marks count characters."""
    yield from (node for node in compose_yaml(text, PurePythonLoader) if node.tag != _NULL)


def _flow(path: Sequence[str | int], value: Any, *, quotes: bool, braces: bool = False) -> str:
    """`a: {b: value}` for the path a, b; the value alone for none. `quotes` are for JSON, `braces` for the whole."""

    def scalar(text: Any) -> str:
        is_plain = isinstance(text, str) and _PLAIN.fullmatch(text) and text not in _WORDS and not quotes
        return text if is_plain else json.dumps(text)

    found = scalar(value)
    for depth, step in enumerate(reversed(path)):
        found = f"{scalar(str(step))}: {found}"
        if braces or depth < len(path) - 1:
            found = f"{{{found}}}"
    return found


def _inserted(text: str, mapping: yaml.MappingNode, entry: str) -> str:
    """With a first entry in the mapping."""
    if mapping.flow_style:
        at = _start(text, mapping) + 1
        return text[:at] + entry + (", " if mapping.value else "") + text[at:]
    first: yaml.Mark = mapping.value[0][0].start_mark
    return text[: first.index] + entry + "\n" + " " * first.column + text[first.index :]


def _replaced(text: str, node: yaml.Node, value: str) -> str:
    start, end = _start(text, node), node.end_mark.index
    gap = "" if start < end or text[start - 1 : start].isspace() else " "
    return text[:start] + gap + value + text[end:]


def _start(text: str, node: yaml.Node) -> int:
    """Where the node begins behind its anchor and tag."""
    start: int = node.start_mark.index
    properties = _PROPERTIES.match(text, start)
    return properties.end() if properties else start


def _end(node: yaml.Node) -> int:
    """Where the node ends; the parser's own mark of a block is at what follows it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    end: int = node.end_mark.index
    return end


def _removed(text: str, mapping: yaml.MappingNode, index: int) -> str:
    """Without an entry: with its comma, or its line and a comment on it."""
    start, end = mapping.value[index][0].start_mark.index, _end(mapping.value[index][1])
    if mapping.flow_style and index:
        return text[: mapping.value[index - 1][1].end_mark.index] + text[end:]
    if len(mapping.value) == 1:
        return text[:start] + ("" if mapping.flow_style else "{}") + text[end:]
    line_start = text.rfind("\n", 0, start) + 1
    line_end = end if text[end - 1] == "\n" else text.find("\n", end) + 1 or len(text)
    if not mapping.flow_style and not text[line_start:start].strip():
        return text[:line_start] + text[line_end:]
    return text[:start] + text[mapping.value[index + 1][0].start_mark.index :]  # the first one behind a dash or brace
