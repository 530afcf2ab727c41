"""Pulls on one node, a few images at a time, within limits that all nodes share."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kubeflow_volcano.catalog.images.limits import Meaning, Tally, meaning_of_error
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.hosts.pulling.ledger import Ledger
from kubeflow_volcano.hosts.pulling.plan import Disk, Todo

Pull = Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]
"""Pulls images in parallel and returns the `pulls` of kfv_pull_host."""

_FIRST_REQUESTS = 3
"""Of every pull: HEAD of the tag, the index and the manifest of the architecture."""
_LAYERS = 10
"""Assumed if the runtime does not say how many layers an image has."""
_LONGEST_WAIT_SECONDS = 5.0


@dataclass(slots=True)
class Pulled:
    """The images of a node; `bytes` and `seconds` are sums over those that were pulled.

    These map names to reasons: `refused` by the registry, `failed` for any other, `left` untried because this node or
    all of them had to stop, `skipped` because they are known to be unavailable.
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
        """How many of the missing images are finished."""
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
    """Pull what is missing, except images that were refused on any node, until the node cannot go on."""
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
        self._repeated: set[str] = set()
        self._tally = Tally(sys.maxsize)  # refusals are counted for all nodes together, in the ledger
        self._full = ""
        self.pulled = Pulled(todo.node, present=len(todo.present), skipped=dict(todo.left))

    def next(self, most: int) -> list[str]:
        """The next names to pull; none when the node is finished."""
        names: list[str] = []
        while self._queue and len(names) < most:
            name = self._queue.popleft()
            if why := self._full or self._tally.stopped or self._acquire(name):
                self._leave(name, why)
            else:
                names.append(name)
        return names

    def _acquire(self, name: str) -> str:
        """Wait for the turn of an image; why it gets none, empty if it may be pulled now."""
        while not (why := self._ledger.barred(name)):
            seconds = self._ledger.acquire(_FIRST_REQUESTS)
            if seconds == 0:
                return ""
            self._wait(min(seconds, _LONGEST_WAIT_SECONDS))
        return why

    def _leave(self, name: str, why: str) -> None:
        refused = self._ledger.read()["refused"]
        (self.pulled.refused if name in refused else self.pulled.left)[name] = refused.get(name, why)

    def take(self, pulls: Iterable[Mapping[str, Any]]) -> None:
        """Keep the results of pulls, and what they mean for the other images."""
        for item in pulls:
            self.pulled.seconds += item["seconds"]
            if item["state"] == "pulled":
                self._keep(item)
            elif item["state"] == "full":
                self._stop_at_full_disk(item["name"], Disk(**item["disk"]))
            else:
                self._fail(item["name"], item["error"])
        self._ledger.done(self._node, self.pulled.done)

    def _keep(self, item: Mapping[str, Any]) -> None:
        name = item["name"]
        self._tally.add(Meaning.OK)
        self._ledger.charge(1 + (item["layers"] or _LAYERS))
        image = ImageName.parse(name)
        known = filter(None, map(ImageName.parse, item["digests"]))
        here = [found.digest for found in known if image and found.repository == image.repository]
        digest = (image.digest if image else "") or self._ledger.digest(name, here[0] if here else "")
        self.pulled.changed |= item["changed"]
        if digest and digest not in here:
            whose = "by its name" if image and image.digest else "in the registry or on the first node"
            self.pulled.failed[name] = f"is {', '.join(here) or 'without a digest'} on the node, and {digest} {whose}"
            return
        self.pulled.pulled.append(name)
        self.pulled.bytes += item["size"]

    def _stop_at_full_disk(self, name: str, disk: Disk) -> None:
        missing = disk.short(self._disk_percent) / 1e9
        self._full = (
            f"{disk.path} is used up to {disk.used_percent:.0f} % with {disk.free / 1e9:.1f} GB free, "
            f"and nothing is pulled from {self._disk_percent} % on: {missing:.1f} GB more are needed"
        )
        self._leave(name, self._full)

    def _fail(self, name: str, error: str) -> None:
        meaning, repeated = meaning_of_error(error), name in self._repeated
        self._tally.add(meaning, error, repeated=repeated)
        if self._ledger.add(name, meaning, error, repeated=repeated) and not repeated:
            self._repeated.add(name)
            self._queue.append(name)
        else:
            (self.pulled.refused if meaning.is_final else self.pulled.failed)[name] = error
