"""kfv_registry: fills a registry of one's own with the images of a roll-out. Documented in plugins/modules."""

from __future__ import annotations

import sys
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
    from kubeflow_volcano.rollout.desired import desired
    from kubeflow_volcano.rollout.images.registry.access import authority, mirror_registry, own_registry
    from kubeflow_volcano.rollout.images.registry.copying import Filled, Filling, problems, warnings
    from kubeflow_volcano.rollout.images.registry.endpoints import Archive, End, RegistryEnd
    from kubeflow_volcano.rollout.images.registry.pace import PerMinute
    from kubeflow_volcano.rollout.images.registry.plan import Copy, copies
    from kubeflow_volcano.rollout.images.registry.probe import pace_for
    from kubeflow_volcano.rollout.images.registry.skopeo import Skopeo
    from kubeflow_volcano.rollout.images.report.image_list import report
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {"settings": {"type": "dict", "required": True}}


class ActionModule(ActionBase):
    """Find out what the registry is to hold, and copy what it lacks."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was copied; fail with everything that keeps the registry from being whole."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            filled = _fill(parse(arguments["settings"]), check=self._task.check_mode)
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe()}
        Display().display(f"  {filled}")
        for warning in warnings(filled):
            Display().warning(str(warning))
        result |= {"changed": bool(filled.copied), **asdict(filled)}
        found = tuple(problems(filled))
        return result | ({"failed": True, "msg": ProblemsError(found).describe()} if found else {})


def _fill(settings: Settings, *, check: bool) -> Filled:
    if not settings.registry.address:
        raise InvalidInput(
            Problem(
                "image_mirror_registry is empty.",
                "the registry of your own that is to be filled, such as registry.lan:5000.",
                "set image_mirror_registry, and image_mirror_mode to registry or containerd.",
            )
        )
    skopeo = Skopeo.find(settings.registry.authfile, settings.pull.timeout_seconds)
    images = report(desired(settings, settings.components, _tell).images, settings)
    wanted = copies(images, settings)
    source, target, pace = _ends(settings, wanted)
    most = settings.mirror.refusals
    filling = Filling(source, target, skopeo, pace=pace, most_refusals=most, progress=_tell, check=check)
    return filling.fill(wanted)


def _ends(settings: Settings, wanted: tuple[Copy, ...]) -> tuple[End, End, PerMinute | None]:
    """Both ends of the copies, and the pace of the source, where that is not one's own."""
    registry = settings.registry
    pace = pace_for((str(copy.source) for copy in wanted), settings.mirror.probe_per_minute)
    mirror = RegistryEnd(mirror_registry(settings, pace), attrgetter("source"))
    asked = own_registry(settings)
    trusted = authority(registry.ca, settings.cache_directory) if registry.ca else None
    own = RegistryEnd(asked, attrgetter("target"), trusted, insecure=registry.insecure)
    if registry.archive is None:
        return mirror, own, pace
    archive = Archive(registry.archive)
    return (mirror, archive, pace) if registry.step == "export" else (archive, own, None)


def _tell(line: str) -> None:
    Display().display(f"  {line}")
