"""Files of containerd on a host: written, taken back, and containerd restarted. Runs there with Python 3.9 or later."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kfv_containerd_change
short_description: Change files of a host's containerd so that the change can be taken back
description:
  - Notes what it is about to change in C(/var/lib/kubeflow-volcano/containerd.json) before it does, so that a change
    that was interrupted is known as such later. Each file is written whole under another name, then moved into place
    with the owner, mode and label of the one before.
  - Called by M(kfv_containerd) and M(kfv_containerd_restart), which know what to write.
version_added: "0.1.0"
options:
  step:
    description:
      - V(write) notes and writes O(files); V(restart) restarts containerd and waits until its CRI answers; V(pull)
        pulls O(pull); V(restore) puts back what stood there before; V(finish) forgets the note, and with it copies of
        what this project wrote.
    type: str
    choices: [write, restart, pull, restore, finish]
    required: true
  files:
    description:
      - What to write, each with C(path) and C(foreign), for which a copy of what stands there is kept for good.
    type: list
    elements: dict
    default: []
  contents:
    description: What to write into them by path, in base 64; a file without is removed. May hold credentials.
    type: dict
    default: {}
  seconds:
    description: How long containerd has to answer after a restart.
    type: int
    default: 60
  pull:
    description: Name of the image to pull.
    type: str
    default: ""
attributes:
  check_mode:
    support: none
    description: It is not called in check mode.
  diff_mode:
    support: none
    description: Its callers show what is written.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Restart containerd
  kfv_containerd_change:
    step: restart
"""

RETURN = r"""
trouble:
  description: Why containerd did not come up, or did not pull; empty where it did.
  returned: for restart and pull
  type: str
  sample: ""
since:
  description: When containerd was restarted, in seconds since the epoch by the host's clock.
  returned: for restart
  type: float
  sample: 1732233600.5
copies:
  description: Copies that were made of files of others.
  returned: for write
  type: list
  elements: str
  sample: ["/etc/containerd/config.toml.kubeflow-volcano-20261122T010203Z"]
"""

ARGUMENTS: dict[str, Any] = {
    "step": {"type": "str", "choices": ["write", "restart", "pull", "restore", "finish"], "required": True},
    "files": {"type": "list", "elements": "dict", "default": []},
    "contents": {"type": "dict", "default": {}, "no_log": True},
    "seconds": {"type": "int", "default": 60},
    "pull": {"type": "str", "default": ""},
}

JOURNAL = Path("/var/lib/kubeflow-volcano/containerd.json")
ENDPOINT = "unix:///run/containerd/containerd.sock"
CRI = re.compile(r"(?m)^Type:\s+io\.containerd\.cri\.|^ID:\s+cri$")
MESSAGE = re.compile(r'\bmsg="((?:[^"\\]|\\.)*)"')
MARK = ".kubeflow-volcano-"
LOOK_SECONDS = 1.0  # containerd tells nobody when its CRI answers, so it is asked
PULL_SECONDS = 600


def main() -> None:
    """Do one step."""
    module = AnsibleModule(argument_spec=ARGUMENTS)
    os.environ["PATH"] += ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    given = module.params
    try:
        if given["step"] == "write":
            module.exit_json(changed=True, copies=write(given["files"], given["contents"]))
        if given["step"] == "restart":
            since = time.time()
            module.exit_json(changed=True, since=since, trouble=restart(given["seconds"]))
        if given["step"] == "pull":
            module.exit_json(changed=True, trouble=pull(given["pull"]))
        if given["step"] == "restore":
            restore()
        else:
            finish()
    except OSError as error:
        module.fail_json(
            msg=f"Found: {error.filename or 'a file of containerd'}: {error.strerror or error}. "
            "Needed: files that can be written, and room for them. Do: see to the node's disk, and run this again."
        )
    module.exit_json(changed=True)


def write(files: Sequence[Mapping[str, Any]], contents: Mapping[str, str]) -> list[str]:
    """Note, then write; the copies that stay. Where that fails half-way, what stood there before is back."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    notes = noted()
    known = {note["path"] for note in notes}
    for file in files:
        path = Path(file["path"])
        if str(path) not in known:  # what an unfinished change noted is older, and what to go back to
            copy = f"{path}{MARK}{stamp}" if path.exists() else ""
            new = [str(above) for above in path.parents if not above.exists()]
            notes.append({"path": str(path), "copy": copy, "keep": bool(file["foreign"]), "made": new})
    note_down(notes)
    try:
        for note in notes:
            if note["copy"] and not Path(note["copy"]).exists():
                copied(Path(note["path"]), Path(note["copy"]))
        for file in files:
            if file["path"] in contents:
                put(Path(file["path"]), base64.b64decode(contents[file["path"]]))
            else:
                Path(file["path"]).unlink()
    except OSError:
        restore()
        finish()
        raise
    return [note["copy"] for note in notes if note["copy"] and note["keep"]]


def put(path: Path, content: bytes) -> None:
    """Write a file whole, with the owner, mode and label of the one before; a new one is root's, with mode 0644."""
    path = path.resolve()  # a link stays one
    make_directory(path.parent)
    fresh = path.with_name(f".{path.name}{MARK}new")
    try:
        with fresh.open("wb") as stream:
            fresh.chmod(0o600)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            like(path, fresh)
            os.utime(fresh)
        else:
            fresh.chmod(0o644)
        fresh.replace(path)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        raise


