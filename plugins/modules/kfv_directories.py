"""The directory of volumes on a host: measured, and made. Runs on the host with Python 3.9 or later."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kfv_directories
short_description: Judge and make the directory that holds the volumes of a node
description:
  - Looks at the directory, or where it is to be, and at the file system there. What makes it useless for volumes is
    told before anything is changed - a file system that is read-only, in memory, an overlay, mounted noexec, or one of
    a server that takes root's rights away; too little room; a directory that holds other things or is a symbolic link.
  - Then makes it as owner root with mode 0711, so that consumers come through and nobody else can list it, and the
    directories of volumes made in advance below it as their consumers need them. Those that are there already are left
    alone, because their consumers may have changed them.
  - On a file system of a server, a file is made and removed again to see whom it belongs to, outside of check mode.
version_added: "0.1.0"
options:
  path:
    description: The directory.
    type: path
    required: true
  state:
    description: Whether it is only judged, which never fails, or made too.
    type: str
    choices: [judged, present]
    default: present
  minimum_free_gb:
    description: >-
      How much room its file system must have where no volume is yet, in GB; 0 is what the chosen components claim.
    type: int
    default: 0
attributes:
  check_mode:
    support: full
    description: Says what would be made, and changes nothing.
  diff_mode:
    support: full
    description: Shows owner and mode of each directory before and after.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Judge the directory of volumes, before it is changed on any host
  kfv_directories:
    path: /opt/local-path-provisioner
    state: judged
    minimum_free_gb: 50
  register: __local_path_judged

- name: Make it
  kfv_directories:
    path: /opt/local-path-provisioner
"""

RETURN = r"""
directory:
  description: What was measured.
  returned: success
  type: dict
unmade:
  description: Directories that are still to be made or changed, when they were only judged.
  returned: success
  type: list
  elements: str
made:
  description: Directories that were made or changed, or in check mode would be.
  returned: success
  type: list
  elements: str
refusal:
  description: What makes it useless, for a person; empty where it is fit.
  returned: success
  type: str
notes:
  description: What is unusual and does not stand in the way.
  returned: success
  type: list
  elements: str
"""

BASE_MODE, PARENT_MODE = 0o711, 0o755
MOST_ENTRIES = 10_000
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))


def measured(path: str, directories: list[dict[str, Any]], *, may_write: bool) -> dict[str, Any]:
    """What is at `path` and below it; nothing is changed but for one file that is made and removed again."""
    place = existing(path)
    found: dict[str, Any] = {"path": path, "place": place, **looked_at(path), **entries(path)}
    found["file_system"] = file_system(os.path.realpath(place), mounts())
    room = os.statvfs(place)
    found["free_bytes"] = room.f_bavail * room.f_frsize
    found["free_inodes"] = room.f_favail if room.f_files else None
    found["inodes"] = room.f_files
    remote = found["file_system"]["type"].startswith("nfs")
    found["written_as"] = written_as(place) if remote and may_write and Path(place).is_dir() else None
    found["selinux"] = selinux()
    found["directories"] = [{**item, **looked_at(item["path"])} for item in directories]
    return found


def selinux() -> str:
    """What SELinux does on this host: enforcing, permissive or disabled."""
    try:
        text = Path("/sys/fs/selinux/enforce").read_text("ascii").strip()
    except OSError:
        return "disabled"
    return {"1": "enforcing", "0": "permissive"}.get(text, "disabled")


def existing(path: str) -> str:
    """The path itself, or the nearest directory above it that is there."""
    while looked_at(path)["kind"] == "absent":
        path = str(Path(path).parent)
    return path


def looked_at(path: str) -> dict[str, Any]:
    """Kind, owner and mode; a symbolic link is not followed."""
    try:
        found = Path(path).lstat()
    except OSError:
        return {"kind": "absent", "uid": None, "gid": None, "mode": None}
    kind = "directory" if stat.S_ISDIR(found.st_mode) else "link" if stat.S_ISLNK(found.st_mode) else "other"
    return {"kind": kind, "uid": found.st_uid, "gid": found.st_gid, "mode": f"{stat.S_IMODE(found.st_mode):04o}"}


