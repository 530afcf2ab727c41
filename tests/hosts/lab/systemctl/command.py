"""The command line. Exit codes are those of systemctl(1) where Ansible looks at them."""

from __future__ import annotations

import contextlib
import fnmatch
import sys
from pathlib import Path

from tests.hosts.lab.systemctl.services import refuse, reload_service, start, stop
from tests.hosts.lab.systemctl.units import LOGS, WANTS, Unit, unit_names

_OWN = Path("/etc/systemd/system")
_SHORT = {"-a": "all", "-l": "full", "-n": "lines", "-p": "property", "-q": "quiet", "-t": "type"}
_TAKE_VALUE = {"lines", "property", "state", "type"}
_NOTHING_TO_DO = {"daemon-reexec", "daemon-reload"}
_LAST_LINES = 10
_NOT_ACTIVE, _NO_SUCH_UNIT, _UNKNOWN_VERB = 3, 4, 64

Options = dict[str, list[str]]


def main(arguments: list[str]) -> int:
    """Carry out one command line; the exit code."""
    words, options = _parsed(arguments)
    if "version" in options:
        _tell("systemd 255 (stand-in of a test host)")
        return 0
    verb, *names = words or ["list-units"]
    if verb in _NOTHING_TO_DO:
        return 0
    if verb == "is-system-running":
        _tell("running")
        return 0
    if verb in {"list-unit-files", "list-units"}:
        return _list(verb, names[0] if names else "*")
    if verb not in _VERBS:
        return refuse(f"this stand-in for systemctl does not know {verb}", _UNKNOWN_VERB)
    return max([_VERBS[verb](Unit(name), options) for name in names], default=0)


def _parsed(arguments: list[str]) -> tuple[list[str], Options]:
    """Words, and options by their long names."""
    words: list[str] = []
    options: Options = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            words.append(word)
            continue
        name, _, value = word[2:].partition("=")
        if not word.startswith("--"):
            name, value = _SHORT.get(word[:2], word), word[2:]
        if name in _TAKE_VALUE and not value and rest:
            value = rest.pop(0)
        options.setdefault(name, []).append(value)
    return words, options


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _list(verb: str, pattern: str) -> int:
    units = [Unit(name) for name in unit_names() if fnmatch.fnmatch(name, pattern)]
    for unit in units:
        shown = unit.properties()
        if verb == "list-unit-files":
            _tell(f"{unit.name} {unit.enabled} -")
        elif unit.active != "inactive":
            _tell(f"{unit.name} loaded {unit.active} {shown['SubState']} {shown['Description']}")
    return 0 if units else 1


def _is_active(unit: Unit, options: Options) -> int:
    if "quiet" not in options:
        _tell(unit.active)
    return 0 if unit.active == "active" else _NOT_ACTIVE


def _is_failed(unit: Unit, options: Options) -> int:
    if "quiet" not in options:
        _tell(unit.active)
    return 0 if unit.active == "failed" else 1


def _is_enabled(unit: Unit, options: Options) -> int:
    if not unit.enabled:
        return refuse(f"Failed to get unit file state for {unit.name}: No such file or directory")
    if "quiet" not in options:
        _tell(unit.enabled)
    return 0 if unit.enabled in {"enabled", "static"} else 1


def _restart(unit: Unit, _options: Options) -> int:
    if unit.file:
        stop(unit)
    return start(unit)


def _try_restart(unit: Unit, options: Options) -> int:
    return _restart(unit, options) if unit.active == "active" else 0


def _enable(unit: Unit, options: Options) -> int:
    if unit.file is None:
        return refuse(f"Failed to enable unit: Unit file {unit.name} does not exist.")
    link = _OWN / WANTS / unit.name
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(unit.file)
    return start(unit) if "now" in options else 0


def _disable(unit: Unit, options: Options) -> int:
    for link in _OWN.glob(f"*.wants/{unit.name}"):
        link.unlink()
    return stop(unit) if "now" in options else 0


def _mask(unit: Unit, _options: Options) -> int:
    link = _OWN / unit.name
    if link.exists() and not unit.masked:
        return refuse(f"Failed to mask unit: File {link} already exists.")
    if not unit.masked:
        link.symlink_to("/dev/null")
    return 0


def _unmask(unit: Unit, _options: Options) -> int:
    if unit.masked:
        (_OWN / unit.name).unlink()
    return 0


def _show(unit: Unit, options: Options) -> int:
    found = unit.properties()
    wanted = [name for value in options.get("property", ()) for name in value.split(",")]
    for name in wanted or found:
        if name in found:
            _tell(found[name] if "value" in options else f"{name}={found[name]}")
    return 0


def _status(unit: Unit, _options: Options) -> int:
    found = unit.properties()
    _tell(f"{unit.name} - {found['Description']}\n  Loaded: {found['LoadState']} ({found['FragmentPath']})")
    _tell(f"  Active: {found['ActiveState']} ({found['SubState']})\n  Main PID: {found['MainPID']}")
    with contextlib.suppress(OSError):
        _tell("\n".join((LOGS / f"{unit.name}.log").read_text(errors="replace").splitlines()[-_LAST_LINES:]))
    if unit.file is None:
        return _NO_SUCH_UNIT
    return 0 if unit.active == "active" else _NOT_ACTIVE


def _cat(unit: Unit, _options: Options) -> int:
    files = [*([unit.file] if unit.file else []), *unit.drop_ins]
    for file in files:
        _tell(f"# {file}\n{file.read_text()}")
    return 0 if files else 1


def _reset_failed(unit: Unit, _options: Options) -> int:
    if unit.active == "failed":
        unit.note()
    return 0


_VERBS = {
    "cat": _cat,
    "disable": _disable,
    "enable": _enable,
    "is-active": _is_active,
    "is-enabled": _is_enabled,
    "is-failed": _is_failed,
    "mask": _mask,
    "reload": lambda unit, _options: reload_service(unit),
    "reload-or-restart": lambda unit, options: (
        reload_service(unit) if unit.all("ExecReload") else _restart(unit, options)
    ),
    "reset-failed": _reset_failed,
    "restart": _restart,
    "show": _show,
    "start": lambda unit, _options: start(unit),
    "status": _status,
    "stop": lambda unit, _options: stop(unit),
    "try-restart": _try_restart,
    "unmask": _unmask,
}
