"""Fields that the roll-out leaves to others: `kubeflow_ceded_fields`.

An entry names objects as ignoreDifferences of Argo CD does, and fields by JSON Pointers, as Argo CD and Flux do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kubeflow_volcano.apply.fields.ceded import Pointer, as_pointer, declares
from kubeflow_volcano.apply.normalize import normalize
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import did_you_mean


@dataclass(frozen=True, slots=True)
class Target:
    """The objects of that kind and name that an entry is about; an empty namespace or group means any."""

    kind: str
    name: str
    namespace: str = ""
    group: str = ""

    def selects(self, ref: Ref) -> bool:
        """Whether it is about that object."""
        return (
            (ref.kind, ref.name) == (self.kind, self.name)
            and self.namespace in {"", ref.namespace}
            and self.group in {"", ref.group}
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}{'/' if self.namespace else ''}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CededFields(Target):
    """Fields, as JSON Pointers, of the objects."""

    paths: tuple[str, ...]


def ceded_of(entries: Iterable[CededFields], obj: Object) -> tuple[Pointer, ...]:
    """The declared fields of an object that are left to others."""
    ref = Ref.of(obj)
    pointers = dict.fromkeys(as_pointer(path) for entry in entries if entry.selects(ref) for path in entry.paths)
    return tuple(pointer for pointer in pointers if declares(obj, pointer))


def validate_ceded(entries: Sequence[CededFields], objects: Sequence[Object], *, whole: bool) -> Iterator[Problem]:
    """Problems of entries that fit no object, or no field of one. Only the `whole` installation has every object."""
    for number, entry in enumerate(entries):
        where = f"kubeflow_ceded_fields[{number}]"
        own = [normalize(obj) for obj in objects if entry.selects(Ref.of(obj))]
        if not own and whole:
            names = sorted({Ref.of(obj).name for obj in objects if obj["kind"] == entry.kind})
            yield Problem(
                f"{where} is about {entry}, which no chosen component declares.{did_you_mean(entry.name, names)}",
                "an object that the roll-out applies, by kind, namespace and name.",
                "correct the entry, or remove it.",
            )
        for path in entry.paths if own else ():
            if not any(declares(obj, as_pointer(path)) for obj in own):
                yield Problem(
                    f"{where}: the manifest of {entry} declares no field {path}.",
                    "a field that it declares, and no item of a list: such as /spec/replicas, or "
                    "/spec/template/spec/containers/0/resources for the first container.",
                    "correct the path, or remove it: what is not declared is left to others anyway.",
                )
