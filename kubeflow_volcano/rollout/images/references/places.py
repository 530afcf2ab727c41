"""Where a reference stands in an object, and how another one is put there without touching the rest of the text."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Object

__all__ = ["CannotPut", "Change", "Edit", "InHub", "InText", "Path", "Place", "Put", "Setting", "ToSetting", "changed"]

Path = tuple[str | int, ...]
"""Keys and indices from the root of an object."""


class CannotPut(ValueError):  # noqa: N818  a refusal, told to a person as a problem
    """A reference that the place has no room for; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """From which to which character of the text at `path`."""

    path: Path
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Another text at a place."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A flag or an environment variable of the container at `container`, which is set to `value`."""

    container: Path
    flag: str
    environment: str
    value: str


Change = Edit | Setting


@dataclass(frozen=True, slots=True)
class InText:
    """The whole reference stands in a text; or its name there and its tag in another one."""

    name: Place
    tag: Place | None = None

    def changes(self, _old: ImageName, new: ImageName) -> Sequence[Change]:
        """What makes this place say `new`.

        Raises:
            CannotPut: a digest for a field that holds a tag.
        """
        if self.tag is None:
            return (Edit(self.name, str(new)),)
        if new.digest or not new.tag:
            raise CannotPut("its tag stands in a field of its own, which takes a tag and nothing else")
        return (Edit(self.name, new.repository), Edit(self.tag, new.tag))

    def stays(self, text: str) -> Sequence[Change]:
        """The claim that the name remains `text`, which another reference in the same field may contradict."""
        return (Edit(self.name, text),)


@dataclass(frozen=True, slots=True)
class InHub:
    """Istio's way: a registry, a name and a tag in three fields; the field of the name takes a whole reference, too."""

    hub: Place
    names: tuple[Place, ...]

    def changes(self, old: ImageName, new: ImageName) -> Sequence[Change]:
        """What makes this place say `new`.

        Raises:
            CannotPut: no field of the name is there, and the registry alone cannot say it.
        """
        name = old.path.rpartition("/")[2]
        if new.repository.endswith(f"/{name}") and (new.tag, new.digest) == (old.tag, old.digest):
            return (Edit(self.hub, new.repository.removesuffix(f"/{name}")),)
        if not self.names:
            raise CannotPut("only its registry stands there, so name and tag must stay")
        return tuple(Edit(place, str(new)) for place in self.names)

    def stays(self, text: str) -> Sequence[Change]:
        """The claim that the registry remains `text`, as above."""
        return (Edit(self.hub, text),)


@dataclass(frozen=True, slots=True)
class ToSetting:
    """The reference stands in a program, which takes another one from a flag or an environment variable.

    With `tag_environment` the variable holds the name alone and this one the tag.
    """

    container: Path
    flag: str = ""
    environment: str = ""
    tag_environment: str = ""

    def changes(self, old: ImageName, new: ImageName) -> Sequence[Change]:
        """What makes the program take `new`.

        Raises:
            CannotPut: the program has neither, or a digest for a variable that holds a tag.
        """
        if not self.flag and not self.environment:
            raise CannotPut("it stands in the program, which offers no flag and no variable for it")
        if not self.tag_environment:
            return (Setting(self.container, self.flag, self.environment, str(new)),)
        if new.digest:
            raise CannotPut("its tag stands in a variable of its own, which takes a tag and nothing else")
        name = Setting(self.container, "", self.environment, new.repository)
        if new.tag == old.tag:
            return (name,)
        return (name, Setting(self.container, "", self.tag_environment, new.tag))

    def stays(self, _text: str) -> Sequence[Change]:
        """Nothing: a program has a flag or a variable for each image."""
        return ()


Put = InText | InHub | ToSetting


def changed(obj: Object, changes: Iterable[Change]) -> Object:
    """A copy of `obj` with all changes.

    Raises:
        CannotPut: two of them say different things about one place.
    """
    edits: dict[Place, str] = {}
    settings: dict[tuple[Path, str, str], str] = {}
    for change in changes:
        if isinstance(change, Edit):
            same = edits.setdefault(change.place, change.text) == change.text
        else:
            key = (change.container, change.flag, change.environment)
            same = settings.setdefault(key, change.value) == change.value
        if not same:
            raise CannotPut("one field stands for several images, which are to get different names")
    result = copy.deepcopy(obj)
    for place in sorted(edits, key=lambda place: -place.start):
        parent = _at(result, place.path[:-1])
        text = parent[place.path[-1]]
        parent[place.path[-1]] = text[: place.start] + edits[place] + text[place.end :]
    for (container, flag, environment), value in settings.items():
        _set(_at(result, container), flag, environment, value)
    return result


def _at(obj: Object, path: Path) -> Any:
    found: Any = obj
    for step in path:
        found = found[step]
    return found


def _set(container: dict[str, Any], flag: str, environment: str, value: str) -> None:
    if flag:
        container["args"] = [*(container.get("args") or ()), f"{flag}={value}"]
        return
    others: list[Mapping[str, Any]] = [item for item in container.get("env") or () if item["name"] != environment]
    container["env"] = [*others, {"name": environment, "value": value}]
