"""Everything that preflight judges of a host, looked at in one run. Changes nothing.

Runs on hosts: Python 3.9 or later, standard library only. Reads files, /proc and /sys; programs only say versions,
containerd's merged configuration and the state of services, each within a limit of time. A part that cannot be looked
at is named in `facts.troubles` with the reason, and the others are there all the same.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.disks import look_paths
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.kernel import (
    look_cgroup,
    look_inotify,
    look_modules,
    look_sysctls,
)
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.kubelet import look_kubelet
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.network import (
    look_connections,
    look_names,
    look_networks,
    look_proxies,
)
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import processes
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.runtimes import look_runtime
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.system import (
    look_firewall,
    look_machine,
    look_os,
    look_selinux,
    look_swap,
    look_time,
)

ARGUMENTS: dict[str, Any] = {
    "modules": {"type": "list", "elements": "str", "default": []},
    "sysctls": {"type": "list", "elements": "str", "default": []},
    "names": {"type": "list", "elements": "str", "default": []},
    "connects": {"type": "list", "elements": "str", "default": []},
    "paths": {"type": "dict", "default": {}},
}  # `make generate` writes this from the file beside it
"""Kernel modules and settings, names to resolve, `host:port` to connect to, and directories by their purpose."""
OLDEST_PYTHON = (3, 9)
LONGEST_SECONDS = 180
"""After which the module ends itself: a file system whose server is gone would block it forever."""
MOST_CHARACTERS = 2000


def look(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All parts, and why some are missing."""
    troubles: dict[str, str] = {}
    facts: dict[str, Any] = {"troubles": troubles}

    def add(name: str, part: Any, *given: Any) -> Any:
        try:
            facts[name] = part(*given)
        except Exception as error:  # noqa: BLE001  one part that breaks must not hide the others
            troubles[name] = f"{type(error).__name__}: {error}"[:MOST_CHARACTERS]
        return facts.get(name) or {}

    add("os", look_os)
    add("machine", look_machine)
    add("modules", look_modules, arguments["modules"])
    add("sysctls", look_sysctls, arguments["sysctls"])
    add("inotify", look_inotify)
    add("cgroup", look_cgroup)
    daemons = processes()
    kubelet = add("kubelet", look_kubelet, daemons)
    runtime = add("runtime", look_runtime, daemons, kubelet)
    add("selinux", look_selinux)
    add("firewall", look_firewall, daemons)
    add("swap", look_swap)
    paths = {"images": runtime.get("root"), "kubelet": kubelet.get("root"), **arguments["paths"]}
    add("paths", look_paths, {purpose: str(path) for purpose, path in paths.items() if path})
    add("names", look_names, arguments["names"])
    add("connections", look_connections, arguments["connects"])
    add("proxies", look_proxies, daemons)
    add("networks", look_networks, daemons)
    add("time", look_time, daemons)
    return facts


def main() -> None:
    """Answer with all facts."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    if sys.version_info < OLDEST_PYTHON:
        module.fail_json(
            msg=f"Python {sys.version.split()[0]} is too old for this module.", python=sys.version.split()[0]
        )
    signal.alarm(LONGEST_SECONDS)
    module.exit_json(changed=False, facts=look(module.params))


if __name__ == "__main__":
    main()
