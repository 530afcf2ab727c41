"""kfv_images: the new names of images, and whether the mirror has them. Documented in plugins/modules."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, display, show, warn
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.images.registry.probe import ask_mirror
from kubeflow_volcano.rollout.images.report import table
from kubeflow_volcano.rollout.images.report.image_list import report


class ActionModule(Action):
    """Rename, in memory, the images of all chosen components."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Show what each rule does; fail with every rule that cannot be followed and every image that is missing."""
        settings = self.settings_with_secrets(arguments["settings"])
        images = report(desired(settings, settings.components, show).images, settings)
        rows = table.rows(settings.mirror, images.entries)
        display(table.render(rows))
        for warning in images.warnings:
            warn(warning)
        if images.problems and arguments["probe"]:
            raise InvalidInput(images.problems)
        requests = 0
        if settings.mirror.probe and arguments["probe"]:
            asked = ask_mirror(images, settings, show)
            requests = asked.requests
            if problems := tuple(asked.problems()):
                raise InvalidInput(problems)
        return {
            "rules": [asdict(row) for row in rows],
            "images": len(images.entries),
            "requests": requests,
            "registries": images.registries,
        }
