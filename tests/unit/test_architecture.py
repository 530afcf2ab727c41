"""Imports go one way only, and one room alone knows Ansible."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

BOTTOM = ("__version__", "problems", "progress", "ref", "strict_yaml")
"""Modules and names of kubeflow_volcano that everybody may import."""

ALLOWED: dict[str, set[str]] = {
    "bottom": set(),
    "catalog": set(),
    "cluster": {"catalog"},
    "hosts": {"catalog", "cluster"},
    "rollout": {"catalog", "cluster"},
    "rehearsal": {"catalog", "cluster"},
    "validators": {"catalog", "cluster", "hosts"},
    "plugins": {"catalog", "cluster", "hosts", "rehearsal", "rollout", "validators"},
}
"""Room to the rooms that it may import beside itself and the bottom."""


def files() -> list[Path]:
    found = [path for top in ("kubeflow_volcano", "validators", "plugins") for path in (ROOT / top).rglob("*.py")]
    assert len(found) > 20
    return sorted(found)


def room_of(module: str) -> str | None:
    """The room that a module or a name in it belongs to; None for other people's."""
    first, *rest = module.split(".")
    if first in {"validators", "plugins"}:
        return first
    if first != "kubeflow_volcano":
        return None
    return "bottom" if not rest or rest[0] in BOTTOM else rest[0]


def own_room(path: Path) -> str:
    room = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    assert room in ALLOWED, f"{path} lies in no known room"
    return room


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of every module or name that the file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


EVERY_FILE = pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))


@EVERY_FILE
def test_imports_follow_the_arrows(path: Path) -> None:
    own = own_room(path)
    allowed = {own, "bottom", None} | ALLOWED[own]
    wrong = [f"line {line}: {own} imports {name}" for line, name in imported(path) if room_of(name) not in allowed]
    assert not wrong


@EVERY_FILE
def test_only_plugins_know_ansible(path: Path) -> None:
    users = [line for line, name in imported(path) if name.split(".")[0] == "ansible"]
    assert not users or own_room(path) == "plugins"


def test_the_test_sees_a_wrong_arrow(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text("def f():\n    from validators.facts import Facts\n    import kubeflow_volcano.rollout.run\n")
    assert [room_of(name) for _, name in imported(sample)] == ["validators", "rollout"]
