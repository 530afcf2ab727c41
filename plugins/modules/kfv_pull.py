"""Images of a node, listed and pulled by its own container runtime.

Runs on hosts: Python 3.9 or later, standard library only.
Each image is pulled once, without retries, and only while less than `disk_percent` of the disk is used.
"""

from __future__ import annotations

import base64
import platform
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.node_images import (
    NodeRuntime,
    UnusableError,
    find_image,
)

ARGUMENTS: dict[str, Any] = {
    "names": {"type": "list", "elements": "str", "default": []},
    "disk_percent": {"type": "int", "default": 80},
    "timeout_seconds": {"type": "int", "default": 3600},
    "logins": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "registry": {"type": "str", "required": True},
            "username": {"type": "str", "required": True},
            "password": {"type": "str", "required": True, "no_log": True},
        },
    },
}  # `make generate` writes this from the file beside it
"""Complete references to pull, all at the same time; only a list of the node's images without any."""
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""uname's names to those of images."""


def pull(runtime: NodeRuntime, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Pull one image where there is room; its `state` is pulled, failed or full."""
    before = time.monotonic()
    done: dict[str, Any] = {"name": name, "state": "pulled", "error": "", "size": 0, "digests": [], "layers": 0}
    disk = runtime.disk()
    if disk["used_percent"] >= options["disk_percent"]:
        return {**done, "state": "full", "disk": disk, "seconds": 0.0}
    if error := runtime.pull(name, options["timeout_seconds"], authorization(name, options["logins"])):
        done.update(state="failed", error=error, disk=runtime.disk())
    else:
        done["layers"] = runtime.layers(name)
    return {**done, "seconds": round(time.monotonic() - before, 1)}


def authorization(name: str, logins: Sequence[Mapping[str, str]]) -> str:
    """Base64 of user and password for the registry in a complete reference; empty without a login for it."""
    host = name.partition("/")[0]
    login = next((f"{item['username']}:{item['password']}" for item in logins if item["registry"] == host), "")
    return base64.b64encode(login.encode()).decode()


def pull_all(
    runtime: NodeRuntime, options: Mapping[str, Any], images: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Pull all names at the same time; `changed` compares the lists before and after, as crictl does not say it."""
    with ThreadPoolExecutor(max_workers=len(options["names"])) as pool:
        pulls = list(pool.map(lambda name: pull(runtime, name, options), options["names"]))
    after = runtime.images()
    for item in pulls:
        now = find_image(after, item["name"])
        item["changed"] = item["state"] == "pulled" and now != find_image(images, item["name"])
        if now:
            item.update(size=now["size"], digests=now["digests"])
    return pulls


def main() -> None:
    """List, and pull unless in check mode."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        runtime = NodeRuntime()
        version, images = runtime.version(), runtime.images()
    except UnusableError as why:
        module.exit_json(changed=False, unusable=str(why))
    pulls = pull_all(runtime, module.params, images) if module.params["names"] and not module.check_mode else []
    machine = platform.machine()
    module.exit_json(
        changed=any(item["changed"] for item in pulls),
        unusable="",
        runtime=version,
        architecture=ARCHITECTURES.get(machine, machine),
        images=[] if pulls else images,
        sandbox=runtime.settings.get("sandbox", ""),
        disk=runtime.disk(),
        pulls=pulls,
    )


if __name__ == "__main__":
    main()
