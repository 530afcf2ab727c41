"""What there is of containerd on a host. Runs on the host with Python 3.9 or later; changes nothing."""

from __future__ import annotations

import base64
import contextlib
import glob
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kfv_containerd_look
short_description: Look at a host's containerd, its configuration and its registries
description:
  - Reads containerd's configuration, what containerd itself makes of it (C(containerd config dump)), the files that it
    imports, the directories of its C(config_path), its systemd unit, and what its CRI plugin says of itself.
  - Can ask containerd what it would make of another configuration; those files lie in C(/run) for that moment,
    where nobody else can read them.
  - Called by M(kfv_containerd), which knows what to look for.
version_added: "0.1.0"
options:
  globs:
    description: Paths and patterns of further files of the configuration.
    type: list
    elements: str
    default: []
  trees:
    description: Directories with one directory for each registry.
    type: list
    elements: str
    default: []
  authority:
    description: A file to read with them, or empty.
    type: path
    default: ""
  check:
    description: Files of another configuration by name, in base 64; C(0.toml) is the main one. Only it is looked at.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: It changes nothing anyway.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Look at containerd
  kfv_containerd_look:
    trees: [/etc/containerd/certs.d]
  register: __containerd
  no_log: true
"""

RETURN = r"""
config:
  description: Path of the main configuration file, whether it is there or not.
  returned: always
  type: str
  sample: /etc/containerd/config.toml
dump:
  description: What containerd makes of its configuration, empty where it cannot; then RV(dump_error) says why.
  returned: always
  type: str
  sample: "version = 2"
files:
  description: Contents of the configuration's files by path, in base 64. They may hold credentials.
  returned: always
  type: dict
  sample: {}
trees:
  description: For each directory, the registries' directories with their hosts.toml, in base 64, and other files.
  returned: always
  type: dict
  sample: {"/etc/containerd/certs.d": {"gcr.io": {"hosts": "c2VydmVyID0gIiI=", "others": []}}}
"""

ARGUMENTS: dict[str, Any] = {
    "globs": {"type": "list", "elements": "str", "default": []},
    "trees": {"type": "list", "elements": "str", "default": []},
    "authority": {"type": "path", "default": ""},
    "check": {"type": "dict", "default": {}, "no_log": True},
}

DEFAULT_CONFIG = "/etc/containerd/config.toml"
JOURNAL = "/var/lib/kubeflow-volcano/containerd.json"
"""Names the files of a change that was not seen through; kfv_containerd_change writes and removes it."""

SHOWN = ("LoadState", "ActiveState", "KillMode", "Delegate", "MainPID")
ENDPOINT = "unix:///run/containerd/containerd.sock"
SECONDS = 30


def main() -> None:
    """Answer."""
    module = AnsibleModule(
        argument_spec=ARGUMENTS,
        supports_check_mode=True,
    )
    os.environ["PATH"] += ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    service = unit()
    pid = service.get("MainPID", "0")
    program, config = daemon(pid)
    given = module.params
    if given["check"]:
        dump, error = checked(program, given["check"])
        module.exit_json(changed=False, dump=dump, dump_error=error)
    dump, error = dumped(program, config)
    matching = {
        pattern: sorted(glob.glob(pattern))  # noqa: PTH207  it takes absolute patterns
        for pattern in given["globs"]
    }
    paths = [config, *(path for found in matching.values() for path in found)]
    files = {path: encoded(path) for path in paths if Path(path).is_file()}
    module.exit_json(
        changed=False,
        config=config,
        version=version(program),
        service=service,
        files=files,
        matching=matching,
        trees={tree: registries(tree) for tree in given["trees"]},
        authority=encoded(given["authority"]) if Path(given["authority"]).is_file() else None,
        dump=dump,
        dump_error=error,
        newer=newer(files, pid),
        info=info(),
        unfinished=unfinished(),
    )


def run(command: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, output and errors; 127 where there is no such program, 124 where it takes too long."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=SECONDS, check=False, env={**os.environ, "LC_ALL": "C"}
        )
    except FileNotFoundError as error:
        return 127, "", f"{error.filename}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return 124, "", f"{command[0]} did not answer within {SECONDS} s"
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def unit() -> dict[str, str]:
    """What systemd says about containerd.service."""
    _, output, _ = run(["systemctl", "show", "containerd.service", *(f"--property={name}" for name in SHOWN)])
    return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)


def daemon(pid: str) -> tuple[str, str]:
    """The program that runs, and its configuration file."""
    words: list[str] = []
    program = ""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        program = str(Path(f"/proc/{pid}/exe").readlink())
    config = DEFAULT_CONFIG
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in ("-c", "--c", "-config", "--config"):
            config = value if equals else words[number + 1]
    # A program that was replaced while it ran is told with a mark behind its name.
    return program.replace(" (deleted)", "") or "containerd", config


def version(program: str) -> str:
    """Such as v1.7.28; empty where it does not say."""
    _, output, _ = run([program, "--version"])
    words = output.split()
    return words[2] if len(words) > 2 else ""  # noqa: PLR2004


def dumped(program: str, config: str) -> tuple[str, str]:
    """What containerd makes of a configuration, or why it cannot; without one it runs with its defaults."""
    given = ["--config", config, "config", "dump"] if Path(config).exists() else ["config", "default"]
    code, output, errors = run([program, *given])
    if not code:
        return output, ""
    said = [line for line in errors.splitlines() if line.strip()]
    return "", (said[-1] if said else f"exit code {code}")[:500]


def checked(program: str, files: Mapping[str, str]) -> tuple[str, str]:
    """The same of other files, which nobody else can read and which are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="kubeflow-volcano-", dir="/run") as directory:
        for name, content in files.items():
            path = Path(directory, Path(name).name)
            path.touch(mode=0o600)
            path.write_bytes(base64.b64decode(content))
        return dumped(program, f"{directory}/0.toml")


def encoded(path: str) -> str:
    """The content of a file."""
    return base64.b64encode(Path(path).read_bytes()).decode("ascii")


def registries(tree: str) -> dict[str, Any]:
    """The registries that have a directory."""
    found: dict[str, Any] = {}
    for directory in sorted(Path(tree).glob("*")):
        if directory.is_dir():
            hosts = directory / "hosts.toml"
            found[directory.name] = {
                "hosts": encoded(str(hosts)) if hosts.is_file() else None,
                "others": sorted(each.name for each in directory.iterdir() if each.name != "hosts.toml"),
            }
    return found


def newer(paths: Mapping[str, str], pid: str) -> list[str]:
    """Files that were changed since that process started, by more than the kernel's times are exact."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19])
        boot = next(line for line in Path("/proc/stat").read_text("utf-8").splitlines() if line.startswith("btime "))
    except (OSError, IndexError, StopIteration):
        return []
    started = int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK") + 1
    return sorted(path for path in paths if Path(path).stat().st_mtime > started)


def unfinished() -> list[str]:
    """Files of a change that was not seen through."""
    try:
        return [str(note["path"]) for note in json.loads(Path(JOURNAL).read_text("utf-8"))]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError):  # written whole or not at all, so somebody else was there
        return [JOURNAL]


def info() -> Any:
    """The configuration that the CRI plugin runs with, as far as it tells; {} where nobody can be asked."""
    code, output, _ = run(["crictl", "--runtime-endpoint", ENDPOINT, "info"])
    try:
        found = json.loads(output).get("config", {}) if not code else {}
    except (ValueError, AttributeError):
        found = {}
    return found if isinstance(found, dict) else {}


if __name__ == "__main__":
    main()
