"""What follows from the declaration of variables: files of roles, the sample inventory, and the schema of settings.

The declaration is kubeflow_volcano/rollout/settings/variables.yaml; `make generate` writes what follows from it.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kubeflow_volcano.decode import decode
from kubeflow_volcano.foreign import read_yaml
from tests.places import ROOT

SETTINGS = Path("kubeflow_volcano/rollout/settings")
DECLARATION = SETTINGS / "variables.yaml"
BEGIN, END = "<!-- variables: make generate -->\n", "<!-- end of variables -->\n"
FROM = f"# `make generate` writes this file from {DECLARATION}."
FOLDED_FROM, WIDTH_FOLDED, WIDTH_OF_COMMENTS = 155, 145, 156
"""Columns of YAML, which .yamllint allows 160 of."""

_ANSIBLE_TYPES = {"string": "str", "integer": "int", "boolean": "bool", "array": "list", "object": "dict"}
_JSON_TYPES = {name: json_type for json_type, name in _ANSIBLE_TYPES.items()} | {"path": "string"}
_WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


@dataclass(frozen=True)
class Variable:
    """A variable of the inventory.

    `type` is Ansible's word. `limits` are keywords of JSON Schema. `needed` says in messages what a valid value is, and
    names limits in braces. No message and no result contains the value of a secret.
    """

    type: str
    default: Any
    meaning: str
    needed: str = "true or false"
    choices: tuple[str, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    secret: bool = False

    @property
    def said(self) -> str:
        """What it means, with its choices."""
        choices = f" One of {', '.join(f'`{choice}`' for choice in self.choices)}." if self.choices else ""
        return f"{self.meaning}{choices}"

    def rule(self) -> dict[str, Any]:
        """Its schema."""
        rule: dict[str, Any] = {"description": self.needed.format_map(self.limits)}
        limits = dict(self.limits)
        if self.choices and self.type == "list":
            limits = {"items": {"enum": list(self.choices)}, **limits}
        elif self.choices:
            limits = {"enum": list(self.choices), **limits}
        if not limits.keys() & {"$ref", "anyOf", "enum"}:
            rule["type"] = _JSON_TYPES[self.type]
        return rule | limits | ({"writeOnly": True} if self.secret else {}) | {"default": self.default}

    def elements(self, definitions: Mapping[str, Any]) -> str:
        """The type of the items of a list, as Ansible calls it; empty for other types."""
        items = self.limits.get("items", {}) if self.type == "list" and not self.choices else {"type": "string"}
        found = definitions[items["$ref"].rpartition("/")[2]] if "$ref" in items else items
        return _ANSIBLE_TYPES[found.get("type", "string")] if self.type == "list" else ""


@dataclass(frozen=True)
class Entry:
    """A further entry point of a role, and the variables that it reads; all of the role without any."""

    summary: str
    description: tuple[str, ...]
    variables: tuple[str, ...] = ()


_OF_ALL = frozenset({"catalog_directory", "training_operator_source", "training_operator_version"})
"""Variables that all roles read and that are named after no role: of entries of the catalog, and of a component."""


@dataclass(frozen=True)
class Role:
    """A role, its variables, and the heading above them in the sample inventory."""

    summary: str
    description: tuple[str, ...]
    variables: Mapping[str, Variable]
    heading: str = ""
    entries: Mapping[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True)
class Declaration:
    """All variables by role, in the order of the sample inventory, and what their limits refer to."""

    roles: Mapping[str, Role]
    definitions: Mapping[str, Any]

    @property
    def variables(self) -> dict[str, Variable]:
        """All of them by name."""
        return {name: variable for role in self.roles.values() for name, variable in role.variables.items()}


def declared(text: str = "") -> Declaration:
    """The declaration, read from its file or from a text.

    Raises:
        ValueError: it is not well-formed, or a variable does not begin with the name of its role.
    """
    data = read_yaml(text or (ROOT / DECLARATION).read_text(encoding="utf-8"))
    _require_known_keys(data)
    found = decode(Declaration, data)
    strange = [
        name
        for role, of in found.roles.items()
        for name in of.variables
        if not name.startswith(f"{role}_") and name not in _OF_ALL
    ]
    if strange:
        raise ValueError(f"{', '.join(strange)}: the name of a variable begins with that of its role")
    return found


def _require_known_keys(data: Mapping[str, Any]) -> None:
    """The decoder ignores unknown keys; here each is a mistake."""
    for role in data["roles"].values():
        for kind, items in ((Variable, role["variables"]), (Entry, role.get("entries", {})), (Role, {"role": role})):
            for name, item in items.items():
                if strange := item.keys() - kind.__dataclass_fields__.keys():
                    raise ValueError(f"{name} has {', '.join(sorted(strange))}, which nothing reads")


def generated() -> Iterator[tuple[Path, str]]:
    """Every file that follows from the declaration, and its text."""
    found = declared()
    yield SETTINGS / "settings.schema.json", schema(found)
    yield Path("inventory/sample/group_vars/all.yml"), _sample(found)
    for name, role in found.roles.items():
        place = Path("roles") / name
        yield place / "defaults/main.yml", "\n".join(["---", FROM, *_shown(role), ""])
        yield place / "meta/argument_specs.yml", "\n".join([*_specification(role, found.definitions), ""])
        yield place / "meta/main.yml", _META.format(_text("  description: ", role.summary))
        yield place / "README.md", _with_table((ROOT / place / "README.md").read_text(encoding="utf-8"), role)


def schema(found: Declaration) -> str:
    """The JSON Schema of all variables."""
    rules = {name: variable.rule() for name, variable in found.variables.items()}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"`make generate` writes this file from {DECLARATION}.",
        "title": "Settings",
        "description": "The public variables of the inventory. Messages about invalid values quote these descriptions.",
        "type": "object",
        "additionalProperties": False,
    }
    parts = {"properties": rules, "$defs": found.definitions}
    lines = [f"  {json.dumps(key)}: {_json(value)}" for key, value in head.items()]
    for part, items in parts.items():
        inside = ",\n".join(f"    {json.dumps(name)}: {_json(item)}" for name, item in items.items())
        lines.append(f"  {json.dumps(part)}: {{\n{inside}\n  }}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _sample(found: Declaration) -> str:
    lines = ["---", *_SAMPLE_HEAD]
    for role in found.roles.values():
        lines += ["", f"# {role.heading}", ""] if role.heading else []
        lines += _shown(role, "# ")
    return "\n".join([*lines, ""])


def _shown(role: Role, mark: str = "") -> Iterator[str]:
    """Each variable with its default, below what it means."""
    for name, variable in role.variables.items():
        yield from textwrap.wrap(
            variable.said.replace("`", ""),
            WIDTH_OF_COMMENTS,
            initial_indent="# ",
            subsequent_indent="# ",
            **_WHOLE_WORDS,
        )
        line = f"{mark}{name}: {_json(variable.default)}"
        yield line if mark or name not in _OF_ALL else f"{line} # noqa: var-naming[no-role-prefix]"


def _specification(role: Role, definitions: Mapping[str, Any]) -> Iterator[str]:
    shared = {name for entry in role.entries.values() for name in entry.variables}
    yield from ("---", FROM, "argument_specs:", "  main:")
    yield from _entry(role)
    yield f"    options:{' &options' if any(not entry.variables for entry in role.entries.values()) else ''}"
    for name, variable in role.variables.items():
        yield f"      {name}:{f' &{name}' if name in shared else ''}"
        yield f"        type: {variable.type}"
        yield f"        default: {_json(variable.default)}"
        yield _text("        description: ", variable.meaning)
        if elements := variable.elements(definitions):
            yield f"        elements: {elements}"
        if variable.choices:
            line = f"        choices: {_json(list(variable.choices))}"
            lines = ["        choices:", *(f"          - {choice}" for choice in variable.choices)]
            yield from [line] if len(line) <= FOLDED_FROM else lines
        if variable.secret:
            yield "        no_log: true"
    for entry_name, entry in role.entries.items():
        yield f"  {entry_name}:"
        yield from _entry(entry)
        yield "    options:" if entry.variables else "    options: *options"
        yield from (f"      {name}: *{name}" for name in entry.variables)


def _entry(entry: Role | Entry) -> Iterator[str]:
    yield _text("    short_description: ", entry.summary)
    yield "    description:"
    yield from (_text("      - ", text) for text in entry.description)


def _text(key: str, text: str) -> str:
    """A text as YAML behind its key: plain, in quotes, or folded."""
    try:
        plain = yaml.safe_load(f"- {text}") == [text]
    except yaml.YAMLError:
        plain = False
    line = key + (text if plain else "'{}'".format(text.replace("'", "''")))
    if len(line) <= FOLDED_FROM:
        return line
    indent = " " * (len(key) - len(key.lstrip()) + 2)
    return f"{key}>-\n" + textwrap.fill(
        text, WIDTH_FOLDED, initial_indent=indent, subsequent_indent=indent, **_WHOLE_WORDS
    )


def _with_table(page: str, role: Role) -> str:
    """A role's page with the table of its variables.

    Raises:
        ValueError: the page has lost one of the two marks.
    """
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    rows = "".join(
        f"| `{name}` | {variable.type} | `{_json(variable.default)}` | {variable.said} |\n"
        for name, variable in role.variables.items()
    )
    return f"{before}{BEGIN}| variable | type | default | meaning |\n|---|---|---|---|\n{rows}{END}{after}"


_SAMPLE_HEAD = (
    "# Copy this directory, name it after your cluster, and remove the # of every variable that you change.",
    "# Put text that looks like a number, such as a version, in quotes.",
)

_META = f"""---
{FROM}
galaxy_info:
  author: The kubeflow-volcano authors
{{}}
  license: Apache-2.0
  min_ansible_version: "2.18"
  platforms:
    - name: GenericLinux
      versions:
        - all
dependencies: []
"""
