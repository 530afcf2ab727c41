"""Which places have the version and the address of the project; `make generate` makes them agree.

The version is `__version__` of the library, to which pyproject.toml leads; the address is `[project.urls]` there.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT

NUMBER = r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
"""A version as wheels (PEP 440) and collections (Semantic Versioning) both write it."""

SOURCE = "kubeflow_volcano/__init__.py"
_PLACES = {
    SOURCE: rf'(?m)^(__version__ = "){NUMBER}(?=")',
    "galaxy.yml": rf"(?m)^(version: ){NUMBER}$",
    "plugins/plugin_utils/library.py": rf'(?m)^(VERSION = "){NUMBER}(?=")',
}
_ON_PAGES = rf"(kubeflow_volcano-(?:platform-)?|kubeflow-volcano(?:==|[: ])){NUMBER}(?!\d)"
"""Names of built files, tags of images, and what `--version` prints."""
_OF_GALAXY = ("repository", "documentation", "homepage", "issues")


def version(root: Path = ROOT) -> str:
    """The version of a checkout.

    Raises:
        ValueError: it is none that wheel and collection can have.
    """
    found = re.search(rf'(?m)^__version__ = "({NUMBER})"$', (root / SOURCE).read_text("utf-8"))
    if not found:
        raise ValueError(f"{SOURCE} has no __version__ such as 1.2.3")
    return found[1]


def address(root: Path = ROOT) -> str | None:
    """Where the repository can be reached, without a slash at the end; None while pyproject.toml names no place."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    found: str | None = project.get("urls", {}).get("Repository")
    return found.rstrip("/") if found else None


def with_address(pyproject: str, url: str) -> str:
    """The text of pyproject.toml with this address of the repository."""
    table = f'[project.urls]\nRepository = "{url}"\nIssues = "{url}/issues"\n\n'
    text = re.sub(r"(?ms)^\[project\.urls\]\n.*?(?=^\[)", "", pyproject)
    return text.replace("[dependency-groups]\n", f"{table}[dependency-groups]\n", 1)


def write(number: str, root: Path = ROOT) -> list[str]:
    """Write version and address into all places; returns the paths of those that were different."""
    changed = []
    for name, text in texts(number, root):
        path = root / name
        if path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            changed.append(name)
    return changed


def texts(number: str, root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Every file that names the version or the address, and what it is to contain.

    Raises:
        ValueError: a file names no version.
    """
    for name, pattern in _PLACES.items():
        text, count = re.subn(pattern, rf"\g<1>{number}", (root / name).read_text("utf-8"))
        if count != 1:
            raise ValueError(f"{name} has {count} versions where one is expected")
        yield name, _with_fields_of_galaxy(text, address(root)) if name == "galaxy.yml" else text
    for path in sorted((root / "docs").rglob("*.md")):
        text = re.sub(_ON_PAGES, rf"\g<1>{number}", path.read_text("utf-8"))
        yield str(path.relative_to(root)), text


def _with_fields_of_galaxy(text: str, url: str | None) -> str:
    kept = re.sub(rf"(?m)^(?:{'|'.join(_OF_GALAXY)}): .*\n", "", text)
    if url is None:
        return kept
    values = (url, f"{url}/tree/main/docs", url, f"{url}/issues")
    lines = "".join(f"{name}: {value}\n" for name, value in zip(_OF_GALAXY, values, strict=True))
    return re.sub(r"(?m)^(license: .*\n)", rf"\g<1>{lines}", kept)
