"""Images of a node, by its own container runtime: what is there, and pulls. Python 3.9, standard library only."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kfv_pull_host
short_description: List and pull the images of a node through its container runtime
description:
  - Runs on the node. Lists the images that the container runtime has, with its sandbox image and the room on the disk,
    and pulls what it is asked for, through the CRI (C(crictl)) or, where that is missing, C(ctr) in the namespace
    C(k8s.io) with the registry configuration of containerd.
  - Each image is asked for once; nothing is repeated here. Before each pull the disk is looked at, and nothing is
    pulled on a disk that is used up to O(disk_percent).
  - A node whose kubelet uses Docker, through cri-dockerd, is told as unusable and is not touched.
version_added: "0.4.0"
options:
  names:
    description: Complete references to pull, all at the same time.
    type: list
    elements: str
    default: []
  disk_percent:
    description: Used share of the disk with the images, in percent, from which on nothing is pulled.
    type: int
    default: 80
  timeout_seconds:
    description: How long one pull may take.
    type: int
    default: 3600
attributes:
  check_mode:
    support: full
    description: In check mode nothing is pulled.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: See which images the nodes have
  kfv_pull_host:
  register: __image_mirror_node
"""

RETURN = r"""
unusable:
  description: Why nothing can be pulled here, empty where it can.
  returned: always
  type: str
  sample: ""
runtime:
  description: Name and version of the container runtime, and the program that is used.
  returned: success
  type: dict
  sample: {name: containerd, version: 1.7.34, client: crictl}
architecture:
  description: Of the machine, as images name it.
  returned: success
  type: str
  sample: amd64
images:
  description: Names and digests of each image, and its size in bytes.
  returned: success
  type: list
  elements: dict
  sample: [{"tags": ["registry.k8s.io/pause:3.10"], "digests": ["registry.k8s.io/pause@sha256:..."], "size": 320000}]
sandbox:
  description: The image that containerd starts each pod with; empty where it does not say.
  returned: success
  type: str
  sample: registry.k8s.io/pause:3.10
disk:
  description: Where the images lie, its size and free room in bytes, and the used share in percent.
  returned: success
  type: dict
  sample: {path: /var/lib/containerd, total: 107374182400, free: 64424509440, used_percent: 40.0}
pulls:
  description: What became of each name of O(names).
  returned: success
  type: list
  elements: dict
  sample: [{"name": "docker.io/library/busybox:1.36", "state": "pulled", "error": "", "seconds": 4.1, "size": 2160000,
            "digests": ["docker.io/library/busybox@sha256:..."], "layers": 1, "changed": true}]
"""

ARGUMENTS: dict[str, Any] = {
    "names": {"type": "list", "elements": "str", "default": []},
    "disk_percent": {"type": "int", "default": 80},
    "timeout_seconds": {"type": "int", "default": 3600},
}
DOCKER = ("/run/cri-dockerd.sock", "/var/run/cri-dockerd.sock", "/run/dockershim.sock", "/var/run/dockershim.sock")
SOCKETS = ("/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock")
KUBELET = ("/var/lib/kubelet/kubeadm-flags.env", "/var/lib/kubelet/config.yaml", "/etc/sysconfig/kubelet")
ENDPOINT = re.compile(
    r"(?:--container-runtime-endpoint[= ]|^containerRuntimeEndpoint:\s*)[\"']?(?:unix://)?([^\s\"']+)", re.MULTILINE
)
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
ASK_SECONDS = 60
CONNECT = "30s"  # its own 2 s are short on a node that is busy


class UnusableError(Exception):
    """There is no runtime here that can be asked; the text says why."""


