"""Imports go one way only, folders stay small, and one room alone knows Ansible.

docs/architecture.md draws the same rooms and floors for people.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.places import ROOT

PACKAGES = ("gang_demo", "kubeflow_volcano", "plugins", "validators")

LINKED = ("gang_demo", "validators")
"""Packages of `kubeflow_volcano` whose folders stand beside it; links lead to them."""

COLLECTION = "ansible_collections.kubeflow_volcano.platform."
"""How plugins import what they share; in a checkout a link leads from there to the folder `plugins`."""

MOST_MODULES = 15
"""In one folder, `__init__` and `__main__` not counted."""

MOST_WITH_ALL_SETTINGS = 14
"""Packages; the goal is fewer."""

FLAT = {"plugins/action", "plugins/modules"}
"""Ansible finds plugins only directly in their folder."""

ALLOWED: Mapping[str, set[str]] = {
    "ground": set(),
    "kubeflow_volcano.catalog": set(),
    "kubeflow_volcano.cluster": set(),
    "kubeflow_volcano.apply": {"kubeflow_volcano.cluster"},
    "kubeflow_volcano.experiment": {"kubeflow_volcano.catalog", "kubeflow_volcano.cluster"},
    "kubeflow_volcano.hosts": {"kubeflow_volcano.catalog", "kubeflow_volcano.cluster"},
    "kubeflow_volcano.rollout": {"kubeflow_volcano.catalog", "kubeflow_volcano.cluster", "kubeflow_volcano.apply"},
    "kubeflow_volcano.deriving": {"kubeflow_volcano.catalog", "kubeflow_volcano.cluster", "kubeflow_volcano.rollout"},
    "kubeflow_volcano.rehearsal": {"kubeflow_volcano.cluster"},
    "kubeflow_volcano.gang_demo": {
        "kubeflow_volcano.catalog",
        "kubeflow_volcano.cluster",
        "kubeflow_volcano.experiment",
    },
    "kubeflow_volcano.validators": {
        "kubeflow_volcano.catalog",
        "kubeflow_volcano.cluster",
        "kubeflow_volcano.experiment",
        "kubeflow_volcano.hosts",
    },
    "kubeflow_volcano.command": {
        "kubeflow_volcano.deriving",
        "kubeflow_volcano.rehearsal",
        "kubeflow_volcano.validators",
    },
    "plugins": {
        "kubeflow_volcano.gang_demo",
        "kubeflow_volcano.catalog",
        "kubeflow_volcano.cluster",
        "kubeflow_volcano.experiment",
        "kubeflow_volcano.hosts",
        "kubeflow_volcano.rehearsal",
        "kubeflow_volcano.rollout",
        "kubeflow_volcano.validators",
    },
}
"""Room to the rooms that it may import beside itself and the ground: the modules directly in `kubeflow_volcano`."""

FLOORS: Mapping[str, Sequence[set[str]]] = {
    "kubeflow_volcano.validators": (
        {"core"},
        {"language"},
        {"subjects"},
        {"reading"},
        {"probes"},
        {"checks"},
        {"hosts", "explain", "support"},
        {"report"},
        {"run"},
        {"cli"},
        {"__main__"},
    ),
    "kubeflow_volcano.rollout": (
        {"bundle", "hints"},
        {"settings"},
        {"images", "manifests", "state"},
        {"account", "existing", "queues", "storage"},
        {"access", "gang", "people"},
        {"patches"},
        {"scope", "desired", "requirements", "way_in"},
        {"versions"},
        {"backup", "prepare"},
        {"running"},
        {"stale"},
        {"packing", "run", "uninstall"},
        {"plan"},
        {"upgrade"},
    ),
    "kubeflow_volcano.rehearsal": (
        {"inside"},
        {"lock"},
        {"build"},
        {"spec"},
        {"node"},
        {"host"},
        {"cluster"},
        {"lifecycle"},
        {"__main__"},
    ),
}
"""Floors inside a room, from the ground up. A module imports its own floor's folder and lower floors."""


