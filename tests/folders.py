"""The folders of the product and what each is for, as docs/architecture.md lists them.

python -m tests.folders     # write the list anew
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT

PAGE = ROOT / "docs/architecture.md"
ROOMS = ("kubeflow_volcano", "validators", "gang_demo")
BEGIN, END = "<!-- folders: python -m tests.folders -->\n", "<!-- end of folders -->\n"


def table() -> str:
    """A row for each folder: its path, and the first line of its package's docstring."""
    rows = "".join(f"| `{path.relative_to(ROOT)}/` | {purpose} |\n" for path, purpose in _folders())
    return f"| folder | what it holds |\n|---|---|\n{rows}"


def split(text: str) -> tuple[str, str, str]:
    """What stands before the list, the list, and what stands behind it.

    Raises:
        ValueError: the page has lost one of the two marks.
    """
    before, rest = text.split(BEGIN)
    found, after = rest.split(END)
    return before, found, after


def _folders() -> Iterator[tuple[Path, str]]:
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("__init__.py"), key=lambda file: file.parent.parts):
            text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
            yield file.parent, text.partition("\n")[0]


def main() -> None:
    """Write the list anew."""
    before, _, after = split(PAGE.read_text("utf-8"))
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
