"""References inside texts: YAML and JSON documents, code, and any other text that looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import yaml

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.foreign import compose_yaml


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text within a document, with its path and its position."""

    path: tuple[str, ...]
    text: str
    start: int
    end: int


def scalars(text: str) -> tuple[Scalar, ...]:
    """Every scalar of the YAML or JSON documents in `text`.

    Raises:
        ValueError: it is neither.
    """
    scalars: list[Scalar] = []
    try:
        for root in compose_yaml(text):
            _collect(root, (), text, scalars)
    except (RecursionError, yaml.YAMLError) as error:  # an alias may be inside its own anchor
        raise ValueError(str(error)) from error
    return tuple(scalars)


def _collect(node: yaml.Node | None, path: tuple[str, ...], text: str, scalars: list[Scalar]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _collect(value, (*path, str(key.value)), text, scalars)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            _collect(item, (*path, str(number)), text, scalars)
    elif isinstance(node, yaml.ScalarNode) and node.value:
        start = text.find(node.value, node.start_mark.index, node.end_mark.index)
        if start >= 0:  # a text with escapes is not a reference
            scalars.append(Scalar(path, node.value, start, start + len(node.value)))


def fits(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path within a document matches; `*` is one step or part of one, `**` any number of steps."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(fits(path[skipped:], pattern[1:]) for skipped in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and fits(path[1:], pattern[1:])


def literals(code: str, name: str) -> Iterator[tuple[int, int]]:
    """Positions of the texts that `code` gives to `name`: as default of an environment variable, or by assignment."""
    for match in re.finditer(rf"""\b{name}["']?\s*[,=]\s*["']([^"'\s]+)["']""", code):
        yield match.span(1)


_KNOWN_HOSTS = (
    r"(?:docker\.io|(?:[a-z]+\.)?gcr\.io|ghcr\.io|quay\.io|nvcr\.io|mcr\.microsoft\.com|registry\.k8s\.io"
    r"|public\.ecr\.aws|[a-z0-9-]+\.pkg\.dev)"
)
_STEP = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_LOOKS_LIKE_ONE = re.compile(
    rf"(?<![\w./:@$-])(?:{_KNOWN_HOSTS}(?:/{_STEP})+(?::\w[\w.-]*)?|{_STEP}(?::[0-9]+)?(?:/{_STEP})+(?::[A-Za-z0-9_][\w.-]*|(?=@sha256:)))"
    r"(?:@sha256:[0-9a-f]{64})?"
)
_NAMED_SO = re.compile(r"""(?i)image["']?[ \t]*[:=][ \t]*["']?([a-z0-9][\w./:@-]{2,}+)(?!\()""")
_NO_NAMES = frozenset({"true", "false", "none", "null"})


def suspects(text: str) -> Iterator[tuple[int, int]]:
    """Positions of what looks like a reference in `text`, or is called an image and could be one."""
    seen: set[int] = set()
    if "/" in text:
        for match in _LOOKS_LIKE_ONE.finditer(text):
            seen.add(match.start())
            yield match.span()
    if "mage" in text or "MAGE" in text:
        for match in _NAMED_SO.finditer(text):
            if match.start(1) not in seen and match[1] not in _NO_NAMES and ImageName.parse(match[1]):
                yield match.span(1)
