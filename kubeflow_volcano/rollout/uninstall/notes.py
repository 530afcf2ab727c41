"""What a person should know beside what goes and what stays."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kubeflow_volcano.apply.removing.wording import kubectl
from kubeflow_volcano.cluster import stored_versions
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.rollout.uninstall.plan import Plan, dangling_webhooks
from kubeflow_volcano.rollout.uninstall.survey import Survey
from kubeflow_volcano.text import counted, few


def notes_of(survey: Survey, plan: Plan, settings: Settings) -> Iterator[str]:
    """Webhooks of others that lose their Service, pods that lose their scheduler, components that would come back."""
    for ref, (namespace, name) in sorted(dangling_webhooks(survey, plan).items()):
        yield (
            f"note: {ref}, which no roll-out brought, asks Service {namespace}/{name}, which goes. If it is not "
            f"needed: kubectl delete {kubectl(ref)}"
        )
    for scheduler, pods in survey.pods.items():
        if pods:
            yield (
                f"note: {counted(len(pods), 'unfinished pod')} of scheduler {scheduler}, which goes: those that run go "
                f"on, pending ones stay so: {few(pods, 3)}"
            )
    declared = {part.name for part in settings.components}
    if back := sorted(declared & set(settings.uninstall.components)):
        yield (
            f"note: the inventory still declares {few(back, 20)}; the next roll-out brings it back, unless "
            f"kubeflow_exclude has it."
        )


def lost_conversion(cluster: Cluster, crd: Ref, going: Collection[Stale]) -> str:
    """What follows for the objects of a CRD that stays, if the Service that converts them goes; empty if it does not.

    Raises:
        ApiError: the CRD cannot be read.
    """
    spec = (cluster.get(crd) or {}).get("spec") or {}
    client = ((spec.get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    service = client.get("service") or {}
    place = Ref("v1", "Service", service.get("namespace", ""), service.get("name", ""))
    if place not in {item.ref for item in going}:
        return ""
    stored = next((item["name"] for item in spec["versions"] if item.get("storage")), "")
    return f"; {place}, which converts them, goes: from then on only version {stored} of them can be read"


def unread(plural: str, why: str) -> Problem:
    """A kind that cannot be listed."""
    return stored_versions.problem(plural, why) or Problem(
        f"{plural} could not be listed: {why}.",
        "an answer to which of them are ours.",
        f"remove the cause until kubectl get {plural} -A answers, and run again.",
    )
