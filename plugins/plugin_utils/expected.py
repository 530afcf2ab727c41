"""What an inventory's settings say about the cluster that a validation expects."""

from __future__ import annotations

from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.rollout.images.rename.rules import renamed
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.validators.run.options import Options


def expected_of(settings: Settings) -> Options:
    """Options with what is rolled out, and the names of the probes' images; all else is as by default."""
    return Options(
        release=settings.release.version,
        profile=tuple(item.name for item in settings.components),
        storage_mode=settings.storage.mode,
        user_email=settings.user.email,
        user_namespace=settings.user.namespace,
        published_password=settings.user.published_password,
        volcano_version=settings.volcano.version,
        scheduler_plugins_version=settings.scheduler_plugins.version,
        training_operator_version=settings.training_operator.version if settings.training_operator else "",
        local_path_version=settings.local_path.version,
        gang_scheduler=settings.gang_scheduler,
        existing=settings.existing,
        extra_plugins=settings.scheduling.extra_plugins,
        pause_image=renamed(PAUSE, settings.mirror),
        busybox_image=renamed(BUSYBOX, settings.mirror),
    )
