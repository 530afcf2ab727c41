"""What a person should know beside what goes and what stays."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.apply.removing.wording import kubectl
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.uninstall.plan import Plan, dangling_webhooks
from kubeflow_volcano.rollout.uninstall.survey import Survey
from kubeflow_volcano.text import few

__all__ = ["of", "unread"]


def of(survey: Survey, plan: Plan, settings: Settings) -> Iterator[str]:
    """Webhooks of others that lose their Service, and components that the next roll-out would bring back."""
    for ref, (namespace, name) in sorted(dangling_webhooks(survey, plan).items()):
        yield (
            f"note: {ref}, which no roll-out brought, asks Service {namespace}/{name}, which goes. If it is not "
            f"needed: kubectl delete {kubectl(ref)}"
        )
    declared = {part.name for part in settings.components}
    if back := sorted(declared & set(settings.uninstall.components)):
        yield (
            f"note: the inventory still declares {few(back, 20)}; the next roll-out brings it back, unless "
            f"kubeflow_exclude has it."
        )


def unread(plural: str, why: str) -> Problem:
    """A kind that cannot be listed."""
    return Problem(
        f"{plural} could not be listed: {why}.",
        "an answer to which of them are ours.",
        f"remove the cause until kubectl get {plural} -A answers, and run again.",
    )
