"""kfv_host_facts: a host is looked at, and one that does not answer is told and not lost. See plugins/modules."""

from __future__ import annotations

import re
import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

ARGUMENTS: dict[str, Any] = {
    "modules": {"type": "list", "elements": "str", "default": []},
    "sysctls": {"type": "list", "elements": "str", "default": []},
    "names": {"type": "list", "elements": "str", "default": []},
    "connects": {"type": "list", "elements": "str", "default": []},
    "paths": {"type": "dict", "default": {}},
}

_BECOME = re.compile(r"(?i)(incorrect|missing) \S+ password|privilege escalation|become|sudo:|not in the sudoers")
_PYTHON = re.compile(r"(?i)interpreter|python version|python \S+ is too old|SyntaxError|ModuleNotFoundError|libpython")
_LONGEST = 500


class ActionModule(ActionBase):
    """Run the module of the same name once, and note when. Imports little, as it runs once a host."""

    TRANSFERS_FILES = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return facts, or the trouble that kept them away; the task does not fail for it."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        sent = time.time()
        try:
            answer = self._execute_module(module_args=arguments, task_vars=task_vars)
        except AnsibleConnectionFailure as error:
            answer = {"trouble": _trouble("reach", str(error))}
        except AnsibleError as error:
            answer = {"trouble": _trouble(_kind(str(error)), str(error))}
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)  # noqa: SLF001  as Ansible's own actions do
        if "facts" in answer and not answer.get("failed"):
            found = {"facts": answer["facts"]}
        else:
            found = {"trouble": answer.get("trouble") or _told(answer)}
        result |= {"changed": False, "sent": sent, "received": time.time(), **found}
        return result


def _told(answer: dict[str, Any]) -> dict[str, str]:
    """Of a module that did not come to its end; what its interpreter says last tells more than Ansible does."""
    last = str(answer.get("module_stderr") or "").strip().rpartition("\n")[2]
    told = ": ".join(text for text in (str(answer.get("msg") or "the module gave no answer"), last) if text)
    return _trouble("reach" if answer.get("unreachable") else _kind(told), told)


def _kind(message: str) -> str:
    if _BECOME.search(message):
        return "become"
    return "python" if _PYTHON.search(message) else "module"


def _trouble(kind: str, message: str) -> dict[str, str]:
    return {"kind": kind, "message": " ".join(message.split())[:_LONGEST]}
