"""No variable is declared that nothing reads: a value that a person sets must have an effect."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_type_hints

from kubeflow_volcano.catalog.read import OWN_FILES
from kubeflow_volcano.decode import SAME, Key
from kubeflow_volcano.rollout.settings.settings import Settings
from tests.places import ROOT
from tests.variables import SETTINGS, declared

PROGRAMS = ("gang_demo", "kubeflow_volcano", "plugins", "validators")
FILES_OF_ANSIBLE = ("roles/*/tasks/*.yml", "roles/*/vars/*.yml", "roles/*/handlers/*.yml", "playbooks/**/*.yml")
MADE_OF_PARTS = {f"{name.replace('-', '_')}_{what}" for name in OWN_FILES for what in ("source", "version")}
"""Variables whose names settings.py puts together."""

Field = tuple[str, str]
"""A dataclass of the settings, and a field of it."""


def fields(kind: type, group: str, groups: dict[str, str]) -> Iterator[tuple[str, Field]]:
    """The field that each variable becomes; `groups` gets each dataclass, and the field of Settings that it is in."""
    groups[kind.__name__] = group
    for name, hint in get_type_hints(kind, include_extras=True).items():
        notes = getattr(hint, "__metadata__", ())
        if SAME in notes:
            yield from fields(get_args(hint)[0], name, groups)
        yield from ((note.name, (kind.__name__, name)) for note in notes if isinstance(note, Key))


def read_in(text: str, groups: dict[str, str], *, everywhere: bool) -> tuple[set[Field], set[str]]:
    """Fields and keys that a module reads; without `everywhere`, as in the settings, those that no rule is about."""
    nodes = list(ast.walk(ast.parse(text)))
    rules = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name.lstrip("_").startswith("valid")]
    ignored = set() if everywhere else {id(inside) for rule in rules for inside in ast.walk(rule)}
    owners = _owners(nodes, groups)
    found: set[Field] = set()
    keys: set[str] = set()
    for node in (node for node in nodes if id(node) not in ignored):
        if isinstance(node, ast.Attribute):
            found |= {(kind, node.attr) for kind in owners.get(_last(node.value), ())}
        elif isinstance(node, ast.Subscript):
            keys.add(_text(node.slice))
        elif isinstance(node, ast.Call) and _last(node.func) == "get" and node.args:
            keys.add(_text(node.args[0]))
    return found, keys


def _owners(nodes: Iterable[ast.AST], groups: dict[str, str]) -> dict[str, set[str]]:
    """The dataclasses that a name may be of: by its annotation, its assignment, or as a field of Settings."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for kind, group in groups.items():
        owners[group].add(kind)
    for node in nodes:
        if isinstance(node, ast.arg) and node.annotation:
            owners[node.arg] |= groups.keys() & {_last(part) for part in ast.walk(node.annotation)}
        elif isinstance(node, ast.ClassDef) and node.name in groups:
            owners["self"].add(node.name)
        elif isinstance(node, ast.Assign | ast.NamedExpr):
            for target, value in _pairs(node):
                if isinstance(target, ast.Name) and (name := _last(value)) in groups.values():
                    owners[target.id] |= owners[name]
    return owners


def _pairs(node: ast.Assign | ast.NamedExpr) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in [node.target] if isinstance(node, ast.NamedExpr) else node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _last(node: Any) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _text(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""


def test_every_variable_is_read() -> None:
    """By a role or playbook, by its name, or as a field of the settings beyond the rules that it must keep."""
    groups: dict[str, str] = {}
    of_settings = dict(fields(Settings, "settings", groups))
    read = set(MADE_OF_PARTS)
    for pattern in FILES_OF_ANSIBLE:
        for path in ROOT.glob(pattern):
            read |= set(re.findall(r"\w+", re.sub(r"(?m)^\s*#.*$", "", path.read_text("utf-8"))))
    found: set[Field] = set()
    for path in (path for room in PROGRAMS for path in (ROOT / room).rglob("*.py")):
        text = path.read_text("utf-8")
        if re.search(r"ettings\b|values\[|variables", text):
            more, keys = read_in(text, groups, everywhere=SETTINGS not in path.relative_to(ROOT).parents)
            found |= more
            read |= keys
    read |= {name for name, field in of_settings.items() if field in found}
    assert sorted(declared().variables.keys() - read) == []


def test_a_field_that_only_rules_are_about_is_not_read() -> None:
    text = """
def validate_storage(storage: StorageSettings) -> None:
    print(storage.minimum, values["local_path_source"])

def of(asked: StorageSettings) -> None:
    print(asked.mode)
"""
    assert read_in(text, {"StorageSettings": "storage"}, everywhere=False) == ({("StorageSettings", "mode")}, set())
