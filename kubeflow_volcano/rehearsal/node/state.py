"""What the last `up` decided, for the next one: the specification, the address, the configuration's fingerprint."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from ipaddress import IPv4Network
from pathlib import Path

from kubeflow_volcano.files import write_file
from kubeflow_volcano.rehearsal.spec import RehearsalSpec

__all__ = ["State"]


@dataclass(frozen=True, slots=True)
class State:
    """`fingerprint` is empty until the node was started for the first time; `started`: when it was for the last time.

    Seconds since the epoch, by the clock of that moment.
    """

    spec: RehearsalSpec
    subnet: IPv4Network
    fingerprint: str = ""
    started: float = 0.0

    @classmethod
    def load(cls, path: Path) -> State | None:
        """What `save` wrote; None when there is nothing, or nothing that this version can read."""
        try:
            raw = json.loads(path.read_text())
            spec = RehearsalSpec(**{**raw["spec"], "extras": tuple(raw["spec"].get("extras", ()))})
            return cls(spec, IPv4Network(raw["subnet"]), raw["fingerprint"], raw["started"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def save(self, path: Path) -> None:
        """Write this state in one step."""
        content = asdict(self) | {"subnet": str(self.subnet)}
        write_file(path, json.dumps(content, indent=2) + "\n")
