"""The place of a reference in an object, and how another one is written there without changing the rest of the text."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Object

Path = tuple[str | int, ...]
"""Keys and indices from the root of an object."""


class CannotPut(ValueError):  # noqa: N818  a refusal, reported as a problem
    """A reference that the place cannot hold; the text says why."""


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
    """The whole reference is in one text; or its name, and its tag in another text."""

    name: Place
    tag: Place | None = None

    def changes(self, _old: ImageName, new: ImageName) -> Sequence[Change]:
        """The changes that write `new` here.

        Raises:
            CannotPut: a digest for a field that takes a tag.
        """
        if self.tag is None:
            return (Edit(self.name, str(new)),)
        if new.digest or not new.tag:
            raise CannotPut("its tag is in a field of its own, which takes nothing but a tag")
        return (Edit(self.name, new.repository), Edit(self.tag, new.tag))

    def stays(self, text: str) -> Sequence[Change]:
        """The change that keeps the name `text`; it conflicts with another reference that changes the same field."""
        return (Edit(self.name, text),)


@dataclass(frozen=True, slots=True)
class InHub:
    """Registry, name and tag in three fields, as in Istio; the field of the name takes a whole reference, too."""

    hub: Place
    names: tuple[Place, ...]

    def changes(self, old: ImageName, new: ImageName) -> Sequence[Change]:
        """The changes that write `new` here.

        Raises:
            CannotPut: there is no field for the name, and changing the registry is not enough.
        """
        name = old.name
        if new.repository.endswith(f"/{name}") and (new.tag, new.digest) == (old.tag, old.digest):
            return (Edit(self.hub, new.repository.removesuffix(f"/{name}")),)
        if not self.names:
            raise CannotPut("only its registry is there, so name and tag cannot change")
        return tuple(Edit(place, str(new)) for place in self.names)

    def stays(self, text: str) -> Sequence[Change]:
        """The change that keeps the registry `text`, as above."""
        return (Edit(self.hub, text),)


@dataclass(frozen=True, slots=True)
class ToSetting:
    """The reference is compiled into a program, which takes another one from a flag or an environment variable.

    With `tag_environment` the variable contains the name alone, and this one the tag.
    """

    container: Path
    flag: str = ""
    environment: str = ""
    tag_environment: str = ""

    def changes(self, old: ImageName, new: ImageName) -> Sequence[Change]:
        """The changes that make the program use `new`.

        Raises:
            CannotPut: the program has neither, or a digest for a variable that takes a tag.
        """
        if not self.flag and not self.environment:
            raise CannotPut("it is compiled into the program, which has no flag and no variable for it")
        if not self.tag_environment:
            return (Setting(self.container, self.flag, self.environment, str(new)),)
        if new.digest:
            raise CannotPut("its tag is in a variable of its own, which takes nothing but a tag")
        name = Setting(self.container, "", self.environment, new.repository)
        if new.tag == old.tag:
            return (name,)
        return (name, Setting(self.container, "", self.tag_environment, new.tag))

    def stays(self, _text: str) -> Sequence[Change]:
        """Nothing: a program has a flag or a variable for each image."""
        return ()


Put = InText | InHub | ToSetting


def apply_changes(obj: Object, changes: Iterable[Change]) -> Object:
    """A copy of `obj` with all changes.

    Raises:
        CannotPut: two of them write different texts to one place.
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
            raise CannotPut("one field names several images, which would get different names")
    result = copy.deepcopy(obj)
    for place in sorted(edits, key=lambda place: -place.start):
        parent = _at(result, place.path[:-1])
        text = parent[place.path[-1]]
        parent[place.path[-1]] = text[: place.start] + edits[place] + text[place.end :]
    for (container, flag, environment), value in settings.items():
        _set(_at(result, container), flag, environment, value)
    return result


def _at(obj: Object, path: Path) -> Any:
    value: Any = obj
    for step in path:
        value = value[step]
    return value


def _set(container: dict[str, Any], flag: str, environment: str, value: str) -> None:
    if flag:
        container["args"] = [*(container.get("args") or ()), f"{flag}={value}"]
        return
    others: list[Mapping[str, Any]] = [item for item in container.get("env") or () if item["name"] != environment]
    container["env"] = [*others, {"name": environment, "value": value}]
