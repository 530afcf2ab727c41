"""What the nodes of one run know together, while a process of its own works for each: turns, refusals, digests."""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Ledger", "new_place"]

_MINUTE_SECONDS = 60.0
_PAUSE_SECONDS = 60.0
"""After a 429: longer than the minute in which the known mirror counts."""

_KEPT_SECONDS = 24 * 3600.0

State = dict[str, Any]


class Ledger:
    """A small file on the machine that runs Ansible, changed under a lock, and a reader sees it whole.

    The pace is kept as the moment from which the next request is free: each request moves it on by its share of a
    minute, so that the nodes together never ask faster than `per_minute`, on average and without bursts.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._clock = clock  # the monotonic clock of Linux is one for all processes

    @classmethod
    def begin(
        cls,
        path: Path,
        *,
        per_minute: int,
        most_refusals: int,
        nodes: Mapping[str, int],
        clock: Callable[[], float] = time.monotonic,
    ) -> Ledger:
        """A new one. `per_minute` 0 sets no pace; `nodes` says how many images each is to pull."""
        ledger = cls(path, clock)
        with ledger._held() as state:
            state.clear()
            state.update(
                per_minute=float(per_minute),
                most_refusals=most_refusals,
                free_at=0.0,
                told_at=clock(),
                refusals=0,
                refused={},
                stopped="",
                digests={},
                nodes={name: {"done": 0, "total": total, "result": None} for name, total in nodes.items()},
            )
        return ledger

    def read(self) -> State:
        """All of it, as it is now."""
        with self._held() as state:
            return state

    def turn(self, requests: int = 1) -> float:
        """Take so many requests together and return 0, or return the seconds until they may be free."""
        with self._held() as state:
            now = self._clock()
            if now < state["free_at"]:
                return float(state["free_at"]) - now
            _spend(state, now, requests)
            return 0.0

    def charge(self, requests: int) -> None:
        """Requests that a pull turned out to have made beyond those of its turn; later turns wait for them."""
        with self._held() as state:
            _spend(state, self._clock(), requests)

    def refuse(self, name: str, why: str) -> None:
        """An image is not asked for again; too many of these stop everything."""
        with self._held() as state:
            state["refused"].setdefault(name, why)
            _count(state)

    def slow_down(self) -> None:
        """After a 429: nobody asks for a minute, and from then on half as often."""
        with self._held() as state:
            now = self._clock()
            state["free_at"] = max(state["free_at"], now + _PAUSE_SECONDS)
            state["per_minute"] = max(1.0, state["per_minute"] / 2) if state["per_minute"] else 0.0
            _count(state)

    def stop(self, why: str) -> None:
        """Nobody pulls any more."""
        with self._held() as state:
            state["stopped"] = state["stopped"] or why

    def barred(self, name: str) -> str:
        """Why an image is not to be asked for, empty where it may be."""
        state = self.read()
        return str(state["refused"].get(name) or state["stopped"])

    def digest(self, name: str, found: str = "") -> str:
        """The digest that an image must have: the one known first, which is `found` where there is none yet."""
        with self._held() as state:
            return str(state["digests"].setdefault(name, found) if found else state["digests"].get(name, ""))

    def done(self, node: str, images: int) -> None:
        """A node is done with so many of its images."""
        with self._held() as state:
            state["nodes"][node]["done"] = images

    def finish(self, node: str, result: Mapping[str, Any]) -> None:
        """What became of a node."""
        with self._held() as state:
            state["nodes"][node].update(done=state["nodes"][node]["total"], result=dict(result))

    def to_tell(self, every_seconds: float) -> State | None:
        """The state, where nobody told it within the last seconds: one process tells for all."""
        with self._held() as state:
            now = self._clock()
            if now < state["told_at"] + every_seconds:
                return None
            state["told_at"] = now
            return dict(state)

    @contextlib.contextmanager
    def _held(self) -> Iterator[State]:
        """The state under the lock; what is changed in it is written when the block ends well."""
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = self.path.read_text("utf-8") if self.path.exists() else "{}"
            state: State = json.loads(before)
            yield state
            after = json.dumps(state)
            if after != before:
                fresh = self.path.with_suffix(".new")
                fresh.write_text(after, "utf-8")
                fresh.replace(self.path)


def new_place(home: Path) -> Path:
    """A file for the ledger of a new run, alone in a directory below `home`; what older runs left there is removed."""
    home.mkdir(parents=True, exist_ok=True)
    for old in home.glob("run-*"):
        if time.time() - old.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix="run-", dir=home)) / "ledger.json"


def _spend(state: State, now: float, requests: int) -> None:
    if state["per_minute"]:
        state["free_at"] = max(state["free_at"], now) + requests * _MINUTE_SECONDS / state["per_minute"]


def _count(state: State) -> None:
    state["refusals"] += 1
    if state["refusals"] >= state["most_refusals"]:
        state["stopped"] = state["stopped"] or f"{state['refusals']} answers of 401, 403, 404 or 429"
