"""Admission webhooks that intercept what is still to be created for the job, and that cannot answer.

Rules: apiserver/pkg/admission/plugin/webhook of Kubernetes, v1.22 to v1.37 (rules, selectors, failurePolicy).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.experiment.stage import PODGROUP
from kubeflow_volcano.validators.explain.kinds import JOBSETS
from kubeflow_volcano.validators.explain.model import GROUP_NAME, VOLCANO, Finding, Role, Situation, finding
from kubeflow_volcano.validators.subjects import webhooks

JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
_PLURALS = {"JobSet": "jobsets", "Pod": "pods", "PodGroup": "podgroups"}


def failing_webhooks(situation: Situation, kind: str) -> Iterator[Finding]:
    """Webhooks that the API server calls before it creates a `kind` for the job, and that cannot answer."""
    missing = [item for item in to_create(situation) if item["kind"] == kind]
    grouped: dict[webhooks.Fault, list[Webhook]] = {}
    for hook in intercepting(situation, missing):
        if found := webhooks.fault(hook.text, situation.facts, hook.owner):
            grouped.setdefault(found, []).append(hook)
    for found, hooks in grouped.items():
        names = ", ".join(dict.fromkeys(hook.name for hook in hooks))
        conditional = all(hook.text.get("matchConditions") for hook in hooks)
        service = webhooks.service_of(hooks[0].text)
        yield finding(
            "WebhookUnanswered",
            f"each {kind} of the job is sent{' (unless its matchConditions exclude it)' if conditional else ''} to "
            f"webhook {names}, which {found.wrong}: no {kind} is created until the webhook answers.",
            needed=f"an answer from every webhook with failurePolicy Fail that intercepts a {kind} of the job.",
            todo=found.todo,
            objects=list(dict.fromkeys(hook.owner for hook in hooks)),
            commands=[f"kubectl -n {service.namespace} get pods,endpoints" for service in [service] if service],
            changes=found.changes,
        )


def intercepting(situation: Situation, objects: Iterable[Object]) -> tuple[Webhook, ...]:
    """Webhooks with failurePolicy Fail that intercept the creation of at least one of these objects."""
    objects = list(objects)
    name = situation.job.ref.namespace
    space = labelled_namespace(situation.facts.get("namespaces", "", name), name)
    return tuple(
        hook
        for hook in configured(situation)
        if hook.text.get("failurePolicy", "Fail") == "Fail"
        and any(hook.intercepts(item, space, _PLURALS[item["kind"]]) for item in objects)
    )


def webhook_named(situation: Situation, name: str) -> Webhook | None:
    """The webhook of that name; None where no configuration has it."""
    return next((hook for hook in configured(situation) if hook.name == name), None)


def configured(situation: Situation) -> Iterator[Webhook]:
    """Every webhook of the cluster."""
    return entries(item for resource in webhooks.RESOURCES.values() for item in situation.facts.all(resource))


def to_create(situation: Situation) -> tuple[Object, ...]:
    """What does not exist yet, with what webhooks select by: one pod of each role, the PodGroup, the JobSet."""
    job, objects = situation.job, []
    if situation.missing > 0:
        metas = [role.template.get("metadata") or {} for role in job.roles] or [{}]
        objects += [
            _object("v1", "Pod", situation, _pod_labels(situation) | (meta.get("labels") or {})) for meta in metas
        ]
    if situation.group is None:
        objects.append(_object(*PODGROUP, situation, {}))
    jobsets = situation.facts.objects.get(JOBSETS, ())
    if job.family == "trainer.kubeflow.org" and all(item["metadata"]["name"] != job.ref.name for item in jobsets):
        objects.append(_object(*JOBSET, situation, {}))
    return tuple(objects)


def pod_of(role: Role, situation: Situation) -> Object:
    """A pod of the role as its controller would create it, without the PodGroup's name.

    Volcano's webhook (1.8 to 1.11) refuses members of a PodGroup that is not admitted yet, whatever the pod is.
    """
    meta, ref = role.template.get("metadata") or {}, situation.job.ref
    annotations = {key: text for key, text in (meta.get("annotations") or {}).items() if key != GROUP_NAME}
    return new_object(
        "v1",
        "Pod",
        "kfv-dry-run",
        ref.namespace,
        meta={"labels": _pod_labels(situation) | (meta.get("labels") or {}), "annotations": annotations},
        spec={**({"schedulerName": VOLCANO} if situation.group else {}), **role.template["spec"]},
    )


def _pod_labels(situation: Situation) -> dict[str, str]:
    """Labels that controllers give to the pods of a kind of job, as far as webhooks select by them."""
    ref = situation.job.ref
    return {
        "kubeflow.org": {"training.kubeflow.org/job-name": ref.name},
        "trainer.kubeflow.org": {"jobset.sigs.k8s.io/jobset-name": ref.name},
        "batch.volcano.sh": {"volcano.sh/job-name": ref.name},
    }.get(situation.job.family, {})


def _object(api_version: str, kind: str, situation: Situation, labels: dict[str, str]) -> Object:
    return new_object(api_version, kind, situation.job.ref.name, situation.job.ref.namespace, meta={"labels": labels})
