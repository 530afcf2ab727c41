"""kfv_uninstall: what roll-outs brought is removed, or shown. Documented in plugins/modules."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, display, show
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.experiment.interruption import interruptible
from kubeflow_volcano.rollout.uninstall.legacy.run import remove_legacy
from kubeflow_volcano.rollout.uninstall.run import uninstall


class ActionModule(Action):
    """Uninstall components, or the whole."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Report what was removed and what stays; failed if an object was refused or is held."""
        settings = self.settings_with_secrets(arguments["settings"])
        with interruptible():  # releases the lock
            cluster = Cluster.connect(settings.kubeconfig, settings.context)
            if settings.uninstall.legacy:
                done = remove_legacy(cluster, settings.uninstall, check=self.check_mode, progress=show)
            else:
                done = uninstall(cluster, settings, check=self.check_mode, progress=show)
        account = done.as_dict()
        if not done.problems:
            display(f"\n{account['msg']}")
        return account | ({"diff": done.diff()} if self._task.diff else {})
