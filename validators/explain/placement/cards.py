"""Cards that pods share: which a node has, as its device plugin writes them into annotations, and how much is free.

Rules: checkNodeGPUSharingPredicate and decodeNodeDevices of pkg/scheduler/api/devices/nvidia/vgpu of Volcano, v1.8.2 to
v1.15.1; Fit of pkg/device/nvidia and DecodeNodeDevices (text) and UnMarshalNodeDevices (JSON, from v2.8.0 on) of
pkg/device of HAMi, v2.4.0 to v2.9.0. Types and UUIDs that pods require, NUMA nodes, quotas and defaults of HAMi are not
looked at, so that the numbers here are upper bounds: too little is certain, enough is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.quantities import amounts
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.validators.explain.placement.nodes import Node

_WHOLE = 100
"""Cores of a card, in percent."""


@dataclass(frozen=True, slots=True)
class Card:
    """One card: the most containers on it, its memory in the plugin's unit and its cores in percent, and their use."""

    id: str
    most: int
    memory: int
    cores: int = _WHOLE
    used: int = 0
    used_memory: int = 0
    used_cores: int = 0

    def holds(self, part: Part) -> int:
        """How many such parts it has room for at the same time."""
        memory = part.memory or self.memory * part.percent // 100
        room = [self.most - self.used]
        room += [(self.memory - self.used_memory) // memory] if memory else []
        room += [(self.cores - self.used_cores) // part.cores] if part.cores else []
        if part.cores >= _WHOLE:
            room.append(0 if self.used else 1)
        if not part.cores and self.cores and self.used_cores >= self.cores:
            room.append(0)
        return max(min(room), 0)


@dataclass(frozen=True, slots=True)
class Part:
    """What a container requests: parts of `number` cards, each with so much memory, or percent of it, and cores."""

    number: int
    memory: int
    percent: int
    cores: int

    def __str__(self) -> str:
        memory = f"{self.memory} memory" if self.memory else f"{self.percent} % of its memory" if self.percent else ""
        return " and ".join(filter(None, (memory, f"{self.cores} cores" if self.cores else ""))) or "a further pod"


@dataclass(frozen=True, slots=True)
class Maker:
    """A device plugin with its scheduler: where it writes the cards of a node and those of a pod, and its resources."""

    registered: str
    assigned: str
    number: str
    memory: str
    percent: str
    cores: str
    decode: Callable[[str], Iterator[Card]]
    exact: bool
    """Whether percent of a card's memory are counted; else only those that are the whole."""
    whole: bool
    """Whether a part without memory has all of its card."""

    @property
    def parameters(self) -> frozenset[str]:
        """The resources that say how much of a card, which no node needs to have."""
        return frozenset({self.memory, self.percent, self.cores})

    def parts(self, pod: Object) -> tuple[Part, ...]:
        """What the containers of the pod request."""
        return tuple(filter(None, (self._part(item) for item in pod["spec"].get("containers") or ())))

    def _part(self, container: Object) -> Part | None:
        resources = container.get("resources") or {}
        both = {**amounts(resources.get("requests")), **amounts(resources.get("limits"))}
        asked = {name: int(amount) for name, amount in both.items()}
        memory, percent = asked.get(self.memory, 0), asked.get(self.percent, _WHOLE if self.whole else 0)
        number = asked.get(self.number, 1 if memory else 0)
        if memory or (percent < _WHOLE and not self.exact):
            percent = 0
        return Part(number, memory, percent, asked.get(self.cores, 0)) if number > 0 else None

    def cards(self, node: Node) -> tuple[Card, ...] | None:
        """The cards of a node with what pods have of them; none where it registers none, None where it is unreadable.

        Cards in MIG mode are cut by templates, which are not known here.
        """
        text = (node.obj["metadata"].get("annotations") or {}).get(self.registered) or ""
        try:
            cards = {item.id: item for item in self.decode(text)}
            for pod in node.pods:
                for id_, memory, cores in _assigned(
                    (pod["metadata"].get("annotations") or {}).get(self.assigned) or ""
                ):
                    if card := cards.get(id_):
                        cards[id_] = replace(
                            card,
                            used=card.used + 1,
                            used_memory=card.used_memory + memory,
                            used_cores=card.used_cores + cores,
                        )
        except (ValueError, LookupError, AttributeError, TypeError):
            return None
        return tuple(cards.values())


def fitting(cards: Iterable[Card], parts: Iterable[Part]) -> int:
    """At most how many pods with these parts the cards have room for; parts of a container are on different cards."""
    cards = tuple(cards)
    return min((_fitting([card.holds(part) for card in cards], part.number) for part in parts), default=0)


def _fitting(room: list[int], number: int) -> int:
    return sum(room) // number if sum(each > 0 for each in room) >= number else 0


def _fields(text: str) -> Iterator[list[str]]:
    found = [item.split(",") for item in text.split(":")[:-1] if "," in item]
    if text and not found:
        raise ValueError(text)
    yield from found


def _assigned(text: str) -> Iterator[tuple[str, int, int]]:
    """Id, memory and cores of each part that a pod has; both programs write them alike."""
    for container in text.split(";"):
        for id_, _, memory, cores, *_ in (item.split(",") for item in container.split(":") if "," in item):
            yield id_.partition("[")[0], int(memory), int(cores)


def _of_volcano(text: str) -> Iterator[Card]:
    """ID, number, memory, type, health, and the mode from v1.10.0 of the device plugin on."""
    for id_, most, memory, _, _, *mode in _fields(text):
        _require_parts(mode[0] if mode else "")
        yield Card(id_, int(most), int(memory))


def _of_hami(text: str) -> Iterator[Card]:
    if text.startswith("["):
        for item in read_json(text):
            _require_parts(str(item.get("mode") or ""))
            if item.get("health"):
                yield Card(*(_typed(item, key) for key in ("id", "count", "devmem", "devcore")))
        return
    for id_, most, memory, cores, _, _, health, *more in _fields(text):
        _require_parts(more[1] if more else "")
        if health.lower() in {"1", "t", "true"}:
            yield Card(id_, int(most), int(memory), int(cores))


def _typed(item: Mapping[str, Any], key: str) -> Any:
    return str(item[key]) if key == "id" else int(item.get(key) or 0)


def _require_parts(mode: str) -> None:
    if mode == "mig":
        raise ValueError(mode)


VOLCANO = Maker(
    registered="volcano.sh/node-vgpu-register",
    assigned="volcano.sh/vgpu-ids-new",
    number="volcano.sh/vgpu-number",
    memory="volcano.sh/vgpu-memory",
    percent="volcano.sh/vgpu-memory-percentage",
    cores="volcano.sh/vgpu-cores",
    decode=_of_volcano,
    exact=False,  # before 1.14 its scheduler takes less than 100 percent for none
    whole=True,
)
HAMI = Maker(
    registered="hami.io/node-nvidia-register",
    assigned="hami.io/vgpu-devices-allocated",
    number="nvidia.com/gpu",
    memory="nvidia.com/gpumem",
    percent="nvidia.com/gpumem-percentage",
    cores="nvidia.com/gpucores",
    decode=_of_hami,
    exact=True,
    whole=False,  # its configuration decides
)
"""With the resource names of its chart."""
