"""The validation that the cluster runs by itself: `validation_schedule`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from kubeflow_volcano.decode import Key
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.pods.credentials import RegistryLogin

PART = "validation"
"""The name under which roll-outs record the CronJob with its rights, beside the components."""


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """When the cluster validates itself, with which image, and how. Without a `schedule` it does not."""

    schedule: Annotated[str, Key("validation_schedule")]
    image: Annotated[str, Key("validation_schedule_image")]
    probes: Annotated[bool, Key("validation_schedule_probes")]
    select: Annotated[tuple[str, ...], Key("validation_select")]
    waivers: Annotated[Mapping[str, str], Key("validation_waivers")]
    strict: Annotated[bool, Key("validation_strict")]
    language: Annotated[str, Key("validation_language")]
    probe_namespace: Annotated[str, Key("validation_probe_namespace")]


def validate_schedule(settings: ScheduleSettings, logins: Iterable[RegistryLogin]) -> Iterator[Problem]:
    """A schedule without an image, and probes whose pods would need a login that only the playbook has."""
    if not settings.schedule:
        return
    if not settings.image:
        yield Problem(
            "validation_schedule without validation_schedule_image.",
            "an image with this project's wheel, in a registry of yours: none is published.",
            "build it (docs/monitoring.md, Validate on a schedule), and name it; or remove validation_schedule.",
        )
    if settings.probes and any(logins):
        yield Problem(
            "validation_schedule_probes: true with image_mirror_credentials.",
            "images of probes that can be pulled without a sign-in: the scheduled run may not read the logins.",
            "set validation_schedule_probes: false, and run playbooks/validate.yml for the probes.",
        )
