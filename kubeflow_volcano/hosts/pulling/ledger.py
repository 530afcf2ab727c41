"""What all nodes of one run share, while each has a process of its own: rate limit, answers, digests, progress."""

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

from kubeflow_volcano.catalog.images.limits import Meaning, Tally
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json

_MINUTE_SECONDS = 60.0
_KEPT_SECONDS = 24 * 3600.0

State = dict[str, Any]


class Ledger:
    """A small file on the machine that runs Ansible, changed under a lock.

    The rate limit is the time from which the next request is free: each request adds its share of a minute, so that
    all nodes together stay below `per_minute`, without bursts.
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
        refusals: int = 0,
        refused: Mapping[str, str] | None = None,
        digests: Mapping[str, str] | None = None,
        stopped: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> Ledger:
        """A new one.

        Args:
            path: its file.
            per_minute: the rate limit of the registry; 0 is none.
            most_refusals: after so many answers that count towards a ban nothing more is pulled.
            nodes: how many images each is to pull.
            refusals: how many such answers there were already.
            refused: images that the registry refused already, with its answers.
            digests: of images, as far as the registry said.
            stopped: why nothing may be pulled at all.
            clock: in seconds, the same for all processes.
        """
        ledger = cls(path, clock)
        with ledger._held() as state:
            state.clear()
            state.update(
                per_minute=float(per_minute),
                most_refusals=most_refusals,
                free_at=0.0,
                reported_at=clock(),
                refusals=refusals,
                refused=dict(refused or {}),
                stopped=stopped,
                digests=dict(digests or {}),
                nodes={name: {"done": 0, "total": total, "result": None} for name, total in nodes.items()},
            )
        return ledger

    def read(self) -> State:
        """All of it, as it is now."""
        with self._held() as state:
            return state

    def acquire(self, requests: int = 1) -> float:
        """Take so many requests together and return 0, or return the seconds until they may be free."""
        with self._held() as state:
            now = self._clock()
            if now < state["free_at"]:
                return float(state["free_at"]) - now
            _spend(state, now, requests)
            return 0.0

    def charge(self, requests: int) -> None:
        """Requests that a pull sent beyond those of its turn; later turns wait for them."""
        with self._held() as state:
            _spend(state, self._clock(), requests)

    def add(self, name: str, meaning: Meaning, why: str, *, repeated: bool = False) -> bool:
        """Count an answer for an image that concerns all nodes; the rule is in catalog/images/limits.py.

        After a 429 all nodes wait, and go on half as fast.

        Returns:
            Whether to try the image once more.
        """
        if not (meaning.is_counted or meaning.is_final):
            return False  # about this node alone
        with self._held() as state:
            tally = Tally(state["most_refusals"], state["refusals"], state["stopped"])
            pause = tally.add(meaning, why, repeated=repeated)
            state.update(refusals=tally.refusals, stopped=tally.stopped)
            if meaning.is_final:
                state["refused"].setdefault(name, why)
            if pause:
                state["free_at"] = max(state["free_at"], self._clock() + pause)
                state["per_minute"] = max(1.0, state["per_minute"] / 2) if state["per_minute"] else 0.0
            return pause > 0

    def barred(self, name: str) -> str:
        """Why an image may not be requested, empty if it may."""
        state = self.read()
        return str(state["refused"].get(name) or state["stopped"])

    def digest(self, name: str, found: str = "") -> str:
        """The digest that an image must have: the first known one, which is `found` if there was none."""
        with self._held() as state:
            return str(state["digests"].setdefault(name, found) if found else state["digests"].get(name, ""))

    def remove(self) -> None:
        """Remove its files, and the directory that was made for them."""
        for file in (self.path, self.path.with_suffix(".lock")):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # there is something else in it
            self.path.parent.rmdir()

    def done(self, node: str, images: int) -> None:
        """A node has finished so many of its images."""
        with self._held() as state:
            state["nodes"][node]["done"] = images

    def finish(self, node: str, result: Mapping[str, Any]) -> None:
        """The result of a node."""
        with self._held() as state:
            state["nodes"][node].update(done=state["nodes"][node]["total"], result=dict(result))

    def to_report(self, every_seconds: float) -> State | None:
        """The state, if no process has reported it within the last seconds; None otherwise."""
        with self._held() as state:
            now = self._clock()
            if now < state["reported_at"] + every_seconds:
                return None
            state["reported_at"] = now
            return dict(state)

    @contextlib.contextmanager
    def _held(self) -> Iterator[State]:
        """The state, under the lock; changes are written when the block ends without an exception."""
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = self.path.read_text("utf-8") if self.path.exists() else "{}"
            state: State = read_json(before)
            yield state
            after = json.dumps(state)
            if after != before:
                write_file(self.path, after)


def new_place(home: Path) -> Path:
    """A file for the ledger of a new run, in a directory of its own below `home`; old ones are deleted after a day."""
    home.mkdir(parents=True, exist_ok=True)
    for old in home.glob("run-*"):
        with contextlib.suppress(FileNotFoundError):  # another run has just removed it
            if time.time() - old.lstat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix="run-", dir=home)) / "ledger.json"


def _spend(state: State, now: float, requests: int) -> None:
    if state["per_minute"]:
        state["free_at"] = max(state["free_at"], now) + requests * _MINUTE_SECONDS / state["per_minute"]
