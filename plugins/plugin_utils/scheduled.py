"""The settings with the objects of a validation on a schedule: the room of checks has them, the roll-out sends them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.expected import expected_of
from kubeflow_volcano.catalog import data
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.settings.validation.schedule import PART
from kubeflow_volcano.validators.cli import scheduled


def with_schedule(settings: Settings) -> Settings:
    """The settings, with the CronJob, its account and its rights where the inventory has a schedule.

    The entries of the user go with it.

    Raises:
        InvalidInput: what is selected or expected contradicts itself, or the entries are too large.
    """
    chosen = settings.scheduled
    if not chosen.schedule:
        return settings
    options = replace(
        expected_of(settings),
        select=chosen.select,
        waive=chosen.waivers,
        strict=chosen.strict,
        language=chosen.language,
        read_only=not chosen.probes,
        probe_namespace=chosen.probe_namespace if chosen.probes else "",
        # Its own runs that failed are no finding of the next one.
        ignore_namespaces=(scheduled.NAMESPACE,),
        report_dir=Path("/reports"),
    )
    return replace(settings, added={PART: scheduled.objects(options, chosen.schedule, chosen.image, data.own_texts())})
