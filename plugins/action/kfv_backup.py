"""kfv_backup: what no inventory declares is saved to files. Documented in plugins/modules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, show
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rollout.backup import files
from kubeflow_volcano.rollout.backup.collect import collect, incomplete
from kubeflow_volcano.text import counted, few

_MOST_SHOWN = 8


class ActionModule(Action):
    """Save a backup."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Write the backup; say what is in it and what is not."""
        settings = self.settings_with_secrets(arguments["settings"])
        backup = collect(Cluster.connect(settings.kubeconfig, settings.context), show)
        origin = backup.origin
        kinds = dict(sorted(Counter(obj["kind"] for obj in backup.objects).items()))
        place = "" if self.check_mode else str(files.write(Path(arguments["directory"]).expanduser(), backup))
        saved = f"{counted(len(backup.objects), 'object')} of {counted(len(kinds), 'kind')}"
        lines = [f"{saved} in {place}" if place else f"{saved} would be saved"]
        lines += [f"left out: {counted(number, 'object')} {why}" for why, number in origin.left_out.items()]
        if origin.volumes:
            lines.append(
                f"not saved: the content of {counted(len(origin.volumes), 'claim')}: {few(origin.volumes, _MOST_SHOWN)}"
            )
        for line in lines:
            show(line)
        if lacks := incomplete(backup):
            show(f"this backup is not whole: it lacks {few(list(origin.unread), _MOST_SHOWN)}")
            raise ProblemsError(lacks)
        return {
            "changed": bool(place),
            "msg": "\n".join(lines),
            "directory": place,
            "objects": kinds,
            "volumes": list(origin.volumes),
        }
