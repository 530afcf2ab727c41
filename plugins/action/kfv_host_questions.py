"""kfv_host_questions: what preflight asks the hosts, worked out once for all of them. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

try:
    from kubeflow_volcano.catalog.images.mirrors import load_mirror
    from kubeflow_volcano.hosts.peers import targets
    from kubeflow_volcano.hosts.wanted import SYSCTLS, modules_for
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "settings": {"type": "dict", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
}


class ActionModule(ActionBase):
    """Turn settings into names of modules, settings, mirrors, directories and other hosts."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the questions; directories by host, as a group of nodes may have its own."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            settings = parse(arguments["settings"])
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe()}
        variables = (task_vars or {}).get("hostvars", {})
        usual = settings.storage.base_directory
        own = settings.storage.mode != "existing"
        return result | {
            "modules": list(modules_for(item.name for item in settings.components)),
            "sysctls": [item.name for item in SYSCTLS],
            "names": list(dict.fromkeys(_mirrors(settings))),
            "connects": targets(
                {host: str(variables[host].get("ansible_host") or host) for host in arguments["hosts"]},
                (task_vars or {}).get("groups", {}).get("control_plane", []),
            ),
            "paths": {
                host: {"volumes": str(variables[host].get("local_path_base_directory") or usual)} if own else {}
                for host in arguments["hosts"]
            },
        }


def _mirrors(settings: Settings) -> Iterator[str]:
    """Names of the hosts that nodes ask for images, without ports."""
    if settings.mirror.mode == "none":
        return
    if settings.registry.address:  # it alone is asked; the mirrors fill it from the machine that runs Ansible
        yield settings.registry.host.partition(":")[0]
        return
    for rule in settings.mirror.rules:
        yield (rule.prefix or rule.host or rule.registry).partition("/")[0].partition(":")[0]
    if settings.mirror.preset:
        known = load_mirror(settings.mirror.preset)
        yield from (name.partition("/")[0] for name in (known.prefix, *known.hosts.values()) if name)
