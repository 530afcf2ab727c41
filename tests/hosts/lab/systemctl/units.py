"""Unit files with their drop-ins, and the processes that were started from them."""

from __future__ import annotations

import configparser
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PLACES = tuple(Path(place, "systemd/system") for place in ("/etc", "/run", "/usr/local/lib", "/usr/lib"))
LOGS = Path("/var/log/units")
STATE = Path("/run/units")
WANTS = "multi-user.target.wants"
SUFFIXES = (".mount", ".path", ".scope", ".service", ".slice", ".socket", ".target", ".timer")
_START_TIME = 19
"""Which field of /proc/PID/stat it is, counted behind the program's name (proc_pid_stat(5))."""


class _Values(dict[str, Any]):
    """Keys that stand there several times make a list, which an empty value begins anew; see systemd.syntax(7)."""

    def __setitem__(self, key: str, value: Any) -> None:
        old = self.get(key)
        if isinstance(value, list) and old is not None and value != [""]:
            value = (old if isinstance(old, list) else old.split("\n")) + value
        super().__setitem__(key, value)


class Unit:
    """The unit called `name`; without a suffix, a service."""

    def __init__(self, name: str) -> None:
        self.name = name if name.endswith(SUFFIXES) else f"{name}.service"
        self.file = next((place / self.name for place in PLACES if (place / self.name).exists()), None)
        self.masked = self.file is not None and self.file.resolve() == Path("/dev/null")
        found = (file for place in PLACES for file in (place / f"{self.name}.d").glob("*.conf"))
        self.drop_ins = sorted(found, key=lambda file: file.name)
        parser = configparser.RawConfigParser(
            dict_type=_Values, strict=False, delimiters=("=",), comment_prefixes=("#", ";")
        )
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read([*([self.file] if self.file and not self.masked else []), *self.drop_ins])
        self._sections = {section: dict(parser[section]) for section in parser.sections()}

    def all(self, key: str, section: str = "Service") -> list[str]:
        """Every value of a key whose values add up."""
        return [line for line in self._sections.get(section, {}).get(key, "").split("\n") if line]

    def get(self, key: str, default: str = "", section: str = "Service") -> str:
        """The last value of a key."""
        return (self.all(key, section) or [default])[-1]

    @property
    def pid(self) -> int:
        """The main process, or 0. A number that went to another program meanwhile is none of the unit's."""
        state = self.state
        if state.get("pid") and _started(state["pid"]) == state["started"]:
            return int(state["pid"])
        with contextlib.suppress(OSError, ValueError):
            pid = int(Path(self.get("PIDFile", "/nowhere")).read_text())
            return pid if _started(pid) else 0
        return 0

    @property
    def active(self) -> str:
        """As `systemctl is-active` says it."""
        state = self.state
        if self.pid or state.get("exited"):
            return "active"
        return "failed" if state.get("pid") or state.get("failed") else "inactive"

    @property
    def enabled(self) -> str:
        """As `systemctl is-enabled` says it; empty for a unit that there is not."""
        if self.masked:
            return "masked"
        if self.file is None:
            return ""
        if any(link for place in PLACES for link in place.glob(f"*.wants/{self.name}")):
            return "enabled"
        return "disabled" if "Install" in self._sections else "static"

    @property
    def state(self) -> dict[str, Any]:
        """What was noted of the last start."""
        with contextlib.suppress(OSError, ValueError):
            noted: dict[str, Any] = json.loads((STATE / f"{self.name}.json").read_text())
            return noted
        return {}

    def note(self, *, pid: int = 0, exited: bool = False, failed: bool = False) -> None:
        """Remember how the last start or stop ended."""
        STATE.mkdir(exist_ok=True)
        state = {"pid": pid, "started": _started(pid), "exited": exited, "failed": failed}
        (STATE / f"{self.name}.json").write_text(json.dumps(state))

    def properties(self) -> dict[str, str]:
        """What `systemctl show` tells, by systemd's names and with its defaults."""
        command = self.get("ExecStart")
        loaded = "masked" if self.masked else "loaded" if self.file else "not-found"
        running = "running" if self.pid else "exited"
        return {
            "Type": self.get("Type", "simple"),
            "Restart": self.get("Restart", "no"),
            "ExecStart": f"{{ path={command.partition(' ')[0]} ; argv[]={command} ; }}",
            "Delegate": self.get("Delegate", "no"),
            "KillMode": self.get("KillMode", "control-group"),
            "Environment": " ".join(self.all("Environment")),
            "MainPID": str(self.pid),
            "Id": self.name,
            "Names": self.name,
            "Description": self.get("Description", self.name, "Unit"),
            "LoadState": loaded,
            "ActiveState": self.active,
            "SubState": {"active": running, "failed": "failed"}.get(self.active, "dead"),
            "FragmentPath": str(self.file or ""),
            "DropInPaths": " ".join(map(str, self.drop_ins)),
            "UnitFileState": self.enabled,
            "NeedDaemonReload": "no",
            "CanReload": "yes" if self.all("ExecReload") else "no",
        }


def unit_names() -> Iterator[str]:
    """Every unit that has a file."""
    yield from sorted({file.name for place in PLACES for file in place.glob("*") if file.name.endswith(SUFFIXES)})


def _started(pid: int) -> int | None:
    """When a process was started, in clock ticks; None for one that ended, also while nobody has asked for it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[_START_TIME])
