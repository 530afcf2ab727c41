"""Webhooks that see what is still to be made for the job, and that cannot answer, whether an event says so or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.stage import PODGROUP
from validators.explain.kinds import JOBSETS
from validators.explain.model import Finding, Situation, finding
from validators.subjects import webhooks

__all__ = ["JOBSET", "called", "hook_of", "still_to_make", "unanswered"]

JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")


def unanswered(situation: Situation, kind: str) -> Iterator[Finding]:
    """Webhooks that are asked before an object of `kind` is created for the job, and cannot answer."""
    made = [item for item in still_to_make(situation) if item["kind"] == kind]
    grouped: dict[webhooks.Fault, list[Webhook]] = {}
    for hook in called(situation, made):
        if found := webhooks.fault(hook.text, situation.facts):
            grouped.setdefault(found, []).append(hook)
    for found, hooks in grouped.items():
        names = ", ".join(dict.fromkeys(hook.name for hook in hooks))
        guarded = all(hook.text.get("matchConditions") for hook in hooks)
        service = webhooks.service_of(hooks[0].text)
        yield finding(
            "WebhookUnanswered",
            f"each {kind} of the job is sent{' (unless its matchConditions pass it by)' if guarded else ''} to webhook "
            f"{names}, which {found.wrong}: none is created before it answers.",
            needed=f"an answer from every webhook with failurePolicy Fail that sees a {kind} of the job.",
            todo=found.todo,
            objects=list(dict.fromkeys(hook.owner for hook in hooks)),
            commands=[f"kubectl -n {service.namespace} get pods,endpoints" for service in [service] if service],
        )


def called(situation: Situation, made: Iterable[Object]) -> tuple[Webhook, ...]:
    """Webhooks without whose answer one of these objects is refused."""
    made = list(made)
    configurations = [item for resource in webhooks.RESOURCES.values() for item in situation.facts.all(resource)]
    name = situation.job.ref.namespace
    space = labelled_namespace(situation.facts.get("namespaces", "", name), name)
    return tuple(
        hook
        for hook in entries(configurations)
        if hook.text.get("failurePolicy", "Fail") == "Fail" and any(hook.intercepts(item, space) for item in made)
    )


def hook_of(situation: Situation, name: str) -> Webhook | None:
    """The webhook of that name; None where it is in no configuration."""
    configurations = [item for resource in webhooks.RESOURCES.values() for item in situation.facts.all(resource)]
    return next((hook for hook in entries(configurations) if hook.name == name), None)


def still_to_make(situation: Situation) -> tuple[Object, ...]:
    """What does not exist yet, as far as webhooks tell objects apart: one pod of each role, PodGroup, JobSet."""
    job, found = situation.job, []
    if len(situation.pods) < max(job.wanted, situation.minimum):
        metas = [role.template.get("metadata") or {} for role in job.roles] or [{}]
        found += [_made("v1", "Pod", situation, _known_by(situation) | (meta.get("labels") or {})) for meta in metas]
    if situation.group is None:
        found.append(_made(*PODGROUP, situation, {}))
    jobset = situation.facts.objects.get(JOBSETS, ())
    if job.ref.group == "trainer.kubeflow.org" and all(item["metadata"]["name"] != job.ref.name for item in jobset):
        found.append(_made(*JOBSET, situation, {}))
    return tuple(found)


def _known_by(situation: Situation) -> dict[str, str]:
    """Labels by which webhooks know the pods of a kind of job."""
    ref = situation.job.ref
    return {
        "kubeflow.org": {"training.kubeflow.org/job-name": ref.name},
        "trainer.kubeflow.org": {"jobset.sigs.k8s.io/jobset-name": ref.name},
        "batch.volcano.sh": {"volcano.sh/job-name": ref.name},
    }.get(ref.group, {})


def _made(api_version: str, kind: str, situation: Situation, labels: dict[str, str]) -> Object:
    meta = {"name": situation.job.ref.name, "namespace": situation.job.ref.namespace, "labels": labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}