class Runtime:
    """The container runtime of this node, through one of its clients."""

    def __init__(self) -> None:
        self.socket = find_socket()
        self.dump = run(["containerd", "config", "dump"], ASK_SECONDS)[1] if shutil.which("containerd") else ""
        self.client = next((name for name in ("crictl", "ctr") if shutil.which(name)), "")
        if not self.client:
            raise UnusableError("neither crictl nor ctr is installed")
        if self.client == "ctr" and "containerd" not in self.socket:
            raise UnusableError("crictl is not installed, and " + self.socket + " is not containerd's")

    def command(self, *arguments: str) -> list[str]:
        """The command line of the client for `arguments`."""
        if self.client == "ctr":
            return ["ctr", "--address", self.socket, "--namespace", "k8s.io", *arguments]
        endpoint = "unix://" + self.socket
        both = ["--runtime-endpoint", endpoint, "--image-endpoint", endpoint]
        return ["crictl", *both, "--timeout", CONNECT, *arguments]

    def version(self) -> dict[str, str]:
        """Name and version of the runtime."""
        if self.client == "ctr":
            found = re.search(r" v?(\d\S*)", run(["containerd", "--version"], ASK_SECONDS)[1])
            return {"name": "containerd", "version": found.group(1) if found else "", "client": "ctr"}
        status, text, error = run(self.command("version"), ASK_SECONDS)
        if status != 0:
            raise UnusableError(self.socket + " does not answer: " + last_line(error or text))
        words = dict(re.findall(r"^(\w+):\s+(\S+)", text, re.MULTILINE))
        name, version = words.get("RuntimeName", ""), words.get("RuntimeVersion", "")
        if name.lower() in {"docker", "isulad"}:
            raise UnusableError(docker_reason(name))
        return {"name": name, "version": version.lstrip("v"), "client": self.client}

    def images(self) -> list[dict[str, Any]]:
        """Tags, digests and size of every image."""
        if self.client == "ctr":
            return self._images_of_ctr()
        status, text, error = run(self.command("images", "--output", "json"), ASK_SECONDS)
        if status != 0:
            raise UnusableError("its images cannot be listed: " + last_line(error or text))
        return [
            {
                "tags": item.get("repoTags") or [],
                "digests": item.get("repoDigests") or [],
                "size": int(item.get("size") or 0),
            }
            for item in json.loads(text).get("images") or []
        ]

    def _images_of_ctr(self) -> list[dict[str, Any]]:
        status, text, error = run(self.command("images", "list"), ASK_SECONDS)
        if status != 0:
            raise UnusableError("its images cannot be listed: " + last_line(error or text))
        found = []
        for line in text.splitlines()[1:]:
            reference, _, digest, *size = line.split()[:5]
            if reference.startswith("sha256:"):
                continue
            repository = reference.partition("@")[0]
            if "@" not in reference:
                repository = re.sub(r":[^/:]+$", "", repository)
            tags = [] if "@" in reference else [reference]
            found.append({"tags": tags, "digests": [repository + "@" + digest], "size": in_bytes(size)})
        return found

    def pull(self, name: str, seconds: int) -> tuple[int, str]:
        """Pull one image; returns the exit status and what went wrong."""
        if self.client == "ctr":
            directory = self.told("config_path").split(":")[0]
            where = ["--hosts-dir", directory] if directory else []
            status, text, error = run(self.command("images", "pull", *where, name), seconds)
        else:
            status, text, error = run(self.command("pull", name), seconds)
        return status, "" if status == 0 else last_line(error or text)

    def layers(self, name: str) -> int:
        """How many layers an image has; 0 where the runtime does not say."""
        if self.client == "ctr":
            return 0
        status, text, _ = run(self.command("inspecti", "--output", "json", name), ASK_SECONDS)
        try:
            return len(json.loads(text)["info"]["imageSpec"]["rootfs"]["diff_ids"]) if status == 0 else 0
        except (KeyError, TypeError, ValueError):
            return 0

    def told(self, key: str) -> str:
        """The first value of a key in containerd's configuration; empty where there is none."""
        found = re.search(r"^\s*" + key + r"\s*=\s*['\"]([^'\"]+)['\"]", self.dump, re.MULTILINE)
        return found.group(1) if found else ""

    def disk(self) -> dict[str, Any]:
        """Room where the images lie."""
        path = Path(self.told("root") or ("/var/lib/containers" if "crio" in self.socket else "/var/lib/containerd"))
        while not path.is_dir():
            path = path.parent
        found = os.statvfs(path)
        total, free = found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
        used = 100 * (1 - free / total) if total else 0.0
        return {"path": str(path), "total": total, "free": free, "used_percent": round(used, 1)}


