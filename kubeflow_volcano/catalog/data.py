"""The data files of the catalog: `<name>.yaml` beside this module, checked against `schemas/<name>.json`.

The file of a version may have two documents: what a person judged, and what was derived from upstream's files. They are
read as one; where both say something, the person is right. A directory of the user may have more such files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper, cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import yaml
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput, Problem

HOME = Path(str(files("kubeflow_volcano.catalog")))
"""The directory of the data files."""

FOLDERS = {
    "releases": "release",
    "local_path": "component",
    "scheduler_plugins": "component",
    "symptoms": "symptom",
    "training_operator": "component",
    "volcano": "component",
}
"""Folders with one file per version or topic; all files of a folder have the same schema."""

_ADDED = frozenset({"releases", "local_path", "scheduler_plugins", "training_operator", "volcano"})
"""Folders that a directory of the user may have."""

T = TypeVar("T")

_added: list[Path] = []
"""The user's directory, or nothing. It is that of the process: whatever asks the catalog reads both."""

_forget: list[Callable[[], None]] = []


def cached(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
    """A function of entries that is computed once for each of its arguments, until `add` changes the entries."""
    kept = cache(function)
    _forget.append(kept.cache_clear)
    return kept


def add(directory: Path | None) -> None:
    """From now on, read the entries in a directory of the user beside those of the catalog; None: only the latter.

    Raises:
        InvalidInput: it is no directory, has files that the catalog does not read, or entries that the catalog has.
    """
    wanted = [directory.absolute()] if directory else []
    if wanted == _added and not wanted:
        return
    _added[:] = []
    for forget in _forget:
        forget()
    if problems := [problem for path in wanted for problem in _misplaced(path)]:
        raise InvalidInput(problems)
    _added[:] = wanted


def added() -> Path | None:
    """The user's directory; None without one."""
    return _added[0] if _added else None


def own_file(name: str) -> Path | None:
    """The user's file with the entry of that name, such as volcano/1.16.1; None for entries of the catalog."""
    path = _added[0] / f"{name}.yaml" if _added else None
    return path if path and path.is_file() else None


def own_texts() -> dict[str, str]:
    """The texts of the user's entries by path, such as volcano/1.16.1.yaml."""
    return {path.relative_to(home).as_posix(): path.read_text("utf-8") for home in _added for path in _files(home)}


def _files(directory: Path) -> list[Path]:
    """Its data files; what is hidden is not the user's, such as the copies behind a volume of a ConfigMap."""
    found = (path for path in directory.rglob("*.yaml") if path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(directory).parts))


@cached
def versions(folder: str) -> tuple[str, ...]:
    """The versions that have a file in `folder`, oldest first."""
    places = [HOME, *(_added if folder in _ADDED else ())]
    found = {path.stem for place in places for path in (place / folder).glob("*.yaml")}
    return tuple(sorted(found, key=lambda name: (version_key(name), name)))


@cached
def load(name: str) -> Any:
    """What `<name>.yaml` holds. It is read once per process and shared: do not change it.

    Raises:
        InvalidInput: the file breaks its schema; the message has every error.
    """
    own = own_file(name) if name.partition("/")[0] in _ADDED else None
    path = own or HOME / f"{name}.yaml"
    schema = FOLDERS.get(name.partition("/")[0], name)
    return read(path, schema, str(own or f"catalog/{name}.yaml"))


def read(path: Path, schema: str, shown: str) -> Any:
    """What a data file holds; raises InvalidInput like `load`, whose messages call the file `shown`."""
    return checked(path.read_bytes(), schema, shown)


def checked(text: bytes, schema: str, shown: str) -> Any:
    """What the text of a data file holds; raises InvalidInput like `read`."""
    data = merged(foreign.parse(text, shown))
    errors = sorted(_validator(schema).iter_errors(data), key=lambda error: error.json_path)
    if errors:
        raise InvalidInput(
            Problem(
                f"{shown}{_line(text, data, error)}: {error.json_path}: {error.message}.",
                f"data that fits catalog/schemas/{schema}.json.",
                "correct the data file.",
            )
            for error in errors
        )
    return data


