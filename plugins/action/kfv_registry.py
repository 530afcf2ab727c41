"""kfv_registry: images of a roll-out are copied into a registry of one's own. Documented in plugins/modules."""

from __future__ import annotations

from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, failed, show, warn
from kubeflow_volcano.problems import InvalidInput, ProblemsError
from kubeflow_volcano.rollout.bundle.contents import IMAGES
from kubeflow_volcano.rollout.bundle.reading import Bundle
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.images.registry.access import authfile, authority, mirror_registry, own_registry
from kubeflow_volcano.rollout.images.registry.copying import Copying, CopyResult, problems, warnings
from kubeflow_volcano.rollout.images.registry.endpoints import Archive, End, RegistryEnd
from kubeflow_volcano.rollout.images.registry.plan import Copy, copies
from kubeflow_volcano.rollout.images.registry.rate import RateLimit, rate_limit_for
from kubeflow_volcano.rollout.images.registry.skopeo import Skopeo
from kubeflow_volcano.rollout.images.report.image_list import report
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import counted


class ActionModule(Action):
    """Find out which images the registry needs, and copy those that it lacks."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return what was copied; fail with everything that keeps the registry from being complete."""
        copied = _copy(self.settings_with_secrets(arguments["settings"]), check=self.check_mode)
        show(str(copied))
        for warning in warnings(copied):
            warn(warning)
        failures = tuple(problems(copied))
        result = {"changed": bool(copied.copied), **asdict(copied)}
        return result | (failed(ProblemsError(failures)) if failures else {})


def _copy(settings: Settings, *, check: bool) -> CopyResult:
    if not settings.registry.address:
        raise InvalidInput.problem(
            "image_mirror_registry is empty.",
            "the address of your own registry, such as registry.lan:5000.",
            "set image_mirror_registry, and image_mirror_mode to registry or containerd.",
        )
    with authfile(settings) as logins:
        skopeo = Skopeo.find(logins, settings.pull.timeout_seconds)
        images = report(desired(settings, settings.components, show).images, settings)
        wanted = copies(images, settings)
        source, target, rate = _ends(settings, wanted)
        most = settings.mirror.refusals
        copying = Copying(source, target, skopeo, rate=rate, most_refusals=most, progress=show, check=check)
        return copying.run(wanted)


def _ends(settings: Settings, wanted: tuple[Copy, ...]) -> tuple[End, End, RateLimit | None]:
    """Source and target of the copies, and the rate limit of the source; None for a directory."""
    registry = settings.registry
    rate = rate_limit_for((str(copy.source) for copy in wanted), settings.mirror.probe_per_minute)
    mirror = RegistryEnd(mirror_registry(settings, rate), attrgetter("source"))
    trusted = authority(registry.ca, settings.cache_directory) if registry.ca else None
    own = RegistryEnd(own_registry(settings), attrgetter("target"), trusted, insecure=registry.insecure)
    if registry.archive is None:
        return mirror, own, rate
    if registry.step == "export":
        return mirror, Archive(registry.archive), rate
    if loose := sum(not copy.image.digest for copy in wanted):
        show(
            f"{loose} of {counted(len(wanted), 'image')} by tag only in the manifests: these are what the directory has"
        )
    return _carried(settings, registry.archive), own, None


def _carried(settings: Settings, directory: Path) -> Archive:
    """The directory to import from; what is read of a bundle is verified before."""
    if settings.bundle.directory is None or directory != settings.bundle.directory / IMAGES:
        return Archive(directory)
    bundle = Bundle.open(settings.bundle.directory, show)
    return Archive(directory, lambda place: bundle.verify(place.relative_to(bundle.directory).as_posix()))
