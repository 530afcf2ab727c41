"""kfv_upgrade: an upgrade is planned, then carried out, with a report on both. Documented in plugins/modules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, warn
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.scheduled import with_schedule
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.experiment.interruption import interruptible
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.images.registry.identities import with_identities
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.upgrade.document import finished, preview, require_idle, upgrade
from kubeflow_volcano.rollout.upgrade.report import summary, write
from kubeflow_volcano.rollout.way_in import way_in


class ActionModule(Action):
    """Plan the upgrade, or carry it out."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Without a plan make one; with it upgrade."""
        settings = with_identities(with_schedule(self.settings_with_secrets(arguments["settings"])), self.progress)
        settings = replace(settings, prune=settings.prune or arguments["prune"])
        cluster = Cluster.connect(settings.kubeconfig, settings.context)
        directory = Path(arguments["report_directory"]).expanduser()
        if arguments["plan"] is None:
            return self._planned(cluster, settings, directory, allowed=arguments["running_jobs"] == "allow")
        plan = arguments["plan"]
        with interruptible():  # releases the lock
            done = upgrade(cluster, settings, plan, progress=self.progress, texts=self._task.diff)
        document = finished(plan, done, arguments["backup"])
        reports = write(directory, document)
        for warning in done.warnings:
            warn(warning)
        self.progress(f"report: {reports['upgrade.html']}")
        answer, way = done.as_dict(), () if done.problems else way_in(cluster, settings)
        for line in way:
            self.progress(line)
        return answer | {"reports": reports, "way_in": [*way]} | ({"diff": done.diff()} if self._task.diff else {})

    def _planned(self, cluster: Cluster, settings: Settings, directory: Path, *, allowed: bool) -> dict[str, Any]:
        document = preview(cluster, settings, check=self.check_mode, progress=self.progress)
        reports = write(directory, document)
        self.progress(summary(document))
        self.progress(f"plan: {reports['upgrade.html']}")
        if document["problems"]:
            raise InvalidInput(Problem(**item) for item in document["problems"])
        require_idle(document, allowed=allowed)
        changes = any(item["action"] in {"created", "changed", "removed"} for item in document["changes"])
        return {
            "changed": self.check_mode and changes,
            "msg": summary(document),
            "plan": document,
            "reports": reports,
        }
