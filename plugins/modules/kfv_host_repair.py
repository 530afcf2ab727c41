"""Repairs of a host, each recorded so that it can be taken back. Runs on the host with Python 3.9 or later."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kfv_host_repair
short_description: Repair what preflight found wrong on a host, or take the repairs back
description:
  - Loads kernel modules now and at boot, gives kernel settings their values now and at boot, and turns swap off.
  - Files of its own have names that come last, C(zz-kubeflow-volcano.conf); lines in C(/etc/fstab) and
    C(/etc/sysctl.conf) that contradict are commented with a marker, never removed.
  - What was before is recorded in C(/var/lib/kubeflow-volcano/repairs) before anything is changed. O(state=absent)
    restores exactly that, and leaves alone, and tells, what somebody else has changed since.
version_added: "0.1.0"
options:
  state:
    description: Whether the repairs are to be there.
    type: str
    choices: [present, absent]
    default: present
  repairs:
    description:
      - What to repair, as preflight proposes it. Each has a C(kind), one of C(module) with C(name), C(sysctl) with
        C(name) and C(value), and C(swap).
      - Not asked for when the repairs are to be absent; all that are recorded are taken back.
    type: list
    elements: dict
    default: []
attributes:
  check_mode:
    support: full
    description: Tells what would be done.
  diff_mode:
    support: full
    description: Shows files, kernel settings, modules and swap before and after.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Turn swap off
  kfv_host_repair:
    repairs:
      - {kind: swap}

- name: Restore what was before
  kfv_host_repair:
    state: absent
"""