def make_directory(path: Path) -> None:
    """With all above it, so that others can read it whatever the umask is."""
    for each in (*reversed(path.parents), path):
        if not each.exists():
            each.mkdir()
            each.chmod(0o755)


def copied(source: Path, target: Path) -> None:
    """A copy with the owner, mode, label and times of the source."""
    target = target.resolve()
    fresh = target.with_name(f".{target.name}{MARK}new")
    fresh.touch(mode=0o600)
    shutil.copyfile(source, fresh)
    like(source, fresh)
    fresh.replace(target)


def like(source: Path, target: Path) -> None:
    """Owner, mode, times and label (an extended attribute) of the source."""
    found = source.stat()
    os.chown(target, found.st_uid, found.st_gid)
    shutil.copystat(source, target)


def restore() -> None:
    """Put back what stood there before, the last change first."""
    for note in reversed(noted()):
        path = Path(note["path"])
        if note["copy"]:
            if Path(note["copy"]).exists():
                make_directory(path.parent)
                copied(Path(note["copy"]), path)
        else:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            for above in note["made"]:
                with contextlib.suppress(OSError):  # something else lies in it
                    Path(above).rmdir()


def finish() -> None:
    """Forget the note, and copies of what this project itself had written; with them directories that got empty."""
    for note in noted():
        if note["copy"] and not note["keep"]:
            with contextlib.suppress(FileNotFoundError):
                Path(note["copy"]).unlink()
            with contextlib.suppress(OSError):  # something lies in it
                Path(note["path"]).parent.rmdir()
    with contextlib.suppress(FileNotFoundError):
        JOURNAL.unlink()


def noted() -> list[dict[str, Any]]:
    """What an unfinished change noted; nothing where there is none."""
    try:
        found = json.loads(JOURNAL.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    return found if isinstance(found, list) else []


def note_down(notes: Sequence[Mapping[str, Any]]) -> None:
    """Write the note whole."""
    put(JOURNAL, json.dumps(notes, indent=1).encode())
    JOURNAL.chmod(0o600)


def restart(seconds: int) -> str:
    """Restart containerd; why it did not come up in time, or nothing."""
    deadline = time.monotonic() + seconds
    code, _, errors = run(["systemctl", "restart", "containerd.service"], seconds + 60)
    if code:
        return said(errors) or f"systemctl restart containerd ended with {code}"
    trouble = unready()
    while trouble and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
        trouble = unready()
    return f"{trouble} ({seconds} s after the restart)" if trouble else ""


def unready() -> str:
    """Why containerd's CRI does not answer, or nothing; by crictl, or by ctr where there is no crictl."""
    code, output, errors = run(["crictl", "--runtime-endpoint", ENDPOINT, "info"], 15)
    if code == 127:  # noqa: PLR2004  there is no such program
        return unloaded()
    if code:
        return f"crictl info: {said(errors)}" + (f"; {more}" if (more := unloaded()) else "")
    try:
        conditions = json.loads(output)["status"]["conditions"]
    except (ValueError, KeyError, TypeError):
        return "crictl info answers with something else than a status"
    down = [item for item in conditions if item.get("type") == "RuntimeReady" and not item.get("status")]
    return f"RuntimeReady is false: {down[0].get('message') or down[0].get('reason')}" if down else ""


def unloaded() -> str:
    """Plugins for CRI that containerd did not load, with its reasons; nothing where all are loaded."""
    code, output, errors = run(["ctr", "plugins", "ls", "-d"], 15)
    if code:
        return f"ctr plugins ls: {said(errors)}"
    bad = [block for block in re.split(r"(?m)^(?=Type:)", output) if CRI.search(block) and "Error:" in block]
    reasons = [line.partition("Message:")[2].strip() for block in bad for line in block.splitlines()]
    return "containerd did not load its CRI plugin: " + "; ".join(dict.fromkeys(filter(None, reasons))) if bad else ""


def pull(image: str) -> str:
    """Why the image cannot be pulled, or nothing."""
    code, _, errors = run(["crictl", "--runtime-endpoint", ENDPOINT, "pull", image], PULL_SECONDS)
    return f"{image} cannot be pulled: {said(errors)}" if code else ""


def run(command: Sequence[str], seconds: float) -> tuple[int, str, str]:
    """Exit code, output and errors; 127 where there is no such program, 124 where it takes too long."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, env={**os.environ, "LC_ALL": "C"}
        )
    except FileNotFoundError as error:
        return 127, "", f"{error.filename}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return 124, "", f"{command[0]} did not answer within {seconds:.0f} s"
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def said(errors: str) -> str:
    """The last line of what a program said, without the time and level that Go programs put before it."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    message = MESSAGE.search(last)
    return (message[1].replace('\\"', '"') if message else last)[:800]


if __name__ == "__main__":
    main()
