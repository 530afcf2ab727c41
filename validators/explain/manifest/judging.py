"""All rules over all manifests."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Judged, Judgement, Manifest, Rule
from kubeflow_volcano.validators.explain.manifest.rules import (
    admission,
    amounts,
    devices,
    elastic,
    experiments,
    fields,
    gangs,
    kueue,
    models,
    order,
    placeholders,
    pods,
    queues,
    references,
)
from kubeflow_volcano.validators.explain.manifest.templates import asks_for_gang

RULES: tuple[Rule, ...] = (
    # Does the API server take it?
    references.served,
    references.other_group,
    references.namespace,
    references.runtime,
    fields.scheduler_name,
    fields.unknown,
    fields.limits,
    references.service_names,
    admission.object_refused,
    # Is it a gang that can start?
    gangs.kube_batch_group,
    gangs.kube_batch_scheduler,
    gangs.scheduler_misspelt,
    gangs.old_labels,
    gangs.named_group,
    gangs.two_schedulers,
    gangs.roles,
    gangs.minimum,
    order.waits_for_itself,
    order.rolling_update,
    order.flows,
    queues.shares,
    experiments.parameters,
    experiments.counts,
    experiments.trials,
    models.predictors,
    elastic.workers,
    gangs.requests,
    references.queue,
    references.queue_unread,
    kueue.label_unread,
    kueue.one_by_one,
    kueue.queued_twice,
    kueue.local_queue,
    kueue.cluster_queue,
    references.priority_classes,
    references.priority_of_group,
    # Do its pods run, and end?
    pods.container_names,
    amounts.resources,
    admission.pod_refused,
    references.claims,
    devices.versions,
    devices.containers,
    devices.claims,
    devices.classes,
    devices.expressions,
    pods.images,
    pods.host_names,
    pods.sidecar,
)
"""In the order of the answer."""


def judge(manifests: Sequence[Manifest], facts: Facts, cluster: str = "") -> Judgement:
    """Apply every rule to every manifest. A rule whose facts could not be read is skipped and reported."""
    unread: dict[str, Unread] = {}
    judged = []
    for manifest in manifests:
        found: list[Flaw] = list(placeholders.placeholders(manifest, facts)) or list(fields.types(manifest, facts))
        if asks_for_gang(manifest.obj) and not manifest.is_known:
            unread.setdefault(manifest.kind, _not_judged(manifest))
        for rule in () if found else RULES:
            try:
                found += rule(manifest, facts)
            except CannotJudgeError as stop:
                why = stop.outcome
                unread.setdefault(why.message, Unread(why.reason, why.message, why.todo))
        judged.append(Judged(manifest, tuple(item for item in found if not _is_repeated(item, found))))
    return Judgement(tuple(judged), tuple(unread.values()), cluster)


def _not_judged(manifest: Manifest) -> Unread:
    return Unread(
        "NotJudged",
        f"{manifest.kind} {manifest.ref.name} names a gang scheduler, but no rule knows where a {manifest.kind} of "
        f"{manifest.ref.api_version} has its gang, queue, priorities and resources: that was not judged.",
        "read the documentation of its operator about gangs; `explain job` takes its PodGroup once it exists.",
    )


def _is_repeated(item: Flaw, others: Sequence[Flaw]) -> bool:
    """Whether everything that a dry run was refused for is found by rules, too, which know what to do about it."""
    parts = [part for part in item.refusal.split(";") if part.strip()]
    known = [other.words for other in others if other.words]
    return bool(parts) and all(any(all(word in part for word in words) for words in known) for part in parts)
