"""YAML, JSON and TOML that others wrote: read with limits, so that no text takes the program down or keeps it busy.

All of it is read here, and `Dumper` writes what they read. A text beyond the limits raises what a broken one raises:
`yaml.YAMLError`, `ValueError`, and `tomllib.TOMLDecodeError`, which is a ValueError. `parse` reads YAML as Kubernetes
does, and raises InvalidInput.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import yaml

from kubeflow_volcano.problems import InvalidInput, Problem

MOST_DEPTH = 200
"""Lists and mappings inside each other. CRDs have about 60; Python's own limit for calls inside each other is 1,000."""

_MOST_COPIES = 400_000
"""Nodes that aliases repeat: where go-yaml, by which Kubernetes reads, begins to refuse (`allowedAliasRatio`)."""

_MOST_CHARACTERS = 64 << 20
"""Of a YAML text; the largest rendered release has 10 million, and a node takes about a hundred bytes for each."""


class _Limited:
    """For loaders of PyYAML, of C and of Python: both call these methods."""

    _depth = 0

    def __init__(self, stream: str | bytes) -> None:
        super().__init__(stream)  # type: ignore[call-arg]
        self.has_aliases = _has_aliases(stream)

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:  # noqa: ARG002  PyYAML calls it so
        """Begin a node. Nodes inside each other are composed by calls inside each other, which C does not limit."""
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise yaml.composer.ComposerError(
                None, None, f"more than {MOST_DEPTH} lists and mappings inside each other", _mark(current_node)
            )

    def ascend_resolver(self) -> None:
        """End a node."""
        self._depth -= 1

    def construct_document(self, node: yaml.Node) -> Any:
        """The value of a document, if its aliases are not too many and each scalar is what it is taken for."""
        if self.has_aliases:
            _require_few_copies(node)
        try:
            return super().construct_document(node)  # type: ignore[misc]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # PyYAML lets through what int, float and datetime say, as of 2024-13-45 and of !!bool 3.
            raise yaml.YAMLError(f"a value that is not of its type: {error}") from error


class CLoader(_Limited, yaml.CSafeLoader):
    """PyYAML's safe loader in C, with limits."""


class PurePythonLoader(_Limited, yaml.SafeLoader):
    """PyYAML's safe loader in Python, whose nodes know their place better, with limits."""


Loader = type[CLoader] | type[PurePythonLoader]


def read_yaml(text: str | bytes) -> Any:
    """The only document of a text; None if it is empty.

    Raises:
        yaml.YAMLError: it is no YAML, has several documents, or is beyond the limits.
    """
    return yaml.load(_of_some_size(text), Loader=CLoader)  # noqa: S506  a safe loader


def read_yamls(text: str | bytes, loader: Loader = CLoader) -> Iterator[Any]:
    """The documents of a text.

    Raises:
        yaml.YAMLError: as `read_yaml`.
    """
    return yaml.load_all(_of_some_size(text), Loader=loader)


def compose_yaml(text: str, loader: Loader = CLoader) -> Iterator[yaml.Node]:
    """The nodes of the documents of a text.

    Raises:
        yaml.YAMLError: as `read_yaml`.
    """
    has_aliases = _has_aliases(text)
    for node in yaml.compose_all(_of_some_size(text), Loader=loader):
        if node is not None:
            if has_aliases:
                _require_few_copies(node)
            yield node


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is no JSON, or too deep.
    """
    try:
        return _shallow(json.loads(text))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def read_toml(text: str) -> dict[str, Any]:
    """The value of a TOML text.

    Raises:
        tomllib.TOMLDecodeError: it is no TOML, or too deep.
    """
    try:
        document: dict[str, Any] = _shallow(tomllib.loads(text))
    except RecursionError:
        raise tomllib.TOMLDecodeError(_TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error)) from error
    return document


_ENDLESS = "lists and mappings inside each other without end: an alias is inside its own anchor"
_TOO_DEEP = f"more than {MOST_DEPTH} lists and mappings inside each other"


def _shallow(value: Any) -> Any:
    """The value, if it is not too deep: level by level, in a small part of the time that reading it took.

    Raises:
        ValueError: it is too deep.
    """
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = (
            [
                item
                for outer in level
                for item in (outer.values() if type(outer) is dict else outer)
                if type(item) is dict or type(item) is list
            ]
            if level and type(level[0]) in {dict, list}
            else []
        )
        if not level:
            return value
    raise ValueError(_TOO_DEEP)


def _of_some_size(text: str | bytes) -> str | bytes:
    if len(text) > _MOST_CHARACTERS:
        raise yaml.YAMLError(f"{len(text)} characters, which are more than {_MOST_CHARACTERS}")
    return text


def _has_aliases(text: str | bytes) -> bool:
    """Whether a name is both that of an anchor and that of an alias; other words may only look like them."""
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return "&" in plain and "*" in plain and bool(_names(plain, "&") & _names(plain, "*"))


def _names(text: str, mark: str) -> set[str]:
    return set(re.findall(rf"\{mark}([^\s,\[\]{{}}]+)", text))


def _mark(node: Any) -> Any:
    return node.start_mark if isinstance(node, yaml.Node) else None


def _require_few_copies(root: yaml.Node) -> None:
    """Refuse an alias inside its own anchor, and aliases of aliases that stand for too many nodes.

    Raises:
        yaml.composer.ComposerError: there are such.
    """
    sizes: dict[int, int] = {}
    nodes = 0

    def size(node: yaml.Node) -> int:
        nonlocal nodes
        if isinstance(node, yaml.ScalarNode):
            nodes += 1
            return 1
        known = sizes.get(id(node))
        if known is not None:
            if not known:
                raise yaml.composer.ComposerError(
                    None,
                    None,
                    _ENDLESS,
                    node.start_mark,
                )
            return known
        nodes += 1
        sizes[id(node)] = 0
        if isinstance(node, yaml.MappingNode):
            whole = 1 + sum(size(key) + size(value) for key, value in node.value)
        else:
            whole = 1 + sum(map(size, node.value))
        sizes[id(node)] = whole
        return whole

    if size(root) - nodes > _MOST_COPIES:
        raise yaml.composer.ComposerError(None, None, "aliases that stand for too many nodes", root.start_mark)


# What Go's parsers read as numbers. PyYAML's own rules add base 60 ("12:30") and need a dot in "1e3".
_INT = re.compile(r"^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN)$"
)
_TAG = "tag:yaml.org,2002:"


class _StrictLoader(CLoader):
    """Refuses duplicate keys and keys that are not text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002  PyYAML's signature
        if not isinstance(node, yaml.MappingNode):
            raise _refusal("it is tagged as a mapping, and is none", node)
        mapping: dict[Any, Any] = {}
        merges = False
        for key, value in node.value:
            if key.tag == f"{_TAG}merge":
                merges = True
                continue
            _require_text(key)
            if key.value in mapping:
                raise _refusal(f"duplicate key {key.value!r}", key)
            mapping[key.value] = self.construct_object(value, deep=deep)
        if not merges:
            return mapping
        self.flatten_mapping(node)
        for key, _ in node.value:
            _require_text(key)
        return super().construct_mapping(node, deep=deep)


