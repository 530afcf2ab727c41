"""What the kubelet of this host was configured with. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import programs
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.foreign import read_json
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import (
    assignments,
    exists,
    listed,
    read,
)
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import Process, option

KEPT = {
    "/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS",
    "/etc/sysconfig/kubelet": "KUBELET_EXTRA_ARGS",
    "/etc/default/kubelet": "KUBELET_EXTRA_ARGS",
}
"""Files that kubeadm's unit takes arguments for the next start from, later ones overrule earlier ones."""
_FIRST_WITHOUT_DOCKERSHIM = (1, 24)


def look_kubelet(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """The kubelet's own choices: from its command line, else from the files for its next start."""
    process = daemons.get("kubelet") or daemons.get("k3s") or daemons.get("rke2")
    arguments = process.arguments if process else _kept_arguments()
    path = option(arguments, "--config") or "/var/lib/kubelet/config.yaml"
    settings = settings_of(read(path))
    directory = option(arguments, "--config-dir")
    for extra in listed(directory, ".conf") if directory else ():
        settings.update(settings_of(read(extra)))
    said = programs.run([process.program if process else "kubelet", "--version"], programs.BRIEF_SECONDS).output

    def chosen(flag: str, key: str) -> str:
        return option(arguments, flag) or str(settings.get(key, ""))

    return {
        "program": process.name if process else "kubelet" if programs.find_program("kubelet") else "",
        "running": process is not None,
        "version": re.split("[-~]", programs.version_in(said))[0],
        "config": path if exists(path) else "",
        "root": option(arguments, "--root-dir") or "/var/lib/kubelet",
        "endpoint": chosen("--container-runtime-endpoint", "containerRuntimeEndpoint"),
        "cgroup_driver": chosen("--cgroup-driver", "cgroupDriver"),
        "fail_swap_on": _truth(chosen("--fail-swap-on", "failSwapOn")),
        "fail_cgroup_v1": _truth(chosen("--fail-cgroupv1", "failCgroupV1")),
        "protect_kernel_defaults": _truth(chosen("--protect-kernel-defaults", "protectKernelDefaults")),
    }


def _kept_arguments() -> list[str]:
    arguments: list[str] = []
    for path, name in KEPT.items():
        with contextlib.suppress(ValueError):  # quotes that do not match
            arguments = [*shlex.split(assignments(read(path)).get(name, "")), *arguments]
    return arguments


def endpoint_of(kubelet: Mapping[str, Any], daemons: Mapping[str, Process]) -> str:
    """Address of the kubelet's container runtime: the one it was configured with, else its default.

    The default is containerd's socket since 1.24 and Docker's before; a kubelet that does not run has none.
    """
    if kubelet.get("endpoint"):
        return str(kubelet["endpoint"])
    if "k3s" in daemons or "rke2" in daemons:
        return "unix:///run/k3s/containerd/containerd.sock"
    if not kubelet.get("running"):
        return ""
    version = str(kubelet.get("version") or "")
    if version and tuple(int(part) for part in version.split(".")[:2]) < _FIRST_WITHOUT_DOCKERSHIM:
        return "unix:///var/run/dockershim.sock"
    return "unix:///run/containerd/containerd.sock"


def settings_of(text: str) -> dict[str, Any]:
    """Scalars at the top level of a YAML document, or a whole JSON object; hosts need not have PyYAML."""
    with contextlib.suppress(ValueError):
        loaded = read_json(text)
        return loaded if isinstance(loaded, dict) else {}
    pairs = re.findall(r"(?m)^([A-Za-z]\w*):[ \t]*([^\s#][^#\n]*)", text)
    return {name: value.rstrip().strip("\"'") for name, value in pairs}


def _truth(value: Any) -> bool | None:
    """YAML's true and false; None for anything else."""
    return {"true": True, "false": False}.get(str(value).lower())
