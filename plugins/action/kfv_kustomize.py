"""kfv_kustomize: the release's kustomize on the machine that runs Ansible. The step of the role kustomize."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, show
from kubeflow_volcano.rollout.manifests.kustomize_binary import provide


class ActionModule(Action):
    """Find or download the program."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Path and version of the program; fails with every reason why there is none."""
        settings = self.settings_with_secrets(arguments["settings"])
        provided = provide(settings, show)
        return {"changed": provided.changed, "path": str(provided.path), "version": provided.version}
