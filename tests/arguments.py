"""Arguments of the modules that run on hosts, which have no YAML: written into each from the file beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kubeflow_volcano.foreign import read_yaml
from tests.places import ROOT

MODULES = Path("plugins/modules")
SECRET = {"contents", "password"}
"""Arguments whose values are not logged; documentation has no word for it."""

_WIDTH = 120
_ARGUMENTS = re.compile(r"(?ms)^ARGUMENTS: dict\[str, Any\] = \{.*?^\}(?:  # [^\n]*)?\n")
_FROM = "  # `make generate` writes this from the file beside it"


def generated() -> Iterator[tuple[Path, str]]:
    """Every module that is documented in a file beside it, with the arguments of that documentation."""
    for documentation in sorted((ROOT / MODULES).glob("*.yml")):
        options = read_yaml(documentation.read_text(encoding="utf-8"))["DOCUMENTATION"]["options"]
        module = documentation.with_suffix(".py")
        arguments = f"ARGUMENTS: dict[str, Any] = {_python(_specification(options), '', expanded=True)}{_FROM}\n"
        text = module.read_text(encoding="utf-8")
        if "def main" not in text:
            continue  # an action plugin does the work, and reads the file itself
        place = _ARGUMENTS.search(text)
        if not place:
            raise ValueError(f"{module.name} has no ARGUMENTS")
        yield module.relative_to(ROOT), f"{text[: place.start()]}{arguments}{text[place.end() :]}"


def _specification(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, option in options.items():
        found[name] = {key: option[key] for key in option if key not in {"description", "suboptions"}}
        if "suboptions" in option:
            found[name]["options"] = _specification(option["suboptions"])
        if name in SECRET:
            found[name]["no_log"] = True
    return found


def _python(value: Any, indent: str, *, expanded: bool = False) -> str:
    """A mapping as Python, on one line if it fits there behind its key; formatted as ruff does it."""
    line = _line(value)
    if not isinstance(value, dict) or not (expanded or len(indent) + len(line) > _WIDTH - 20):
        return line
    inside = f"{indent}    "
    items = "".join(f"{inside}{_line(key)}: {_python(item, inside)},\n" for key, item in value.items())
    return f"{{\n{items}{indent}}}"


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_line(key)}: {_line(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_line, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
