"""Settings that components of others must have so that other components work with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, TypeAlias

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.decode import Parsed, decode
from kubeflow_volcano.ref import Ref


def _config_map(text: str) -> Ref:
    namespace, _, name = text.partition("/")
    return Ref("v1", "ConfigMap", namespace, name)


_ConfigMap: TypeAlias = Annotated[Ref, Parsed(_config_map)]


@dataclass(frozen=True, slots=True)
class Unless:
    """A setting of the users with which they do not need the mode: field `has` of the JSON under `key`."""

    config_map: _ConfigMap
    key: str
    has: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mode:
    """The `value` under the first of `keys` that a ConfigMap of the component has; without one, `default` holds."""

    component: str
    users: tuple[str, ...]
    config_map: _ConfigMap
    keys: tuple[str, ...]
    value: str
    default: str
    why: str
    unless: Unless | None = None


@cache
def modes() -> tuple[Mode, ...]:
    """All of them."""
    return decode(tuple[Mode, ...], load("existing/modes")["modes"], "modes")
