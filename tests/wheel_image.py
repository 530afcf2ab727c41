"""A container image with this project's wheel, as docs/monitoring.md builds one, without a registry to pull from.

Where the page begins with an image of Python, this one has the Python that runs the tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from tests.node_image import libraries, write_image
from tests.places import ROOT

_SITE = "opt/site"
_UNUSED = ("ensurepip", "idlelib", "lib2to3", "site-packages", "test", "turtledemo", "__pycache__")
_NOT_IN_PODS = frozenset({"ansible-core"})
"""Only the machine that runs playbooks needs it, and it is a third of the image."""
_START = f"""#!{Path(sys.executable).resolve()}
import sys
sys.path.insert(0, "/{_SITE}")
from kubeflow_volcano.command.start import main
sys.exit(main())
"""


def write_wheel_image(target: Path, name: str, scratch: Path, *modules: Path) -> None:
    """Write an archive that `ctr images import` takes; `modules` of the checkout can be imported, too."""
    more = {f"{_SITE}/{path.relative_to(ROOT)}": path for path in modules}
    files: dict[str, Path | str] = {**_files(scratch), **more, "usr/local/bin/kubeflow-volcano": _START}
    write_image(target, name, files, ("PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"))


def python_files() -> dict[str, Path]:
    """This Python without what is installed for it, by place in an image; the libraries of its modules, too."""
    python = Path(sys.executable).resolve()
    found = {str(python).lstrip("/"): python}
    for kind in ("stdlib", "platstdlib"):
        home = Path(sysconfig.get_path(kind, vars={"base": sys.base_prefix, "platbase": sys.base_prefix}))
        paths = (path for path in home.rglob("*") if not set(_UNUSED) & set(path.relative_to(home).parts))
        found |= {str(path).lstrip("/"): path for path in paths if path.is_file()}
    return found | libraries(python) | _linked(found.values())


def _linked(paths: Iterable[Path]) -> dict[str, Path]:
    """The libraries that modules among these files are linked to."""
    modules = [path for path in paths if ".so" in path.suffixes]
    return {place: path for module in modules for place, path in libraries(module).items()}


def _files(scratch: Path) -> dict[str, Path]:
    """All files of the image, by their place in it."""
    found: dict[str, Path] = {}
    for distribution in _needed():
        for file in distribution.files or ():
            if not file.parts[0].startswith("..") and "__pycache__" not in file.parts:
                found[f"{_SITE}/{file}"] = Path(str(distribution.locate_file(file)))
    site = _wheel(scratch)
    found |= {f"{_SITE}/{path.relative_to(site)}": path for path in site.rglob("*") if path.is_file()}
    return {**python_files(), **found, **_linked(found.values())}


def _needed() -> Iterator[metadata.Distribution]:
    """The distributions that this project requires, and what they require."""
    waiting, seen = ["kubeflow-volcano"], {*_NOT_IN_PODS}
    while waiting:
        distribution = metadata.distribution(waiting.pop())
        for line in distribution.requires or ():
            name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
            if "extra ==" not in line and name not in seen and _is_installed(name):
                seen.add(name)
                waiting.append(name)
                yield metadata.distribution(name)


def _is_installed(name: str) -> bool:
    """A requirement of another system or Python is not."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _wheel(scratch: Path) -> Path:
    words = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", scratch / "wheel", ROOT)
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words], check=True)
    (wheel,) = (scratch / "wheel").glob("*.whl")
    site = scratch / "site"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, site], check=True)
    return site
