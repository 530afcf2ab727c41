"""Containers that reach addresses outside of the cluster, which need the proxy of a company's network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.decode import decode


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Containers of one object of a component; `name` * is any object of that kind."""

    component: str
    kind: str
    name: str
    containers: tuple[str, ...]
    why: str

    def is_about(self, component: str, kind: str, name: str) -> bool:
        """Whether it is about that object of that component."""
        return (self.component, self.kind) == (component, kind) and self.name in {"*", name}


@cache
def outgoing() -> tuple[Outgoing, ...]:
    """All of them."""
    return decode(tuple[Outgoing, ...], load("outgoing")["outgoing"], "outgoing")
