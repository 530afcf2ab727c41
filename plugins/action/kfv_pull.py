"""kfv_pull: pulls the images that a node lacks, in step with the other nodes. Documented in plugins/modules."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.hosts.pulling.ledger import Ledger
    from kubeflow_volcano.hosts.pulling.node import pull_images
    from kubeflow_volcano.hosts.pulling.plan import Todo
    from kubeflow_volcano.hosts.pulling.table import progress_of
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "work": {"type": "dict", "required": True},
    "ledger": {"type": "str", "required": True},
    "parallel": {"type": "int", "required": True},
    "disk_percent": {"type": "int", "required": True},
    "timeout_seconds": {"type": "int", "required": True},
}
_TELL_SECONDS = 15.0
_BEAT_SECONDS = 1.0


class ActionModule(ActionBase):
    """Runs once for each node, and imports little; what the nodes must know of each other is in the ledger."""

    TRANSFERS_FILES = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what became of the images of this node. Failures are told by kfv_pull_table, once for all nodes."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        todo = Todo(**arguments["work"])
        if self._task.check_mode or not arguments["ledger"]:
            return result | {"changed": bool(todo.missing), "missing": list(todo.missing)}
        ledger = Ledger(Path(arguments["ledger"]))
        options = {name: arguments[name] for name in ("disk_percent", "timeout_seconds")}
        stop = threading.Event()
        teller = threading.Thread(target=_tell_on, args=(ledger, stop), daemon=True)
        teller.start()
        try:
            pulled = pull_images(
                todo,
                ledger,
                self._puller(options, task_vars or {}),
                parallel=arguments["parallel"],
                disk_percent=arguments["disk_percent"],
            )
        finally:
            stop.set()
            teller.join()
        return result | {"changed": pulled.changed, "pulled": pulled.pulled}

    def _puller(
        self, options: Mapping[str, Any], task_vars: Mapping[str, Any]
    ) -> Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]:
        """Pulls by the module kfv_pull_host on the node."""

        def pull(names: Sequence[str]) -> Iterable[Mapping[str, Any]]:
            done: dict[str, Any] = self._execute_module(
                module_name="kfv_pull_host", module_args={**options, "names": list(names)}, task_vars=task_vars
            )
            why = done.get("unusable") or (done.get("msg", "the module failed") if done.get("failed") else "")
            if why:
                return [{"name": name, "state": "failed", "error": str(why), "seconds": 0.0} for name in names]
            pulls: list[Mapping[str, Any]] = done["pulls"]
            return pulls

        return pull


def _tell_on(ledger: Ledger, stop: threading.Event) -> None:
    """Tell how far all nodes are, where no other node's process has just done so."""
    while not stop.wait(_BEAT_SECONDS):
        if state := ledger.to_tell(_TELL_SECONDS):
            Display().display(f"  {progress_of(state)}")