RETURN = r"""
done:
  description: What was done, or would be, in a few words each.
  returned: always
  type: list
  elements: str
left:
  description: What could not be taken back, and why.
  returned: always
  type: list
  elements: str
"""

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "repairs": {"type": "list", "elements": "dict", "default": []},
}
RECORDS = Path("/var/lib/kubeflow-volcano/repairs")
MODULES_FILE = "/etc/modules-load.d/zz-kubeflow-volcano.conf"
SYSCTL_FILE = "/etc/sysctl.d/zz-kubeflow-volcano.conf"
SYSCTL_CONF = "/etc/sysctl.conf"
FSTAB = "/etc/fstab"
MARKER = "# kubeflow-volcano repair: "
HEADER = (
    "# Written by a repair of kubeflow-volcano; playbooks/hosts.yml takes it back with preflight_repair_state=absent.\n"
)
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Repairer:
    """Does things once, and notes each; in check mode it only notes."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.done: list[str] = []
        self.left: list[str] = []
        self.diff: list[dict[str, str]] = []

    def record(self, kind: str) -> dict[str, Any]:
        """What is known of earlier repairs of that kind; empty where there were none."""
        try:
            loaded = json.loads((RECORDS / f"{kind}.json").read_text("utf-8"))
        except FileNotFoundError:
            return {}
        return loaded if isinstance(loaded, dict) else {}

    def keep(self, kind: str, record: dict[str, Any]) -> None:
        """Write the record, or remove it where nothing is left to remember."""
        path = RECORDS / f"{kind}.json"
        if self.module.check_mode:
            return
        if not record:
            path.unlink()
            with contextlib.suppress(OSError):  # other records are still there
                RECORDS.rmdir()
                RECORDS.parent.rmdir()
            return
        RECORDS.mkdir(parents=True, exist_ok=True)
        RECORDS.chmod(0o700)
        self._put(path, json.dumps(record, indent=1, sort_keys=True) + "\n", 0o600)

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
            target = Path(path).resolve()
            target.parent.mkdir(parents=True, exist_ok=True)
            self._put(target, text, target.stat().st_mode & 0o7777 if target.exists() else 0o644)

    def act(self, what: str, before: str, after: str, *command: str) -> str:
        """Run a program; returns what it says against it, empty when it went well."""
        if not self.module.check_mode:
            program = self.module.get_bin_path(command[0])
            if program is None:
                return f"there is no {command[0]}"
            code, _, trouble = self.module.run_command([program, *command[1:]])
            if code:
                return " ".join(trouble.split()) or f"{command[0]} ended with {code}"
        self._note(what, before, after)
        return ""

    def set_live(self, name: str, value: str) -> None:
        """Give a kernel setting its value now."""
        before = live(name)
        if before == value:
            return
        if not self.module.check_mode:
            setting(name).write_text(f"{value}\n", "utf-8")
        self._note(f"set {name} to {value}", f"{name} = {before}\n", f"{name} = {value}\n")

    def _note(self, what: str, before: str, after: str) -> None:
        self.done.append(what)
        self.diff.append({"before_header": "now", "after_header": "now", "before": before, "after": after})

    def _put(self, path: Path, text: str, mode: int) -> None:
        handle, name = tempfile.mkstemp(dir=self.module.tmpdir)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        self.module.atomic_move(name, str(path))
        path.chmod(mode)


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
    """Have them loaded at boot, and load now what is neither loaded nor built in."""
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
    """Write them to a file that comes last, take back what /etc/sysctl.conf says against them, and set them now."""
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
        repairer.write(SYSCTL_CONF, after, f"comment what {SYSCTL_CONF} says against it")
    for name, value in values.items():
        repairer.set_live(name, value)


def contradicts(line: str, values: dict[str, str]) -> bool:
    """Whether a line gives one of these settings another value."""
    name, equals, value = line.strip().lstrip("-").partition("=")
    name = name.strip().replace("/", ".")
    return bool(equals) and name in values and value.strip() != values[name]


def restore_sysctls(repairer: Repairer) -> None:
    """Remove the file, put lines back, and give settings their former values unless somebody changed them since."""
    record = repairer.record("sysctls")
    remove_own(repairer, SYSCTL_FILE, record["wrote"])
    uncomment(repairer, SYSCTL_CONF, record["lines"])
    for name, value in record["values"].items():
        if live(name) not in {value["wrote"], value["before"]}:
            repairer.left.append(f"{name} was changed to {live(name)} since")
        elif value["before"]:  # else the kernel had no such setting before
            repairer.set_live(name, value["before"])
    repairer.keep("sysctls", {})


def repair_swap(repairer: Repairer) -> None:
    """Turn off what is in use, and comment what would bring it back."""
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
    """Put the lines back, and turn on what was in use."""
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
    found = [line.rstrip("\n") for line in lines if not line.lstrip().startswith("#") and wrong(line)]
    return "".join(f"{MARKER}{line}" if line.rstrip("\n") in found else line for line in lines), found


def uncomment(repairer: Repairer, path: str, recorded: list[str]) -> None:
    """Take the marker from recorded lines again."""
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
    """Remove a file of ours, unless somebody else has written to it since."""
    if content(path) == wrote:
        repairer.write(path, None, f"remove {path}")
    elif content(path) is not None:
        repairer.left.append(f"{path} was changed since")


RESTORE = {"modules": restore_modules, "sysctls": restore_sysctls, "swap": restore_swap}


def repair(repairer: Repairer, repairs: list[dict[str, Any]]) -> None:
    """Everything of one kind at once."""
    modules = [str(item.get("name", "")) for item in repairs if item.get("kind") == "module"]
    values = {str(item.get("name", "")): str(item.get("value", "")) for item in repairs if item.get("kind") == "sysctl"}
    if strange := [name for name in (*modules, *values, *values.values()) if not NAME.fullmatch(name)]:
        repairer.module.fail_json(msg=f"Found: {strange[0]!r} in a repair. Needed: names and values. Do: correct it.")
    if modules:
        repair_modules(repairer, modules)
    if values:
        repair_sysctls(repairer, values)
    if any(item.get("kind") == "swap" for item in repairs):
        repair_swap(repairer)


def main() -> None:
    """Bring the host to the state that is asked for."""
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
        module.fail_json(msg=f"Found: {trouble}. Needed: files that can be written. Do: see {RECORDS}.", **result)
    if repairer.left and module.params["state"] == "present":
        module.fail_json(msg="Found: " + "; ".join(repairer.left), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
