"""YAML as Kubernetes reads it, by the C parser: duplicate keys are errors, dates are text, errors have a position."""

from __future__ import annotations

import re
from typing import Any

import yaml

from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["parse"]

# What Go's parsers read as numbers. PyYAML's own rules add base 60 ("12:30") and need a dot in "1e3".
_INT = re.compile(r"^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN)$"
)
_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.CSafeLoader):
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


_Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag in {f"{_TAG}null", f"{_TAG}bool", f"{_TAG}merge"}]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))


def _float(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> float:
    return float(loader.construct_scalar(node).replace(".inf", "inf").replace(".nan", "nan"))


def _int(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> int:
    digits = loader.construct_scalar(node).replace("_", "")
    octal = re.fullmatch(r"([-+]?)0o?([0-7]+)", digits)
    return int(octal[1] + octal[2], 8) if octal else int(digits, 0)


def _unknown(_loader: yaml.CSafeLoader, node: yaml.Node) -> Any:
    raise _refusal(f"the tag !!{node.tag.removeprefix(_TAG)}, which JSON has no type for", node)


_Loader.add_constructor(f"{_TAG}float", _float)
_Loader.add_constructor(f"{_TAG}int", _int)
for _name in ("binary", "omap", "pairs", "set", "timestamp"):
    _Loader.add_constructor(f"{_TAG}{_name}", _unknown)


def parse(text: str | bytes, origin: str) -> list[Any]:
    """Every document of `text` that is not empty. Messages begin with `origin`, a file or an address.

    Raises:
        InvalidInput: not YAML, not UTF-8, a key that is not text or not unique, or an alias inside its own anchor.
    """
    try:
        documents = [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
        if _names(text, "&") & _names(text, "*"):
            for document in documents:
                _require_finite(document, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{origin}:{mark.line + 1}:{mark.column + 1}" if mark else origin
        raise InvalidInput(_problem(place, error.problem or str(error))) from error
    except RecursionError as error:
        raise InvalidInput(_problem(origin, "lists and mappings inside each other without end")) from error
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidInput(_problem(origin, str(error))) from error
    return documents


def _names(text: str | bytes, mark: str) -> set[str]:
    """Names of anchors or aliases, and some words that only look like them."""
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return set(re.findall(rf"\{mark}([^\s,\[\]{{}}]+)", plain))


def _require_finite(value: Any, above: tuple[int, ...]) -> None:
    if isinstance(value, dict | list):
        if id(value) in above:
            raise RecursionError
        for item in value.values() if isinstance(value, dict) else value:
            _require_finite(item, (*above, id(value)))


def _problem(place: str, what: str) -> Problem:
    return Problem(f"{place}: {what}.", "YAML whose keys are text, each once.", "correct the file at that position.")
