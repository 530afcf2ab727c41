"""How many lines the project has: of the product's Python, of its tests, and of the catalog's data.

python -m tests.size
"""

from __future__ import annotations

import subprocess

from tests.places import ROOT

CATALOG = "kubeflow_volcano/catalog/"


def sizes() -> dict[str, int]:
    """Lines of files that git knows: Python outside tests, Python of tests, and data of the catalog."""
    found = {"product": 0, "tests": 0, "catalog": 0}
    for name in subprocess.run(
        ["git", "ls-files", "-z"],
        check=True,
        capture_output=True,
        cwd=ROOT,
        text=True,
    ).stdout.split("\0"):
        kind = "tests" if name.startswith("tests/") else "product"
        if name.startswith(CATALOG) and not name.endswith(".py"):
            kind = "catalog"
        elif not name.endswith(".py"):
            continue
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            found[kind] += path.read_bytes().count(b"\n")
    return found


if __name__ == "__main__":
    for what, lines in sizes().items():
        print(f"{what:8} {lines:7,} lines")  # noqa: T201 - this program's output