def _require_text(key: yaml.Node) -> None:
    if not isinstance(key, yaml.ScalarNode):
        raise _refusal(f"a {'list' if isinstance(key, yaml.SequenceNode) else 'mapping'} is no key", key)
    if key.tag != f"{_TAG}str":
        raise _refusal(f"the key {key.value!r} is not text; put it in quotes", key)


def _refusal(what: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, what, node.start_mark)


_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag in {f"{_TAG}null", f"{_TAG}bool", f"{_TAG}merge"}]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_StrictLoader.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))
_StrictLoader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))


def _float(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> float:
    return float(loader.construct_scalar(node).replace(".inf", "inf").replace(".nan", "nan"))


def _int(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> int:
    digits = loader.construct_scalar(node).replace("_", "")
    octal = re.fullmatch(r"([-+]?)0o?([0-7]+)", digits)
    return int(octal[1] + octal[2], 8) if octal else int(digits, 0)


def _unknown(_loader: yaml.CSafeLoader, node: yaml.Node) -> Any:
    raise _refusal(f"the tag !!{node.tag.removeprefix(_TAG)}, which JSON has no type for", node)


class DumpedLoader(_StrictLoader):
    """For what PyYAML's safe dumper wrote, which puts no quotes around some texts that are numbers to Go, as 1e-4."""


DumpedLoader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag not in {f"{_TAG}int", f"{_TAG}float"}]
    for first, rules in _StrictLoader.yaml_implicit_resolvers.items()
}
DumpedLoader.add_implicit_resolver(f"{_TAG}int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), list("-0123456789"))
DumpedLoader.add_implicit_resolver(
    f"{_TAG}float", re.compile(r"^-?(?:[0-9]+\.[0-9]+(?:e[-+][0-9]+)?|\.inf)$|^\.nan$"), list("-.0123456789")
)


class Dumper(yaml.CSafeDumper):
    """PyYAML's safe dumper, with quotes around every text that Go's parsers and `parse` read as a number, as 1e-4."""


Dumper.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))
Dumper.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))

_StrictLoader.add_constructor(f"{_TAG}float", _float)
_StrictLoader.add_constructor(f"{_TAG}int", _int)
for _name in ("binary", "omap", "pairs", "set", "timestamp"):
    _StrictLoader.add_constructor(f"{_TAG}{_name}", _unknown)


def parse(text: str | bytes, origin: str, loader: Loader = _StrictLoader) -> list[Any]:
    """Every document of `text` that is not empty. Messages begin with `origin`, a file or an address.

    Raises:
        InvalidInput: not YAML, not UTF-8, a key that is not text or not unique, or an alias inside its own anchor.
    """
    try:
        documents = [document for document in read_yamls(text, loader) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{origin}:{mark.line + 1}:{mark.column + 1}" if mark else origin
        raise InvalidInput(_problem(place, error.problem or str(error))) from error
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidInput(_problem(origin, str(error))) from error
    return documents


def _problem(place: str, what: str) -> Problem:
    return Problem(f"{place}: {what}.", "YAML whose keys are text, each once.", "correct the file at that position.")
