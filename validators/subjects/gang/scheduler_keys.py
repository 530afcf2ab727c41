"""Keys and arguments in the configuration of Volcano's scheduler that the program does not read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.schedulers import argument_type, is_newer, words_of
from kubeflow_volcano.cluster.volcano import Configuration
from kubeflow_volcano.text import did_you_mean, most_similar

_TOP = ("actions", "tiers", "configurations", "metrics")
_TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", lambda value: type(value) is int),
    "number": ("a number", lambda value: type(value) in {int, float}),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "text": ("text", lambda value: isinstance(value, str)),
}
"""What Go's GetInt, GetFloat64, GetBool and .(string) take (pkg/scheduler/framework/arguments.go)."""


@dataclass(frozen=True, slots=True)
class StrangeKey:
    """A key without effect. `path` leads to it from the top of the document; `meant` is what it probably should be."""

    path: tuple[str | int, ...]
    reason: str
    text: str
    meant: str = ""


def strange_keys(configuration: Configuration, version: str) -> Iterator[StrangeKey]:
    """Keys and arguments that this version does not read; none if the version is unknown or not in the catalog.

    Rules: pkg/scheduler/conf/scheduler_conf.go, which is decoded without KnownFields, and what New of each plugin and
    parseArguments of each action read. Of plugins that are not Volcano's own nothing is known, and the same holds for
    a part of `configurations` that names no action: plugins of vendors have theirs there.
    """
    words = words_of(version or "0")
    if not words.arguments or is_newer(version):
        return
    document = configuration.document
    yield from _unknown_keys(document, (), _TOP, version)
    for number, tier in enumerate(document.get("tiers") or ()):
        yield from _unknown_keys(tier, ("tiers", number), ("plugins",), version)
        for index, plugin in enumerate(tier.get("plugins") or ()):
            path: tuple[str | int, ...] = ("tiers", number, "plugins", index)
            yield from _unknown_keys(plugin, path, {"name", "arguments", *words.switches}, version)
            name = plugin.get("name")
            if name in words.arguments and name not in configuration.custom:
                yield from _arguments(plugin, path, words.arguments[name], version)
    for index, part in enumerate(document.get("configurations") or ()):
        path = ("configurations", index)
        if part.get("name") in words.action_arguments:
            yield from _unknown_keys(part, path, {"name", "arguments"}, version)
            yield from _arguments(part, path, words.action_arguments[part["name"]], version)


def _unknown_keys(
    holder: Mapping[str, Any], path: tuple[str | int, ...], known: Collection[str], version: str
) -> Iterator[StrangeKey]:
    free = set(known) - set(holder)
    where = f" of {holder['name']}" if "name" in holder else ""
    for key in holder:
        if key not in known:
            text = f"Volcano {version} does not read key {key}{where}"
            yield _noted((*path, key), "UnknownKey", text, most_similar(key, free))


def _arguments(
    holder: Mapping[str, Any], path: tuple[str | int, ...], known: Mapping[str, str], version: str
) -> Iterator[StrangeKey]:
    given = holder.get("arguments") or {}
    free = {name for name in known if not name.endswith("*")} - set(given)
    for key, value in given.items():
        what = f"argument {key} of {holder['name']}"
        kind = argument_type(key, known)
        needed, fits = _TYPES.get(kind, ("", bool))
        if not kind:
            text = f"Volcano {version} does not read {what}"
            yield _noted((*path, "arguments", key), "UnknownArgument", text, most_similar(key, free))
        elif needed and not fits(value):
            text = f"{what} is {value!r}, and Volcano {version} reads {needed} there"
            yield StrangeKey((*path, "arguments", key), "UnknownArgument", text)


def _noted(path: tuple[str | int, ...], reason: str, text: str, meant: str) -> StrangeKey:
    return StrangeKey(path, reason, f"{text}.{did_you_mean(str(path[-1]), [meant])}" if meant else text, meant)
