"""kfv_rollout: everything that is chosen is rolled out as one graph. Documented in plugins/modules."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, warn
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.scheduled import with_schedule
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.experiment.interruption import interruptible
from kubeflow_volcano.rollout.images.registry.identities import with_identities
from kubeflow_volcano.rollout.run import roll_out
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.way_in import way_in


class ActionModule(Action):
    """Roll components out."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Report what became of each object; failed if one was refused or did not become ready."""
        settings = with_schedule(self.settings_with_secrets(arguments["settings"]))
        if "local_path" in arguments["roles"] and settings.storage.mode != "existing":
            settings = with_identities(settings, self.progress)
        cluster = Cluster.connect(settings.kubeconfig, settings.context)
        with interruptible():  # releases the lock
            done = roll_out(
                cluster,
                settings,
                scope_of(settings, arguments["roles"]),
                check=self.check_mode,
                progress=self.progress,
                texts=self._task.diff,
            )
        for warning in done.warnings:
            warn(warning)
        answer = done.as_dict()
        ended = "kubeflow" in arguments["roles"] and not self.check_mode and not done.problems
        way = way_in(cluster, settings) if ended else ()
        for line in way:
            self.progress(line)
        return answer | {"way_in": [*way]} | ({"diff": done.diff()} if self._task.diff else {})
