"""python -m tests.sanity: build the collection, and run `ansible-test sanity` on it.

Left out are tests that others replace: pep8 and pylint (ruff, mypy), shellcheck, changelog (CHANGELOG.md). Plugins of
the controller are not imported, because they need the library, which is installed beside a collection.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import ansible_test
from ansible.release import __version__

from tests.places import ROOT
from tests.unpacking import unpack

_EVERYWHERE = (
    "action-plugin-docs",
    "ansible-doc",
    "compile",
    "empty-init",
    "ignores",
    "line-endings",
    "no-assert",
    "no-get-exception",
    "no-illegal-filenames",
    "no-smart-quotes",
    "replace-urlopen",
    "runtime-metadata",
    "shebang",
    "symlinks",
    "use-argspec-type-path",
    "use-compat-six",
    "validate-modules",
)
_OF_MODULES = ("import", "yamllint")
CHOSEN = (*_EVERYWHERE, *_OF_MODULES)
_MODULES = ("plugins/modules/", "plugins/module_utils/")
_LOCKED = ROOT / "requirements" / "sanity.txt"
_IGNORED = Path(__file__).with_name("ignore.txt")
_BOOTSTRAP = "import ensurepip\n\nensurepip.bootstrap()\n"


def main() -> int:
    """Print what the tests find; 0 if that is nothing."""
    home = _home()
    with tempfile.TemporaryDirectory() as directory:
        collection = _built(Path(directory))
        codes = [_run(home, collection, _EVERYWHERE), _run(home, collection, _OF_MODULES, *_MODULES)]
    return max(codes)


def _home() -> Path:
    """A home directory in which ansible-test finds its packages without a network; made again if the lock changes."""
    locked = _LOCKED.read_bytes() + __version__.encode()
    place = Path(sys.prefix, "sanity", hashlib.sha256(locked).hexdigest()[:8])
    if place.exists():
        return place
    shutil.rmtree(place.parent, ignore_errors=True)
    made = place.with_suffix(".part")
    wheels = made / "wheels"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--require-hashes"]
    which = ["--no-deps", "--only-binary", ":all:", "--dest", str(wheels), "-r", str(_LOCKED)]
    subprocess.run([*pip, *which], check=True)
    # ansible-test hides variables of the environment from pip, but not the configuration of the home directory.
    configuration = made / ".config" / "pip" / "pip.conf"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f"[install]\nno-index = true\nfind-links = {place / 'wheels'}\n", "utf-8")
    # It would fetch this script, which installs pip, from a server of its own.
    bootstrap = made / ".ansible" / "test" / "cache" / f"get_pip_{_pip_version().replace('.', '_')}.py"
    bootstrap.parent.mkdir(parents=True)
    bootstrap.write_text(_BOOTSTRAP, "utf-8")
    made.rename(place)
    return place


def _pip_version() -> str:
    """The version of pip that ansible-test installs, which is part of the name of the script."""
    text = Path(ansible_test.__path__[0], "_internal", "python_requirements.py").read_text("utf-8")
    found: list[str] = re.findall(r"pip='([\d.]+)'", text)
    return found[-1]


def _built(directory: Path) -> Path:
    """The collection of this checkout below `directory`, where ansible-test expects it."""
    build = [_program("ansible-galaxy"), "collection", "build", "--output-path", str(directory), str(ROOT)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    (archive,) = directory.glob("*.tar.gz")
    place = directory / "ansible_collections" / "kubeflow_volcano" / "platform"
    with tarfile.open(archive) as content:
        unpack(content, place)
    ignored = place / "tests" / "sanity" / f"ignore-{'.'.join(__version__.split('.')[:2])}.txt"
    ignored.parent.mkdir(parents=True)
    shutil.copy(_IGNORED, ignored)
    return place


def _run(home: Path, collection: Path, names: tuple[str, ...], *targets: str) -> int:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [_program("ansible-test"), "sanity", "--python", python]
    chosen = [word for name in names for word in ("--test", name)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"HOME": str(home)}
    return subprocess.run([*command, *chosen, *targets], check=False, cwd=collection, env=environment).returncode


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


if __name__ == "__main__":
    sys.exit(main())
