"""kfv_host_repairs: what kfv_host_repair did on all hosts, in a few lines. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from validators.hosts.each import named
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "register": {"type": "str", "required": True},
}


class ActionModule(ActionBase):
    """Group answers of many hosts by what they say."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Tell each repair once, with the hosts on which it was done, would be done, or could not be taken back."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        variables = (task_vars or {}).get("hostvars", {})
        answers = {host: variables[host].get(arguments["register"]) for host in arguments["hosts"]}
        done, left = _grouped(answers, "done"), _grouped(answers, "left")
        heading = "would be done:" if self._task.check_mode else "done:"
        for line in (*_told(heading, done), *_told("left as it is:", left)):
            Display().display(f"  {line}")
        return result | {"done": done, "left": left}


def _grouped(answers: Mapping[str, Any], key: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for host, answer in answers.items():
        for what in answer.get(key) or () if isinstance(answer, Mapping) else ():
            found.setdefault(str(what), []).append(host)
    return found


def _told(heading: str, found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if found:
        yield heading
        yield from (f"  {what}: {named(hosts)}" for what, hosts in found.items())
