"""The text of an entry: what a person judged comes first and is never touched, what was derived comes after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

DERIVED = "# Derived; `kubeflow-volcano catalog derive` writes all below."
"""The first line of the second document."""

_LONGEST = 120
_DERIVED_LONGEST = 180
"""Short lists behind long names are one line, too."""
_LONG_WORD = 135
_SHORT = 90


def judged_text(text: str) -> str:
    """The first document of an entry, with its comments; of an entry that nothing was derived of, all of it."""
    kept = text.split(f"\n---\n{DERIVED}\n", maxsplit=1)[0]
    return kept.removeprefix("---\n").rstrip("\n") + "\n"


def text_of(judged: str, derived: Mapping[str, Any]) -> str:
    """The whole text of an entry."""
    return f"---\n{judged}---\n{DERIVED}\n{yaml_text(derived, longest=_DERIVED_LONGEST)}"


def yaml_text(data: Any, comments: Iterable[str] = (), *, longest: int = _LONGEST) -> str:
    """Data as YAML, as the catalog is written: short lists on one line, texts with only digits and dots in quotes."""
    lines = "".join(f"# {line}\n" for line in comments)
    return lines + yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=longest, default_flow_style=False
    )


class _Dumper(yaml.SafeDumper):
    """Indented lists, as yamllint requires them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  PyYAML's
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  PyYAML calls it so
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if re.fullmatch(r"[0-9.]+", text) else ">" if len(text) > _LONG_WORD and " " not in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.SequenceNode:
    short = all(isinstance(item, str) for item in items) and sum(len(item) + 2 for item in items) < _SHORT
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
