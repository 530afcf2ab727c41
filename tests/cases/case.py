"""Cases from the field: what a folder of `jobs`, `install` or `breakages` says, and the answer that is right for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_HERE = Path(__file__).parent
KINDS: Mapping[str, str] = {
    "jobs": "Jobs that do not start, or not as a gang",
    "install": "Before and during an installation",
    "breakages": "Clusters that are broken, and healthy ones that look so",
}
"""Folders of cases, and the heading of each."""

_WAYS = frozenset(
    {"hosts", "image", "job", "log", "manifest", "message", "pages", "paste", "plan", "recorded", "test", "validate"},
)
_ON_CLUSTER = frozenset({"job", "validate"})
FIRST = ("right", "wrong", "silent")
"""The answer that a case had when it was written, before anything was changed for it."""


@dataclass(frozen=True)
class Answer:
    """What the product said: an exit code where there is one, and for each reason what to do and about which objects.

    A finding of a check has the reason 'ID Reason'. `text` is all that a person reads.
    """

    exit: int | None
    says: Mapping[str, str]
    objects: Mapping[str, Collection[str]] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class Right:
    """What a right answer has: each of `says`, none of `never`, nothing else where `only`; `remedy` is in what to do.

    `object` is one of the objects of what is said, 'Kind namespace/name'; `words` are in the text.
    """

    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    only: bool = False
    exit: int | None = None
    remedy: tuple[str, ...] = ()
    object: str = ""
    words: tuple[str, ...] = ()

    def missed_by(self, answer: Answer) -> list[str]:
        """What is wrong with the answer."""
        said = {reason: answer.says[reason] for reason in self.says if reason in answer.says}
        about = {ref for reason in said for ref in answer.objects.get(reason, ())}
        todo = "\n".join((said or answer.says).values())
        return [
            *(f"does not say {reason}" for reason in self.says if reason not in said),
            *(f"says {reason}" for reason in self.never if reason in answer.says),
            *(f"says {reason}" for reason in answer.says if self.only and reason not in self.says),
            *([f"exit code {answer.exit}, not {self.exit}"] if self.exit not in {None, answer.exit} else []),
            *(f"does not tell {word}" for word in self.remedy if word not in todo),
            *([f"is about {sorted(about)}"] if self.object and self.object not in about else []),
            *(f"has no word {word}" for word in self.words if word not in answer.text),
        ]


@dataclass(frozen=True)
class Look:
    """One way to ask the product: `way` is the program, `given` its input, `right` the answer.

    `open` is what is said instead today, empty where it is right: such a look must fail until its entry is removed.
    `untried`: nobody has seen its answer yet. `long`: why `make test` leaves it out.
    """

    way: str
    given: Any
    right: Right
    folder: Path
    more: Mapping[str, Any]
    open: str = ""
    untried: bool = False
    long: str = ""

    @property
    def on_cluster(self) -> bool:
        """Whether it needs a rehearsal cluster."""
        return self.way in _ON_CLUSTER or "cluster" in self.more


@dataclass(frozen=True)
class Case:
    """A situation, where it was seen, and how the product is asked."""

    name: str
    situation: str
    references: tuple[str, ...]
    looks: tuple[Look, ...]
    untried: str = ""
    first: str = ""
    """One of FIRST; empty where it was not recorded."""
    round: str = ""
    """The round of unseen reports that it belongs to: those that were written before any of them was tried."""

    @property
    def kind(self) -> str:
        """Its folder."""
        return self.name.partition("/")[0]

    @property
    def open(self) -> str:
        """What is not right today, or was not tried yet; empty for a right answer."""
        said = [look.open for look in self.looks if look.open]
        untried = self.untried or ("its look at a cluster" if any(look.untried for look in self.looks) else "")
        return "; ".join([*said, *([f"not tried yet: {untried}"] if untried else [])])


@cache
def cases() -> tuple[Case, ...]:
    """All of them, by kind and name."""
    return tuple(_read(path.parent) for kind in KINDS for path in sorted((_HERE / kind).glob("*/case.yaml")))


def looks(*, on_cluster: bool) -> dict[str, Look]:
    """Those that need a cluster, or none, by a name for each."""
    return {
        f"{case.name}-{number}-{look.way}": look
        for case in cases()
        for number, look in enumerate(case.looks, 1)
        if look.on_cluster == on_cluster
    }


def _read(folder: Path) -> Case:
    name = str(folder.relative_to(_HERE))
    data = yaml.load((folder / "case.yaml").read_bytes(), yaml.CSafeLoader)
    found = tuple(_look(item, folder) for item in data.pop("looks"))
    assert found or "untried" in data, f"{name}: no look, and not why"
    references, untried, first = tuple(data.pop("references")), data.pop("untried", ""), data.pop("first", "")
    case = Case(name, data.pop("situation"), references, found, untried, first, data.pop("round", ""))
    assert not data, f"{name}: {sorted(data)} is nothing that a case has"
    assert first in {"", *FIRST}, f"{name}: {first} is no first answer"
    return case


def _look(item: dict[str, Any], folder: Path) -> Look:
    more = dict(item)
    (way,) = _WAYS & more.keys()
    given, right, still = more.pop(way), more.pop("right", {}), more.pop("open", "")
    untried, long = bool(more.pop("untried", False)), more.pop("long", "")
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in right.items()}
    return Look(way, given, Right(**fields), folder, more, still, untried, long)