def find_socket() -> str:
    """Where the kubelet reaches its runtime: by its own configuration, else the first that is there."""
    socket = next(filter(None, map(configured, KUBELET)), "")
    if not socket:
        socket = next((path for path in (*DOCKER, *SOCKETS) if Path(path).exists()), "")
    if not socket:
        raise UnusableError("no container runtime listens at " + " or ".join(SOCKETS))
    if Path(socket).name in {Path(path).name for path in DOCKER}:
        raise UnusableError(docker_reason("Docker"))
    return socket


def docker_reason(name: str) -> str:
    """Why a runtime of that kind is left alone."""
    return "the kubelet uses " + name + ", which takes no mirrors but for Docker Hub and is not supported"


def configured(path: str) -> str:
    """The socket that a file of the kubelet names, or nothing."""
    try:
        found = ENDPOINT.search(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return found.group(1) if found else ""


def run(command: list[str], seconds: int) -> tuple[int, str, str]:
    """Run a program for at most so long; returns its status, output and errors."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, "", f"timed out after {seconds} s"
    except OSError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def last_line(text: str) -> str:
    """The last line that says something: where clients say why they gave up; of ctr, all that follows its name."""
    own = re.search(r"^ctr: (.+)", text, re.MULTILINE | re.DOTALL)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = "; ".join(dict.fromkeys(own.group(1).split("\n"))).strip("; ") if own else lines[-1] if lines else ""
    return told[:1000] or "no reason given"


def in_bytes(words: list[str]) -> int:
    """Bytes of a size as ctr shows it, such as 2.1 MiB."""
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    try:
        return int(float(words[0]) * units[words[1]])
    except (IndexError, KeyError, ValueError):
        return 0


def has(image: dict[str, Any], name: str) -> bool:
    """Whether a listed image is the one of that name; a digest goes before a tag."""
    repository, _, digest = name.partition("@")
    if not digest:
        return name in image["tags"]
    return re.sub(r":[^/:]+$", "", repository) + "@" + digest in image["digests"]


def of(images: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The image of that name, or None."""
    return next((image for image in images if has(image, name)), None)


def pulled(runtime: Runtime, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Pull one image where there is room."""
    before = time.monotonic()
    done: dict[str, Any] = {"name": name, "state": "pulled", "error": "", "size": 0, "digests": [], "layers": 0}
    disk = runtime.disk()
    if disk["used_percent"] >= options["disk_percent"]:
        return {**done, "state": "full", "disk": disk, "seconds": 0.0}
    status, error = runtime.pull(name, options["timeout_seconds"])
    if status != 0:
        done.update(state="failed", error=error, disk=runtime.disk())
    else:
        done["layers"] = runtime.layers(name)
    return {**done, "seconds": round(time.monotonic() - before, 1)}


def pull_all(runtime: Runtime, options: dict[str, Any], images: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pull all names at the same time, and tell by the lists before and after what has changed."""
    with ThreadPoolExecutor(max_workers=len(options["names"])) as pool:
        pulls = list(pool.map(lambda name: pulled(runtime, name, options), options["names"]))
    after = runtime.images()
    for item in pulls:
        now = of(after, item["name"])
        item["changed"] = item["state"] == "pulled" and now != of(images, item["name"])
        if now:
            item.update(size=now["size"], digests=now["digests"])
    return pulls


def main() -> None:
    """List, and pull unless it is only a check."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        runtime = Runtime()
        version, images = runtime.version(), runtime.images()
    except UnusableError as reason:
        module.exit_json(changed=False, unusable=str(reason))
    pulls = pull_all(runtime, module.params, images) if module.params["names"] and not module.check_mode else []
    machine = platform.machine()
    module.exit_json(
        changed=any(item["changed"] for item in pulls),
        unusable="",
        runtime=version,
        architecture=ARCHITECTURES.get(machine, machine),
        images=[] if pulls else images,
        sandbox=runtime.told("sandbox_image") or runtime.told("sandbox"),
        disk=runtime.disk(),
        pulls=pulls,
    )


if __name__ == "__main__":
    main()
