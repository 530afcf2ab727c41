"""Pulls on one node, a few images at a time, in step with the other nodes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kubeflow_volcano.catalog.images.answers import Answer, answer_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.hosts.pulling.ledger import Ledger
from kubeflow_volcano.hosts.pulling.plan import Disk, Todo

__all__ = ["Pull", "Pulled", "pull_images"]

Pull = Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]
"""Pulls images at the same time and returns the `pulls` of kfv_pull_host."""

_FIRST_REQUESTS = 3
"""Of every pull: HEAD of the tag, the index and the manifest of the architecture."""
_LAYERS = 10
"""Taken where the runtime does not say how many layers an image has."""
_MOST_SILENT = 3
_LONGEST_WAIT_SECONDS = 5.0


@dataclass(slots=True)
class Pulled:
    """What became of the images of a node; `bytes` and `seconds` are sums of what was pulled.

    These map names to reasons: `refused` by the registry, `failed` for any other, `left` untried when the node or all
    of them had to stop, `skipped` for what was known beforehand.
    """

    node: str
    present: int = 0
    pulled: list[str] = field(default_factory=list)
    changed: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    bytes: int = 0
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """How many of the missing images are dealt with."""
        return sum(map(len, (self.pulled, self.refused, self.failed, self.left)))

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def pull_images(
    todo: Todo,
    ledger: Ledger,
    pull: Pull,
    *,
    parallel: int,
    disk_percent: int,
    wait: Callable[[float], object] = time.sleep,
) -> Pulled:
    """Pull what is missing; nothing that was refused anywhere, and nothing more where the node cannot go on."""
    run = _Run(todo, ledger, pull, disk_percent, wait)
    while names := run.next(parallel):
        run.take(pull(names))
    ledger.finish(todo.node, run.pulled.as_dict())
    return run.pulled


class _Run:
    def __init__(
        self, todo: Todo, ledger: Ledger, pull: Pull, disk_percent: int, wait: Callable[[float], object]
    ) -> None:
        self._node = todo.node
        self._ledger = ledger
        self._pull = pull
        self._disk_percent = disk_percent
        self._wait = wait
        self._queue = deque(todo.missing)
        self._again: set[str] = set()
        self._silent = 0
        self._ended = ""
        self.pulled = Pulled(todo.node, present=len(todo.present), skipped=dict(todo.left))

    def next(self, most: int) -> list[str]:
        """The next names whose turn has come; none when there is nothing left to do."""
        names: list[str] = []
        while self._queue and len(names) < most:
            name = self._queue.popleft()
            if why := self._ended or self._turn(name):
                self._leave(name, why)
            else:
                names.append(name)
        return names

    def _turn(self, name: str) -> str:
        """Wait for the turn of an image; why it has none any more, empty where it has come."""
        while not (why := self._ledger.barred(name)):
            seconds = self._ledger.turn(_FIRST_REQUESTS)
            if seconds == 0:
                return ""
            self._wait(min(seconds, _LONGEST_WAIT_SECONDS))
        return why

    def _leave(self, name: str, why: str) -> None:
        refused = self._ledger.read()["refused"]
        (self.pulled.refused if name in refused else self.pulled.left)[name] = refused.get(name, why)

    def take(self, pulls: Iterable[Mapping[str, Any]]) -> None:
        """Note what became of images, and what that means for the others."""
        for item in pulls:
            self.pulled.seconds += item["seconds"]
            if item["state"] == "pulled":
                self._good(item)
            elif item["state"] == "full":
                self._full(item["name"], Disk(**item["disk"]))
            else:
                self._bad(item["name"], item["error"])
        self._ledger.done(self._node, self.pulled.done)

    def _good(self, item: Mapping[str, Any]) -> None:
        name = item["name"]
        self._silent = 0
        self._ledger.charge(1 + (item["layers"] or _LAYERS))
        image = ImageName.parse(name)
        here = [digest.partition("@")[2] for digest in item["digests"] if _of(image, digest)]
        wanted = (image.digest if image else "") or self._ledger.digest(name, here[0] if here else "")
        self.pulled.changed |= item["changed"]
        if wanted and wanted not in here:
            whose = "by its name" if image and image.digest else "for the registry or the first node"
            self.pulled.failed[name] = f"is {', '.join(here) or 'without a digest'} on the node, and {wanted} {whose}"
            return
        self.pulled.pulled.append(name)
        self.pulled.bytes += item["size"]

    def _full(self, name: str, disk: Disk) -> None:
        short = disk.short(self._disk_percent) / 1e9
        self._ended = (
            f"{disk.path} is used up to {disk.used_percent:.0f} % with {disk.free / 1e9:.1f} GB free, "
            f"and nothing is pulled from {self._disk_percent} % on: {short:.1f} GB more are needed"
        )
        self._leave(name, self._ended)

    def _bad(self, name: str, error: str) -> None:
        answer = answer_of(error)
        self._silent = self._silent + 1 if answer is Answer.SILENT else 0
        if answer is Answer.REFUSED:
            self._ledger.refuse(name, error)
            self.pulled.refused[name] = error
            return
        if answer is Answer.BUSY:
            self._ledger.slow_down()
            if name not in self._again:
                self._again.add(name)
                self._queue.append(name)
                return
            self._ledger.stop("it answers 429, too many requests, again")
        self.pulled.failed[name] = error
        if answer in {Answer.FULL, Answer.UNTRUSTED}:
            self._ended = f"stopped after: {error}"
        elif self._silent >= _MOST_SILENT:
            self._ended = f"no answer {self._silent} times in a row: {error}"


def _of(image: ImageName | None, digest: str) -> bool:
    return image is not None and digest.partition("@")[0] == image.repository
