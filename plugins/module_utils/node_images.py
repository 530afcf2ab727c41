"""Images of this node, through its own container runtime. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import containerd
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.foreign import mappings, read_json
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import exists
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.kubelet import endpoint_of, look_kubelet
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import processes
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.programs import find_program, run, version_in
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.runtimes import runtime_at

DOCKER = ("/run/cri-dockerd.sock", "/var/run/cri-dockerd.sock", "/run/dockershim.sock", "/var/run/dockershim.sock")
SOCKETS = ("/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock")
ASK_SECONDS = 60
_CONNECT = "30s"  # crictl's own 2 s are short on a node that is busy
_MOST_CHARACTERS = 1000


class UnusableError(Exception):
    """No container runtime here can be used; the message says why."""


class NodeRuntime:
    """The container runtime of this node, through crictl or, for containerd, ctr."""

    def __init__(self) -> None:
        self.socket = find_socket()
        self.client = next((name for name in ("crictl", "ctr") if find_program(name)), "")
        if not self.client:
            raise UnusableError("neither crictl nor ctr is installed")
        if self.client == "ctr" and "containerd" not in self.socket:
            raise UnusableError(f"crictl is not installed, and {self.socket} is not containerd's")
        daemon = containerd.find_daemon(containerd.unit())
        is_containerd = runtime_at(self.socket) == "containerd"
        self._daemon = daemon
        self.settings = containerd.chosen(containerd.dump(daemon.running, daemon.config)[0]) if is_containerd else {}

    def version(self) -> dict[str, str]:
        """Name and version of the runtime, and the client that is used.

        Raises:
            UnusableError: the runtime does not answer, or is Docker or iSulad.
        """
        if self.client == "ctr":
            said = run([self._daemon.running, "--version"], ASK_SECONDS).output
            return {"name": "containerd", "version": version_in(said), "client": "ctr"}
        done = run(self._command("version"), ASK_SECONDS)
        if done.code:
            raise UnusableError(f"{self.socket} does not answer: {reason(done.errors or done.output)}")
        words = dict(re.findall(r"^(\w+):\s+(\S+)", done.output, re.MULTILINE))
        name, version = words.get("RuntimeName", ""), words.get("RuntimeVersion", "")
        if name.lower() in {"docker", "isulad"}:
            raise UnusableError(_docker(name))
        return {"name": name, "version": version.lstrip("v"), "client": self.client}

    def images(self) -> list[dict[str, Any]]:
        """Tags, digests and size in bytes of every image.

        Raises:
            UnusableError: the runtime does not list them.
        """
        arguments = ("images", "list") if self.client == "ctr" else ("images", "--output", "json")
        done = run(self._command(*arguments), ASK_SECONDS)
        if done.code:
            raise UnusableError(f"its images cannot be listed: {reason(done.errors or done.output)}")
        if self.client == "ctr":
            return _listed_by_ctr(done.output)
        try:
            return [
                {
                    "tags": list(item.get("repoTags") or []),
                    "digests": list(item.get("repoDigests") or []),
                    "size": int(item.get("size") or 0),
                }
                for item in mappings(read_json(done.output).get("images"))
            ]
        except (AttributeError, TypeError, ValueError) as error:
            raise UnusableError("crictl images answers with something else than a list of images") from error

    def pull(self, name: str, seconds: int, authorization: str = "") -> str:
        """Pull one image; returns why it failed, empty where it did not.

        `authorization` is base64 of user:password; crictl reads it from its environment, since version 1.24.
        """
        if authorization and self.client == "ctr":
            return "ctr takes a password as an argument only, which all users of this host can read; install crictl"
        directory = str(self.settings.get("config_path", "")).split(":")[0]
        if self.client == "ctr":  # it does not read the CRI plugin's configuration
            where = ["--hosts-dir", directory] if directory else []
            done = run(self._command("images", "pull", *where, name), seconds)
        else:
            login = {"CRICTL_AUTH": authorization} if authorization else {}
            done = run(self._command("pull", name), seconds, login)
        return reason(done.errors or done.output) if done.code else ""

    def layers(self, name: str) -> int:
        """How many layers an image has; 0 where the runtime does not say."""
        if self.client == "ctr":
            return 0
        done = run(self._command("inspecti", "--output", "json", name), ASK_SECONDS)
        try:
            return len(read_json(done.output)["info"]["imageSpec"]["rootfs"]["diff_ids"]) if done.code == 0 else 0
        except (KeyError, TypeError, ValueError):
            return 0

    def disk(self) -> dict[str, Any]:
        """Where the images are, its size and free room in bytes, and the used share in percent."""
        default = "/var/lib/containers" if "crio" in self.socket else "/var/lib/containerd"
        path = Path(self.settings.get("root") or default)
        while not path.is_dir():
            path = path.parent
        status = os.statvfs(path)
        total, free = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
        used = 100 * (1 - free / total) if total else 0.0
        return {"path": str(path), "total": total, "free": free, "used_percent": round(used, 1)}

    def _command(self, *arguments: str) -> list[str]:
        if self.client == "ctr":
            return ["ctr", "--address", self.socket, "--namespace", "k8s.io", *arguments]
        endpoint = f"unix://{self.socket}"
        both = ["--runtime-endpoint", endpoint, "--image-endpoint", endpoint]
        return ["crictl", *both, "--timeout", _CONNECT, *arguments]


def find_socket() -> str:
    """Path of the runtime's socket: the one that the kubelet uses, else the first that exists.

    Raises:
        UnusableError: there is none, or it is Docker's.
    """
    daemons = processes()
    endpoint = endpoint_of(look_kubelet(daemons), daemons)
    socket = endpoint.partition("://")[2] or endpoint
    if not socket:
        socket = next((path for path in (*DOCKER, *SOCKETS) if exists(path)), "")
    if not socket:
        raise UnusableError("no container runtime listens at " + " or ".join(SOCKETS))
    if runtime_at(socket) == "docker":
        raise UnusableError(_docker("Docker"))
    return socket


def _docker(name: str) -> str:
    return f"the kubelet uses {name}, which supports mirrors for Docker Hub only and is not supported here"


def find_image(images: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The listed image of that name, or None; a digest in the name counts before its tag."""
    repository, _, digest = name.partition("@")
    if not digest:
        return next((image for image in images if name in image["tags"]), None)
    wanted = f"{_without_tag(repository)}@{digest}"
    return next((image for image in images if wanted in image["digests"]), None)


def _listed_by_ctr(text: str) -> list[dict[str, Any]]:
    images = []
    for line in text.splitlines()[1:]:
        reference, _, digest, *size = line.split()[:5]
        if reference.startswith("sha256:"):
            continue
        repository = reference.partition("@")[0]
        tags = [] if "@" in reference else [reference]
        if tags:
            repository = _without_tag(repository)
        images.append({"tags": tags, "digests": [f"{repository}@{digest}"], "size": bytes_of(size)})
    return images


def _without_tag(reference: str) -> str:
    return re.sub(r":[^/:]+$", "", reference)


def bytes_of(words: Sequence[str]) -> int:
    """Bytes of a size as ctr prints it, such as 2.1 MiB; 0 for anything else."""
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    try:
        return int(float(words[0]) * units[words[1]])
    except (IndexError, KeyError, ValueError):
        return 0


def reason(text: str) -> str:
    """Why a client failed: its last line; of ctr, everything after its own name, which has the status."""
    own = re.search(r"^ctr: (.+)", text, re.MULTILINE | re.DOTALL)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = "; ".join(dict.fromkeys(own.group(1).split("\n"))).strip("; ") if own else lines[-1] if lines else ""
    return said[:_MOST_CHARACTERS] or "no reason given"
