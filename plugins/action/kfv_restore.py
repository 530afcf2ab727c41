"""kfv_restore: the objects of a backup come back. Documented in plugins/modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, show, warn
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.experiment.interruption import interruptible
from kubeflow_volcano.rollout.backup import files
from kubeflow_volcano.rollout.backup.admitted import Platform
from kubeflow_volcano.rollout.backup.choice import Choice
from kubeflow_volcano.rollout.backup.restore import restore


class ActionModule(Action):
    """Restore a backup."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Report what became of each object; failed if one was refused."""
        settings = self.settings_with_secrets(arguments["settings"])
        backup = files.read(Path(arguments["directory"]).expanduser(), accept_changed=arguments["accept_changed"])
        choice = Choice(tuple(arguments["kinds"]), tuple(arguments["exclude"]), arguments["allow_rights"])
        cluster = Cluster.connect(settings.kubeconfig, settings.context)
        with interruptible():  # releases the lock
            done = restore(
                cluster,
                backup,
                Platform.of(settings.known_components, settings.volcano_namespace),
                choice,
                check=self.check_mode,
                progress=show,
            )
        for warning in done.warnings:
            warn(warning)
        show(done.summary())
        return done.as_dict() | ({"diff": done.diff()} if self._task.diff else {})
