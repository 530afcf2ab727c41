"""The directory of volumes on a host: measured, made, and labelled for SELinux.

Runs on hosts: Python 3.9 or later, standard library only. The action plugin kfv_volumes judges what is measured.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import selinux
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.disks import mount_of, mounts
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.programs import find_program, run

ARGUMENTS: dict[str, Any] = {
    "step": {"type": "str", "choices": ["measure", "make", "label"], "required": True},
    "path": {"type": "path", "required": True},
    "directories": {"type": "list", "elements": "dict", "default": []},
}  # `make generate` writes this from the file beside it
"""`directories` are those of static volumes below `path`, each with `path`, `uid`, `gid` and `mode`."""
BASE_MODE = 0o711
PARENT_MODE = 0o755
MOST_ENTRIES = 10_000
TYPE = "container_file_t"
PACKAGES = {"semanage": "policycoreutils-python-utils", "restorecon": "policycoreutils"}
SECONDS = 3600
"""How long relabelling may take: every file below the directory is looked at."""


def measure(path: str, directories: Sequence[Mapping[str, Any]], *, may_write: bool) -> dict[str, Any]:
    """What is at `path` and below it; changes nothing but for one file that is created and removed again."""
    place = _existing(path)
    mount = mount_of(os.path.realpath(place), mounts())
    room = os.statvfs(place)
    tried = mount.type.startswith("nfs") and may_write and Path(place).is_dir()
    return {
        "path": path,
        "place": place,
        **_stat(path),
        **entries(path),
        "file_system": mount._asdict(),
        "free_bytes": room.f_bavail * room.f_frsize,
        "free_inodes": room.f_favail if room.f_files else None,
        "inodes": room.f_files,
        "written_as": written_as(place) if tried else None,
        "selinux": selinux.mode(),
        "directories": [{**item, **_stat(item["path"])} for item in directories],
    }


def _existing(path: str) -> str:
    """The path itself, or the nearest directory above it that exists."""
    while _stat(path)["kind"] == "absent":
        path = str(Path(path).parent)
    return path


def _stat(path: str) -> dict[str, Any]:
    """Kind, owner and mode; a symbolic link is not followed."""
    try:
        status = Path(path).lstat()
    except OSError:
        return {"kind": "absent", "uid": None, "gid": None, "mode": None}
    kind = "directory" if stat.S_ISDIR(status.st_mode) else "link" if stat.S_ISLNK(status.st_mode) else "other"
    return {"kind": kind, "uid": status.st_uid, "gid": status.st_gid, "mode": f"{stat.S_IMODE(status.st_mode):04o}"}


def entries(path: str) -> dict[str, Any]:
    """How many volumes are in the directory, how many other things, and some names of these."""
    volumes, others = 0, []
    if _stat(path)["kind"] == "directory":
        with os.scandir(path) as found:
            for number, entry in enumerate(found):
                if number >= MOST_ENTRIES:
                    break
                if entry.name.startswith("pvc-") or entry.name == "static":
                    volumes += 1
                elif entry.name != "lost+found":
                    others.append(ascii(entry.name)[1:-1])
    return {"volumes": volumes, "others": len(others), "some_others": sorted(others)[:3]}


def written_as(place: str) -> int:
    """Uid of a file that root creates there, -1 where it may not: a server may squash root (exports(5))."""
    try:
        handle, name = tempfile.mkstemp(prefix=".kfv-", dir=place)
    except OSError:
        return -1
    try:
        return os.fstat(handle).st_uid
    finally:
        os.close(handle)
        Path(name).unlink()


def desired(path: str, directories: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, int, int, bool]]:
    """Path, uid, gid, mode of every directory, from the top; last, whether an existing one is corrected.

    Directories of volumes are not: their consumers may have changed them.
    """
    parents = [(str(above), 0, 0, PARENT_MODE, False) for above in Path(path).parents if above.name]
    entries = [*reversed(parents), (path, 0, 0, BASE_MODE, True)]
    for item in directories:
        folder = str(Path(item["path"]).parent)
        if (folder, 0, 0, BASE_MODE, True) not in entries:
            entries.append((folder, 0, 0, BASE_MODE, True))
        entries.append((item["path"], item["uid"], item["gid"], int(item["mode"], 8), False))
    return entries


def make(path: str, directories: Sequence[Mapping[str, Any]], *, check: bool) -> tuple[list[str], dict[str, str]]:
    """Create or correct directories, unless `check`; returns those, and their owners and modes before and after."""
    made, before, after = [], [], []
    for each, uid, gid, mode, strict in desired(path, directories):
        state = _stat(each)
        right = (state["uid"], state["gid"], state["mode"]) == (uid, gid, f"{mode:04o}")
        if right or (state["kind"] != "absent" and not strict):
            continue
        made.append(each)
        was = "absent" if state["kind"] == "absent" else f"{state['uid']}:{state['gid']} {state['mode']}"
        before.append(f"{each} {was}\n")
        after.append(f"{each} {uid}:{gid} {mode:04o}\n")
        if not check:
            _make_one(each, uid, gid, mode)
    return made, {"before": "".join(before), "after": "".join(after)}


def _make_one(path: str, uid: int, gid: int, mode: int) -> None:
    """Whatever the umask is; a symbolic link is not followed."""
    if _stat(path)["kind"] == "absent":
        Path(path).mkdir(0o700)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchown(handle, uid, gid)
        os.fchmod(handle, mode)
    finally:
        os.close(handle)


def label(module: AnsibleModule, path: str) -> dict[str, Any]:
    """Give the directory and everything below it the type that containers may write to, where SELinux is on.

    Adds or changes the local rule for it, and relabels what has another type. Labels keep their level, which separates
    volumes of single containers.
    """
    mode = selinux.mode()
    if mode == "disabled":
        return {"changed": False, "mode": mode, "relabelled": 0}
    if not selinux.is_known(TYPE):
        module.warn(
            f"Found: SELinux is {mode}, and its policy has no type {TYPE}, so it does not confine containers. "
            f"Needed: nothing now; with a policy for containers, {path} needs that type. "
            "Do: after dnf install container-selinux, run this again."
        )
        return {"changed": False, "mode": mode, "relabelled": 0}
    _require_programs(module, mode, path)
    pattern = selinux.pattern_of(path)
    rule = selinux.rule_type(_output(module, "semanage", "fcontext", "-l", "-C", "-n"), pattern)
    label = selinux.label_of(path)
    if rule != TYPE and not module.check_mode:
        _output(module, "semanage", "fcontext", "-m" if rule else "-a", "-t", TYPE, pattern)
    dry = ["-n"] if module.check_mode else []
    lines = _output(module, "restorecon", "-R", "-v", *dry, path) if Path(path).is_dir() else ""
    relabelled = sum("elabel" in line for line in lines.splitlines())
    if module.check_mode and rule != TYPE:
        relabelled = max(relabelled, int(label != TYPE))  # a dry run goes by the rules of now
    return {
        "changed": rule != TYPE or relabelled > 0,
        "mode": mode,
        "relabelled": relabelled,
        "diff": {
            "before": f"rule {rule or 'none'}, label {label or 'none'}\n",
            "after": f"rule {TYPE}, label {TYPE}\n",
        },
    }


def _require_programs(module: AnsibleModule, mode: str, path: str) -> None:
    missing = [name for name in PACKAGES if not find_program(name)]
    if missing:
        packages = " ".join(PACKAGES[name] for name in missing)
        module.fail_json(
            msg=f"Found: SELinux is {mode}, and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not "
            f"installed. Needed: both programs, to let containers write to {path}. Do: dnf install {packages}"
        )


def _output(module: AnsibleModule, *command: str) -> str:
    """What a program prints; ends the module where it fails."""
    done = run(command, SECONDS)
    if done.code:
        module.fail_json(
            msg=f"Found: {' '.join(command)} ended with {done.code}: {(done.errors or done.output).strip()} "
            "Needed: a policy that accepts a rule for the directory of volumes. "
            "Do: resolve the conflict that it names (semanage fcontext -l -C), and run this again."
        )
    return done.output


def main() -> None:
    """Measure, make or label."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    path, directories = os.path.normpath(module.params["path"]), module.params["directories"]
    if module.params["step"] == "label":
        module.exit_json(**label(module, path))
    try:
        if module.params["step"] == "measure":
            measured = measure(path, directories, may_write=not module.check_mode)
            unmade, _ = make(path, directories, check=True)
            module.exit_json(changed=False, directory=measured, unmade=unmade)
        made, diff = make(path, directories, check=module.check_mode)
    except OSError as error:
        module.fail_json(
            msg=f"Found: {path}: {error}. Needed: a directory for volumes that root may create and change. "
            "Do: see what is there (ls -ld), and become root (ansible_become)."
        )
    module.exit_json(changed=bool(made), made=made, diff=diff)


if __name__ == "__main__":
    main()