def entries(path: str) -> dict[str, Any]:
    """How many volumes are in the directory, and how many other things, some of them by name."""
    volumes, others = 0, []
    if looked_at(path)["kind"] == "directory":
        with os.scandir(path) as found:
            for number, entry in enumerate(found):
                if number >= MOST_ENTRIES:
                    break
                if entry.name.startswith("pvc-") or entry.name == "static":
                    volumes += 1
                elif entry.name != "lost+found":
                    others.append(ascii(entry.name)[1:-1])
    return {"volumes": volumes, "others": len(others), "some_others": sorted(others)[:3]}


def mounts() -> list[dict[str, Any]]:
    """Every mount of this host, as /proc/self/mountinfo has it (proc(5)); later ones hide earlier ones."""
    found = []
    with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            left, _, right = line.rstrip("\n").partition(" - ")
            point, own = left.split(" ")[4:6]
            kind, source, shared = right.split(" ", 2)
            for code, character in _ESCAPES:
                point = point.replace(code, character)
            options = sorted({*own.split(","), *(word for word in shared.split(",") if word == "ro")})
            found.append({"point": point, "type": kind, "source": source, "options": options})
    return found


def file_system(path: str, known: list[dict[str, Any]]) -> dict[str, Any]:
    """The mount that the path, which is a real one, lies on."""
    best: dict[str, Any] = {"point": "", "type": "unknown", "source": "", "options": []}
    for mount in known:
        point = mount["point"].rstrip("/")
        if (path == point or path.startswith(point + "/")) and len(mount["point"]) >= len(best["point"]):
            best = mount
    return best


def written_as(place: str) -> int:
    """Uid of a file that root makes there, -1 where it may not: a server may take its rights away (exports(5))."""
    try:
        handle, name = tempfile.mkstemp(prefix=".kfv-", dir=place)
    except OSError:
        return -1
    try:
        return os.fstat(handle).st_uid
    finally:
        os.close(handle)
        Path(name).unlink()


def wanted(path: str, directories: list[dict[str, Any]]) -> list[tuple[str, int, int, int, bool]]:
    """Path, uid, gid and mode of what is to be there, from the top; last, whether it is set right where it is there."""
    parents = [(str(above), 0, 0, PARENT_MODE, False) for above in Path(path).parents if above.name]
    found = [*reversed(parents), (path, 0, 0, BASE_MODE, True)]
    for item in directories:
        folder = str(Path(item["path"]).parent)
        if (folder, 0, 0, BASE_MODE, True) not in found:
            found.append((folder, 0, 0, BASE_MODE, True))
        found.append((item["path"], item["uid"], item["gid"], int(item["mode"], 8), False))
    return found


def make(path: str, uid: int, gid: int, mode: int) -> None:
    """Make one directory, or set an own one right; whatever the umask is."""
    if looked_at(path)["kind"] == "absent":
        Path(path).mkdir(0o700)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchown(handle, uid, gid)
        os.fchmod(handle, mode)
    finally:
        os.close(handle)


def converged(path: str, directories: list[dict[str, Any]], *, check: bool) -> tuple[list[str], str, str]:
    """What was made or changed, and the text of it before and after."""
    made, before, after = [], [], []
    for each, uid, gid, mode, strict in wanted(path, directories):
        found = looked_at(each)
        right = (found["uid"], found["gid"], found["mode"]) == (uid, gid, f"{mode:04o}")
        if right or (found["kind"] != "absent" and not strict):
            continue
        made.append(each)
        told = "absent" if found["kind"] == "absent" else f"{found['uid']}:{found['gid']} {found['mode']}"
        before.append(f"{each} {told}\n")
        after.append(f"{each} {uid}:{gid} {mode:04o}\n")
        if not check:
            make(each, uid, gid, mode)
    return made, "".join(before), "".join(after)


def main() -> None:
    """Measure; make where that is asked for."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["judged", "present"], "default": "present"},
            "directories": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    path, directories = os.path.normpath(module.params["path"]), module.params["directories"]
    try:
        if module.params["state"] == "judged":
            found = measured(path, directories, may_write=not module.check_mode)
            unmade, _, _ = converged(path, directories, check=True)
            module.exit_json(changed=False, directory=found, unmade=unmade)
        made, before, after = converged(path, directories, check=module.check_mode)
    except OSError as error:
        module.fail_json(
            msg=f"Found: {path}: {error}. Needed: a directory for volumes that root may make and change. "
            "Do: see what is there, and become root (ansible_become)."
        )
    module.exit_json(changed=bool(made), made=made, diff={"before": before, "after": after})


if __name__ == "__main__":
    main()