@cache
def files() -> list[Path]:
    found = [path for top in PACKAGES for path in (ROOT / top).rglob("*.py")]
    assert len(found) > 20
    return sorted(found)


@cache
def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return f"kubeflow_volcano.{name}" if name.partition(".")[0] in LINKED else name


def room_of(module: str) -> str | None:
    """The room that a module or a name in it belongs to; None for other people's."""
    first, *rest = module.split(".")
    if first not in PACKAGES:
        return None
    assert first not in LINKED, f"{module} is to be imported as kubeflow_volcano.{module}"
    if first != "kubeflow_volcano":
        return first
    room = f"{first}.{rest[0]}" if rest else first
    return room if room in ALLOWED else "ground"


@cache
def imported(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and full name of every module or name that the file imports, wherever in it."""
    return tuple((line, name.removeprefix(COLLECTION)) for line, name in _imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def floor_of(room: str, module: str) -> int | None:
    """How high a module stands in its room; None for what stands in another one, or is the room itself."""
    if not module.startswith(f"{room}."):
        return None
    part = module.removeprefix(f"{room}.").split(".")[0]
    found = [height for height, parts in enumerate(FLOORS[room]) if part in parts]
    return found[0] if found else None


def test_imports_follow_the_arrows() -> None:
    wrong: list[str] = []
    for path in files():
        own = room_of(module_of(path))
        assert own is not None
        allowed = {own, "ground", None} | ALLOWED[own]
        wrong += [
            f"{path}:{line}: {own} imports {name}" for line, name in imported(path) if room_of(name) not in allowed
        ]
    assert not wrong


@pytest.mark.parametrize("room", FLOORS)
def test_imports_lead_to_lower_floors(room: str) -> None:
    wrong: list[str] = []
    for path in files():
        own = floor_of(room, module_of(path))
        if own is None:
            continue
        here = module_of(path).removeprefix(f"{room}.").split(".")[0]
        for line, name in imported(path):
            height = floor_of(room, name)
            there = name.removeprefix(f"{room}.").split(".")[0]
            if height is not None and (height > own or (height == own and there != here)):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong


@pytest.mark.parametrize("room", FLOORS)
def test_every_folder_has_a_floor(room: str) -> None:
    home = ROOT / room.replace(".", "/")  # a link leads to what stands beside the library
    parts = {path.stem for path in home.glob("*.py")} | {path.parent.name for path in home.glob("*/__init__.py")}
    assert parts - {"__init__"} == set().union(*FLOORS[room])


def test_no_module_imports_itself_through_others() -> None:
    modules = {module_of(path): path for path in files()}
    arrows = {
        module: {found for _, name in imported(path) for found in (name, name.rpartition(".")[0]) if found in modules}
        - {module}
        for module, path in modules.items()
    }
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"circle: {' -> '.join((*way[way.index(module) :], module))}"
        if module in done:
            return
        for target in sorted(arrows[module]):
            if target in modules and not target.endswith("__init__"):
                visit(target, (*way, module))
        done.add(module)

    for module in arrows:
        visit(module, ())


def test_imports_are_the_same_for_every_reader() -> None:
    assert not [path for path in files() if "TYPE_CHECKING" in path.read_text(encoding="utf-8")]


def test_folders_can_be_taken_in_at_a_glance() -> None:
    counts: dict[str, int] = {}
    for path in files():
        if path.stem not in {"__init__", "__main__"}:
            folder = str(path.parent.relative_to(ROOT))
            counts[folder] = counts.get(folder, 0) + 1
    assert not {folder: count for folder, count in counts.items() if count > MOST_MODULES and folder not in FLAT}


def test_only_plugins_know_ansible() -> None:
    others = [path for path in files() if room_of(module_of(path)) != "plugins"]
    assert not [path for path in others if any(name.split(".")[0] == "ansible" for _, name in imported(path))]


def test_what_runs_in_the_node_needs_nothing_but_python() -> None:
    room = "kubeflow_volcano.rehearsal.inside"
    folder = ROOT / room.replace(".", "/")
    names = {name for path in folder.glob("*.py") for _, name in imported(path)}
    foreign = {name for name in names if name.split(".")[0] in {"yaml", "kubernetes", "cryptography", *PACKAGES}}
    assert {name for name in foreign if not name.startswith(f"{room}.")} == set()


def test_what_runs_on_hosts_needs_nothing_but_python_and_what_ansible_sends_along() -> None:
    folders = [ROOT / "plugins" / name for name in ("modules", "module_utils")]
    names = {name for folder in folders for path in folder.glob("*.py") for _, name in imported(path)}
    foreign = {name for name in names if name.split(".")[0] in {"ansible", "yaml", "kubernetes", *PACKAGES}}
    assert {
        name for name in foreign if not name.startswith(("ansible.module_utils.", "plugins.module_utils."))
    } == set()


@pytest.mark.parametrize("room", ["apply", "cluster"])
def test_what_applies_any_objects_names_no_variable(room: str) -> None:
    """A problem has a reason, and `rollout/hints.py` says which variable helps."""
    schema = ROOT / "kubeflow_volcano" / "rollout" / "settings" / "settings.schema.json"
    names = set(json.loads(schema.read_text("utf-8"))["properties"])
    for path in (ROOT / "kubeflow_volcano" / room).rglob("*.py"):
        assert not names & set(re.findall(r"\w+", path.read_text("utf-8"))), path


def test_few_packages_follow_the_settings_as_a_whole() -> None:
    """A function takes the part of the settings that it needs; these are the packages of those that take all of it."""
    whole = "kubeflow_volcano.rollout.settings.settings.Settings"
    users = {
        path.parent.relative_to(ROOT).as_posix() for path in files() if any(name == whole for _, name in imported(path))
    }
    assert len(users) <= MOST_WITH_ALL_SETTINGS, sorted(users)


def test_no_folder_of_tests_is_left_out(pytestconfig: pytest.Config) -> None:
    left_out = pytestconfig.getini("norecursedirs")
    folders = {folder.name for file in (ROOT / "tests").rglob("test_*.py") for folder in file.relative_to(ROOT).parents}
    assert [name for name in folders if any(fnmatch(name, pattern) for pattern in left_out)] == []


def test_the_test_sees_a_wrong_arrow(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        "from kubeflow_volcano.validators.core.facts import Facts\ndef f():\n    import kubeflow_volcano.rollout.run\n"
    )
    assert [room_of(name) for _, name in imported(sample)] == [
        "kubeflow_volcano.validators",
        "kubeflow_volcano.rollout",
    ]
    assert floor_of("kubeflow_volcano.validators", "kubeflow_volcano.validators.core.facts.Facts") == 0
    assert floor_of("kubeflow_volcano.validators", "kubeflow_volcano.rollout.run") is None


def test_packages_beside_the_library_are_in_it() -> None:
    """A wheel has one package at its top: other distributions bring a package `validators` as well."""
    for name in LINKED:
        link = ROOT / "kubeflow_volcano" / name
        assert link.is_symlink()
        assert link.resolve() == ROOT / name
    with pytest.raises(AssertionError, match=r"as kubeflow_volcano\.validators\.core"):
        room_of("validators.core")


def test_every_library_that_is_imported_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {re.split(r"[<>=~! \[]", text)[0].lower().replace("_", "-") for text in declared}
    known = {*sys.stdlib_module_names, *PACKAGES, "ansible_collections"}
    found = {name.partition(".")[0] for path in files() for _, name in imported(path)} - known
    owners = packages_distributions()
    missing = {name for name in found if not names & {each.lower().replace("_", "-") for each in owners.get(name, ())}}
    assert missing == set()