def merged(documents: Sequence[Any]) -> Any:
    """What the documents of a file say together; an earlier one, which a person wrote, outranks a later one."""
    found, *further = [document for document in documents if document is not None] or [None]
    for document in further:
        found = _both(found, document)
    return found


def _both(judged: Any, derived: Any) -> Any:
    """Mappings are joined key by key, lists of named items item by item in the order of what was derived."""
    if isinstance(judged, Mapping) and isinstance(derived, Mapping):
        return {
            key: _both(judged[key], derived[key]) if key in judged and key in derived else {**derived, **judged}[key]
            for key in (*derived, *(key for key in judged if key not in derived))
        }
    if _is_named(judged) and _is_named(derived):
        by_name = {item["name"]: item for item in judged}
        known = {item["name"] for item in derived}
        both = [_both(by_name[item["name"]], item) if item["name"] in by_name else item for item in derived]
        return [*both, *(item for item in judged if item["name"] not in known)]
    return judged


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) and "name" in item for item in value)


def _misplaced(directory: Path) -> Iterator[Problem]:
    needed = f"a directory with entries of your own: {', '.join(f'{name}/VERSION.yaml' for name in sorted(_ADDED))}."
    if not directory.is_dir():
        yield Problem(f"{directory} is no directory.", needed, "correct catalog_directory, or --catalog.")
        return
    for path in _files(directory):
        folder = path.parent.relative_to(directory).as_posix()
        if folder not in _ADDED:
            yield Problem(f"{path}, which nothing reads.", needed, "move it, or correct the name of its folder.")
        elif (HOME / folder / path.name).is_file():
            yield Problem(
                f"{path} describes a version that the catalog has.",
                "entries that the catalog lacks; its own are never replaced.",
                f"remove it, or give it a version of its own, such as {path.stem}-own, as name of the file and in it.",
            )
        elif not _is_version(path.stem):
            yield Problem(f"{path} is not named after a version.", needed, "rename it, such as 1.16.1.yaml.")


def _is_version(text: str) -> bool:
    try:
        return bool(version_key(text))
    except ValueError:
        return False


def _line(text: bytes, data: Any, error: ValidationError) -> str:
    """`:LINE` of the place of an error in the text; empty where neither document has it."""
    place: list[str | int] = []
    for step in error.absolute_path:  # an item of a list is found by its name: documents differ in order
        data = data[step]
        place.append(data["name"] if isinstance(step, int) and isinstance(data, Mapping) and "name" in data else step)
    found = [_deepest(node, place) for node in foreign.compose_yaml(text.decode("utf-8"))]
    depth, line = max(found, key=lambda item: item[0], default=(0, 0))
    return f":{line + 1}" if depth or not place else ""


def _deepest(node: yaml.Node, place: Sequence[str | int]) -> tuple[int, int]:
    """How many steps of a place a document has, and the line of the last of them."""
    line = node.start_mark.line
    for depth, step in enumerate(place):
        inside = _inside(node, step)
        if inside is None:
            return depth, line
        line, node = inside
    return len(place), line


def _inside(node: yaml.Node, step: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark.line, value) for key, value in node.value if key.value == step), None)
    if not isinstance(node, yaml.SequenceNode):
        return None
    if isinstance(step, int):
        return (node.value[step].start_mark.line, node.value[step]) if step < len(node.value) else None
    named = (item for item in node.value if (name := _inside(item, "name")) and name[1].value == step)
    return next(((item.start_mark.line, item) for item in named), None)


@cache
def _validator(schema: str) -> Draft202012Validator:
    texts = {name: read_json((HOME / f"schemas/{name}.json").read_text("utf-8")) for name in ("component", schema)}
    registry: Registry[Any] = Registry().with_resources(
        (f"{name}.json", Resource.from_contents(text)) for name, text in texts.items()
    )
    return Draft202012Validator(texts[schema], registry=registry)
