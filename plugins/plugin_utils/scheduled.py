"""The settings with the objects of a validation on a schedule: the room of checks has them, the roll-out sends them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.rollout.images.rename.rules import renamed
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.settings.validation.schedule import PART
from kubeflow_volcano.validators.cli import scheduled
from kubeflow_volcano.validators.run.options import Options

__all__ = ["with_schedule"]


def with_schedule(settings: Settings) -> Settings:
    """The settings, with the CronJob, its account and its rights where the inventory has a schedule.

    Raises:
        InvalidInput: what is selected or expected contradicts itself.
    """
    chosen = settings.scheduled
    if not chosen.schedule:
        return settings
    options = Options(
        release=settings.release.version,
        profile=tuple(item.name for item in settings.components),
        storage_mode=settings.storage.mode,
        user_email=settings.user.email,
        user_namespace=settings.user.namespace,
        published_password=settings.user.published_password,
        volcano_version=settings.volcano.version,
        scheduler_plugins_version=settings.scheduler_plugins.version,
        local_path_version=settings.local_path.version,
        gang_scheduler=settings.gang_scheduler,
        existing=settings.existing,
        extra_plugins=settings.scheduling.extra_plugins,
        select=chosen.select,
        waive=chosen.waivers,
        strict=chosen.strict,
        language=chosen.language,
        read_only=not chosen.probes,
        probe_namespace=chosen.probe_namespace if chosen.probes else "",
        pause_image=renamed(PAUSE, settings.mirror),
        busybox_image=renamed(BUSYBOX, settings.mirror),
        # Its own runs that failed are no finding of the next one.
        ignore_namespaces=(scheduled.NAMESPACE,),
        report_dir=Path("/reports"),
    )
    return replace(settings, added={PART: scheduled.objects(options, chosen.schedule, chosen.image)})
