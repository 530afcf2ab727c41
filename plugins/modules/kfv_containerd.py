"""containerd on a node: looked at, its files changed so that the change can be undone, and restarted.

Runs on hosts: Python 3.9 or later, standard library only. The action plugin of the same name decides what to write.
Contents of files are in base64; they may hold credentials.
"""

from __future__ import annotations

import base64
import glob
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import containerd, containerd_service
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import containerd_files as files
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import put
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.programs import BRIEF_SECONDS, run, version_in

ARGUMENTS: dict[str, Any] = {
    "step": {
        "type": "str",
        "choices": ["look", "check", "write", "restart", "pull", "restore", "finish"],
        "required": True,
    },
    "globs": {"type": "list", "elements": "str", "default": []},
    "trees": {"type": "list", "elements": "str", "default": []},
    "authority": {"type": "path", "default": ""},
    "files": {"type": "list", "elements": "dict", "default": []},
    "contents": {"type": "dict", "default": {}, "no_log": True},
    "seconds": {"type": "int", "default": 60},
    "image": {"type": "str", "default": ""},
}  # `make generate` writes this from the file beside it


def look(given: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration and what containerd makes of it, the registries, the unit, and what its CRI plugin says."""
    service = containerd.unit()
    daemon = containerd.find_daemon(service)
    dump, error = containerd.dump(daemon.installed, daemon.config)
    matching = {
        pattern: sorted(glob.glob(pattern))  # noqa: PTH207  it takes absolute patterns
        for pattern in given["globs"]
    }
    paths = [daemon.config, *(path for found in matching.values() for path in found)]
    contents = {path: files.encoded(path) for path in paths if Path(path).is_file()}
    return {
        "config": daemon.config,
        "version": version_in(run([daemon.installed, "--version"], BRIEF_SECONDS).output),
        "service": service,
        "files": contents,
        "matching": matching,
        "trees": {tree: files.registries(tree) for tree in given["trees"]},
        "authority": files.encoded(given["authority"]) if Path(given["authority"]).is_file() else None,
        "dump": dump,
        "dump_error": error,
        "newer": files.changed_since(contents, daemon.pid),
        "info": containerd_service.cri_settings(),
        "unfinished": files.unfinished(),
    }


def check(contents: Mapping[str, str]) -> dict[str, Any]:
    """What containerd makes of another configuration; its files exist for that moment only, readable by root alone."""
    daemon = containerd.find_daemon(containerd.unit())
    with tempfile.TemporaryDirectory(prefix="kubeflow-volcano-", dir="/run") as directory:
        for name, content in contents.items():
            put(Path(directory, Path(name).name), base64.b64decode(content), 0o600)
        dump, error = containerd.dump(daemon.installed, f"{directory}/0.toml")
    return {"dump": dump, "dump_error": error}


def do(given: Mapping[str, Any]) -> dict[str, Any]:
    """One step that changes the node."""
    step = given["step"]
    if step == "write":
        return {"copies": files.write(given["files"], given["contents"])}
    if step == "restart":
        since = time.time()
        return {"since": since, "trouble": containerd_service.restart(given["seconds"])}
    if step == "pull":
        return {"trouble": containerd_service.pull(given["image"])}
    if step == "restore":
        files.restore()
    else:
        files.finish()
    return {}


def main() -> None:
    """Do one step."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    given = module.params
    if given["step"] == "look":
        module.exit_json(changed=False, **look(given))
    if given["step"] == "check":
        module.exit_json(changed=False, **check(given["contents"]))
    try:
        answer = {} if module.check_mode else do(given)
    except OSError as error:
        module.fail_json(
            msg=f"Found: {error.filename or 'a file of containerd'}: {error.strerror or error}. "
            "Needed: files that can be written, and room for them. "
            "Do: make room on the node's disk (df -h /etc /var/lib) or make it writable, and run this again."
        )
    module.exit_json(changed=True, **answer)


if __name__ == "__main__":
    main()
