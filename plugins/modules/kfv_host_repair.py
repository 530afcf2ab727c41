"""Repairs of a host: kernel modules, kernel settings and swap, now and at boot. Each is recorded and can be undone.

Runs on hosts: Python 3.9 or later, standard library only. Its own files sort last (zz-kubeflow-volcano.conf); lines of
/etc/fstab and /etc/sysctl.conf that contradict are commented with a marker, never removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.foreign import read_json
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import put
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.programs import run

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "repairs": {"type": "list", "elements": "dict", "default": []},
}  # `make generate` writes this from the file beside it
"""Each repair has a `kind`: `module` with `name`, `sysctl` with `name` and `value`, or `swap`. absent undoes all."""
RECORDS = Path("/var/lib/kubeflow-volcano/repairs")
MODULES_FILE = "/etc/modules-load.d/zz-kubeflow-volcano.conf"
SYSCTL_FILE = "/etc/sysctl.d/zz-kubeflow-volcano.conf"
SYSCTL_CONF = "/etc/sysctl.conf"
FSTAB = "/etc/fstab"
MARKER = "# kubeflow-volcano repair: "
HEADER = (
    "# Written by a repair of kubeflow-volcano; playbooks/hosts.yml with preflight_repair_state=absent removes it.\n"
)
PROGRAM_SECONDS = 600
"""swapoff reads everything that is swapped out back into memory."""
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Repairer:
    """Makes changes and lists them; in check mode it only lists them. `left` are those that failed, with the reason."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.done: list[str] = []
        self.left: list[str] = []
        self.diff: list[dict[str, str]] = []

    def record(self, kind: str) -> dict[str, Any]:
        """The record of earlier repairs of that kind; empty where there were none."""
        path = RECORDS / f"{kind}.json"
        try:
            loaded = read_json(path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            self.module.fail_json(
                msg=f"{path} cannot be read: {error}. It is the record of earlier repairs. "
                "Restore it, or remove it: what was repaired before then stays as it is."
            )
        return loaded if isinstance(loaded, dict) else {}

    def keep(self, kind: str, record: dict[str, Any]) -> None:
        """Write the record, or remove it where nothing is left to undo."""
        path = RECORDS / f"{kind}.json"
        if self.module.check_mode:
            return
        if not record:
            path.unlink()
            with contextlib.suppress(OSError):  # other records are still there
                RECORDS.rmdir()
                RECORDS.parent.rmdir()
            return
        RECORDS.parent.mkdir(parents=True, exist_ok=True)
        RECORDS.mkdir(mode=0o700, exist_ok=True)
        RECORDS.chmod(0o700)  # one of an earlier run
        put(path, f"{json.dumps(record, indent=1, sort_keys=True)}\n".encode(), 0o600)

    def write(self, path: str, text: str | None, what: str) -> None:
        """Give a file this text, with the owner and mode that it has; None removes it."""
        before = content(path)
        if before == text:
            return
        self.done.append(what)
        self.diff.append(
            {"before_header": path, "after_header": path, "before": before or "", "after": text or ""},
        )
        if self.module.check_mode:
            return
        if text is None:
            Path(path).unlink()
        else:
            put(Path(path), text.encode())

    def act(self, what: str, before: str, after: str, *command: str) -> str:
        """Run a program; returns why it failed, empty where it did not."""
        if not self.module.check_mode:
            done = run(command, PROGRAM_SECONDS)
            if done.code:
                return " ".join(done.errors.split()) or f"{command[0]} ended with {done.code}"
        self._note(what, before, after)
        return ""

    def set_live(self, name: str, value: str) -> None:
        """Set a kernel setting now; one that comes with a module that is not loaded is set when it is loaded."""
        before = live(name)
        if before == value or not setting(name).exists():
            return
        if not self.module.check_mode:
            setting(name).write_text(f"{value}\n", "utf-8")
        self._note(f"set {name} to {value}", f"{name} = {before}\n", f"{name} = {value}\n")

    def _note(self, what: str, before: str, after: str) -> None:
        self.done.append(what)
        self.diff.append({"before_header": "now", "after_header": "now", "before": before, "after": after})


def content(path: str) -> str | None:
    """Text of a file; None where there is none."""
    try:
        return Path(path).read_text("utf-8")
    except FileNotFoundError:
        return None


def setting(name: str) -> Path:
    """The file of a kernel setting."""
    return Path("/proc/sys", *name.split("."))


def live(name: str) -> str:
    """Its value now; empty where the kernel has no such setting."""
    return " ".join((content(str(setting(name))) or "").split())


def repair_modules(repairer: Repairer, names: list[str]) -> None:
    """Load them at boot, and now those that are neither loaded nor built in."""
    record = repairer.record("modules")
    kernel = content("/proc/modules") or ""
    builtin = content(f"/lib/modules/{os.uname().release}/modules.builtin") or ""
    there = {line.split()[0] for line in kernel.splitlines()}
    there |= {Path(line).name.partition(".ko")[0].replace("-", "_") for line in builtin.splitlines()}
    missing = [name for name in names if name not in there]
    wanted = sorted({*record.get("names", []), *names})
    text = HEADER + "".join(f"{name}\n" for name in wanted)
    loaded = sorted({*record.get("loaded", []), *missing})
    repairer.keep("modules", {"names": wanted, "loaded": loaded, "wrote": text})
    repairer.write(MODULES_FILE, text, f"load {', '.join(names)} at boot")
    for name in missing:
        if trouble := repairer.act(f"load {name}", "", f"{name}\n", "modprobe", name):
            repairer.left.append(f"{name} cannot be loaded: {trouble}")


def restore_modules(repairer: Repairer) -> None:
    """Remove the file, and unload what was loaded here and is not in use."""
    record = repairer.record("modules")
    remove_own(repairer, MODULES_FILE, record["wrote"])
    kernel = {line.split()[0] for line in (content("/proc/modules") or "").splitlines()}
    for name in reversed(record["loaded"]):
        if name in kernel:
            trouble = repairer.act(f"unload {name}", f"{name}\n", "", "modprobe", "-r", name)
            if trouble:
                repairer.left.append(f"{name} stays loaded until the next boot: {trouble}")
    repairer.keep("modules", {})


def repair_sysctls(repairer: Repairer, values: dict[str, str]) -> None:
    """Write them to a file that sorts last, comment lines of /etc/sysctl.conf that contradict, and set them now."""
    record = repairer.record("sysctls")
    kept = dict(record.get("values", {}))
    for name, value in values.items():
        kept[name] = {"before": kept[name]["before"] if name in kept else live(name), "wrote": value}
    text = HEADER + "".join(f"{name} = {kept[name]['wrote']}\n" for name in sorted(kept))
    before = content(SYSCTL_CONF)
    after, lines = commented(before or "", lambda line: contradicts(line, values))
    lines = record.get("lines", []) + [line for line in lines if line not in record.get("lines", [])]
    repairer.keep("sysctls", {"values": kept, "lines": lines, "wrote": text})
    repairer.write(SYSCTL_FILE, text, f"set {', '.join(sorted(values))} at boot")
    if before is not None:
        repairer.write(SYSCTL_CONF, after, f"comment lines of {SYSCTL_CONF} that contradict")
    for name, value in values.items():
        repairer.set_live(name, value)


def contradicts(line: str, values: dict[str, str]) -> bool:
    """Whether a line gives one of these settings another value."""
    name, equals, value = line.strip().lstrip("-").partition("=")
    name = name.strip().replace("/", ".")
    return bool(equals) and name in values and value.strip() != values[name]


def restore_sysctls(repairer: Repairer) -> None:
    """Remove the file, uncomment lines, and give settings their former values unless they were changed since."""
    record = repairer.record("sysctls")
    remove_own(repairer, SYSCTL_FILE, record["wrote"])
    uncomment(repairer, SYSCTL_CONF, record["lines"])
    for name, value in record["values"].items():
        if live(name) not in {value["wrote"], value["before"]}:
            repairer.left.append(f"{name} was changed to {live(name)} since")
        elif value["before"]:  # empty: the kernel had no such setting before
            repairer.set_live(name, value["before"])
    repairer.keep("sysctls", {})


def repair_swap(repairer: Repairer) -> None:
    """Turn off what is in use, and comment what would turn it on at boot."""
    record = repairer.record("swap")
    devices = [line.split()[0] for line in (content("/proc/swaps") or "").splitlines()[1:]]
    before = content(FSTAB)
    after, lines = commented(before or "", lambda line: line.split()[2:3] == ["swap"])
    kept = {"devices": list(dict.fromkeys(record.get("devices", []) + devices))}
    kept["lines"] = list(dict.fromkeys(record.get("lines", []) + lines))
    repairer.keep("swap", kept)
    if before is not None:
        repairer.write(FSTAB, after, f"comment swap in {FSTAB}")
    for device in devices:
        if trouble := repairer.act(f"turn off {device}", f"{device}\n", "", "swapoff", device):
            repairer.left.append(f"{device} stays in use: {trouble}")


def restore_swap(repairer: Repairer) -> None:
    """Uncomment the lines, and turn on what was in use."""
    record = repairer.record("swap")
    uncomment(repairer, FSTAB, record["lines"])
    used = {line.split()[0] for line in (content("/proc/swaps") or "").splitlines()[1:]}
    for device in record["devices"]:
        if device not in used and (trouble := repairer.act(f"turn on {device}", "", f"{device}\n", "swapon", device)):
            repairer.left.append(f"{device} stays off: {trouble}")
    repairer.keep("swap", {})


def commented(text: str, wrong: Any) -> tuple[str, list[str]]:
    """The text with a marker before each wrong line, and those lines as they were."""
    lines = text.splitlines(keepends=True)
    active = [line.rstrip("\n") for line in lines if not line.lstrip().startswith("#") and wrong(line)]
    return "".join(f"{MARKER}{line}" if line.rstrip("\n") in active else line for line in lines), active


def uncomment(repairer: Repairer, path: str, recorded: list[str]) -> None:
    """Remove the marker from recorded lines."""
    text = content(path)
    if text is None or not recorded:
        return
    lines = text.splitlines(keepends=True)
    marked = {f"{MARKER}{line}": line for line in recorded}
    restored = [line.replace(MARKER, "", 1) if line.rstrip("\n") in marked else line for line in lines]
    there = {line.rstrip("\n") for line in lines}
    repairer.left += [f"{path} has lost the line {line}" for mark, line in marked.items() if mark not in there]
    repairer.write(path, "".join(restored), f"restore lines of {path}")


def remove_own(repairer: Repairer, path: str, wrote: str) -> None:
    """Remove a file of this module, unless it was changed since."""
    if content(path) == wrote:
        repairer.write(path, None, f"remove {path}")
    elif content(path) is not None:
        repairer.left.append(f"{path} was changed since")


RESTORE = {"modules": restore_modules, "sysctls": restore_sysctls, "swap": restore_swap}


def repair(repairer: Repairer, repairs: list[dict[str, Any]]) -> None:
    """All repairs of one kind together."""
    modules = [str(item.get("name", "")) for item in repairs if item.get("kind") == "module"]
    values = {str(item.get("name", "")): str(item.get("value", "")) for item in repairs if item.get("kind") == "sysctl"}
    if strange := [name for name in (*modules, *values, *values.values()) if not NAME.fullmatch(name)]:
        repairer.module.fail_json(
            msg=f"Found: {strange[0]!r} in a repair. Needed: letters, digits, dots, dashes and underscores. "
            "Do: correct the repair."
        )
    if modules:
        repair_modules(repairer, modules)
    if values:
        repair_sysctls(repairer, values)
    if any(item.get("kind") == "swap" for item in repairs):
        repair_swap(repairer)


def main() -> None:
    """Repair the host, or undo all repairs."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    repairer = Repairer(module)
    trouble = ""
    try:
        if module.params["state"] == "present":
            repair(repairer, module.params["repairs"])
        else:
            for kind, restore in RESTORE.items():
                if repairer.record(kind):
                    restore(repairer)
    except (OSError, ValueError, KeyError) as error:
        trouble = f"{type(error).__name__}: {error}"
    result = {"changed": bool(repairer.done), "done": repairer.done, "left": repairer.left, "diff": repairer.diff}
    if trouble:
        module.fail_json(
            msg=f"Found: {trouble}. Needed: records and files that can be read and written. "
            f"Do: see the host's disk (df -h) and {RECORDS}, and run this again.",
            **result,
        )
    if repairer.left and module.params["state"] == "present":
        module.fail_json(msg="Found: " + "; ".join(repairer.left), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
