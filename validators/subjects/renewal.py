"""How the serving certificate of a webhook is renewed: that depends on what makes it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from kubeflow_volcano.cluster.admission.webhooks import CA_FROM
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import (
    CERTIFICATES,
    DEPLOYMENTS,
    JOBS,
    MUTATING_WEBHOOKS,
    SERVICES,
    VALIDATING_WEBHOOKS,
)
from kubeflow_volcano.validators.subjects.kubectl import restart

_CONFIGURATIONS = {item.kind: item for item in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)}
_INJECTED = (CA_FROM, f"{CA_FROM}-secret")
"""Annotations of configurations whose caBundle cert-manager's cainjector writes."""
_OF_ONE_RUN = ("controller-uid", "job-name")
"""Labels that the Job controller adds to the pods of one run, with or without its prefix."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, and the commands that do it."""

    todo: str
    changes: tuple[str, ...] = ()


def certificate(service: Ref, facts: Facts) -> Remedy:
    """How to get another serving certificate for the backend of a webhook, with its authority in the caBundle.

    A Certificate of cert-manager is issued again when its Secret is deleted. A Secret from a Job that is complete stays
    away when it is deleted: the Job must run again. Else the backend is taken to renew it at its start, as the training
    operator and Katib do (open-policy-agent/cert-controller, pkg/certgenerator of Katib).
    """
    backends = [*_backends(service, facts)]
    names = sorted({name for item in backends for name in _secrets(item)})
    if issued := [name for name in names if any(_is_from(item, service, name) for item in _certificates(facts))]:
        changes = tuple(f"kubectl -n {service.namespace} delete secret {name}" for name in issued)
        return Remedy("delete the Secret: cert-manager issues its Certificate again.", changes=changes)
    restarts = tuple(restart(Ref.of(item)) for item in backends)
    if jobs := [job for job in facts.objects.get(JOBS, ()) if _makes(job, service.namespace, names)]:
        refs = ", ".join(str(Ref.of(job)) for job in jobs)
        todo = f"run {refs} again, which makes the certificate, then restart the backend. Only deleted, the Secret "
        return Remedy(f"{todo}stays away.", changes=(*(command for job in jobs for command in _rerun(job)), *restarts))
    if restarts:
        return Remedy("restart the backend, which renews its certificate at its start.", changes=restarts)
    return Remedy(f"install the component of {service} again.")


def missing(secret: Ref, facts: Facts) -> Remedy:
    """How to get a Secret that pods mount and that does not exist, as far as Jobs and Certificates were read."""
    if jobs := [job for job in facts.objects.get(JOBS, ()) if _makes(job, secret.namespace, [secret.name])]:
        refs = ", ".join(str(Ref.of(job)) for job in jobs)
        changes = tuple(command for job in jobs for command in _rerun(job))
        return Remedy(f"run {refs} again, which makes Secret {secret.name}.", changes=changes)
    if any(_is_from(item, secret, secret.name) for item in _certificates(facts)):
        return Remedy(f"see why cert-manager does not issue the Certificate of Secret {secret.name} (B7).")
    return Remedy(f"create Secret {secret.name}, or install the component that it belongs to again.")


def authority(configuration: Ref, service: Ref, facts: Facts) -> Remedy:
    """How to get a caBundle into a webhook configuration that has none, or one that is not PEM."""
    live = facts.get(_CONFIGURATIONS[configuration.kind], "", configuration.name) or {"metadata": {}}
    annotations = live["metadata"].get("annotations") or {}
    if source := next((annotations[key] for key in _INJECTED if key in annotations), ""):
        return Remedy(f"see that {source} is issued (B7), and that cert-manager-cainjector runs, which writes it.")
    if restarts := tuple(restart(Ref.of(item)) for item in _backends(service, facts)):
        return Remedy("restart the backend, which writes it at its start.", changes=restarts)
    return Remedy(f"install the component of {service} again.")


def _backends(service: Ref, facts: Facts) -> Iterator[Object]:
    """Deployments whose pods the Service selects."""
    live = facts.get(SERVICES, service.namespace, service.name) or {}
    if selector := (live.get("spec", {}).get("selector") or {}).items():
        for item in facts.objects.get(DEPLOYMENTS, ()):
            labels = item["spec"]["template"]["metadata"].get("labels") or {}
            if item["metadata"]["namespace"] == service.namespace and selector <= labels.items():
                yield item


def _secrets(deployment: Object) -> Iterator[str]:
    for volume in deployment["spec"]["template"]["spec"].get("volumes") or ():
        if "secret" in volume:
            yield volume["secret"]["secretName"]


def _certificates(facts: Facts) -> tuple[Object, ...]:
    return facts.objects.get(CERTIFICATES, ())


def _is_from(item: Object, service: Ref, secret: str) -> bool:
    return (item["metadata"]["namespace"], item["spec"].get("secretName")) == (service.namespace, secret)


def _makes(job: Object, namespace: str, secrets: list[str]) -> bool:
    """Whether the Job names one of these Secrets among its arguments, as Volcano's gen-admission-secret.sh."""
    words = {
        word
        for container in job["spec"]["template"]["spec"]["containers"]
        for text in (*(container.get("command") or ()), *(container.get("args") or ()))
        for word in text.replace("=", " ").split()
    }
    return job["metadata"]["namespace"] == namespace and not words.isdisjoint(secrets)


def _rerun(job: Object) -> Iterator[str]:
    """Commands that run a Job once more. A Job's template is immutable, so it is replaced by one with the same.

    What a tool applied server-side is applied again in its name. Otherwise kubectl would own every field, and the next
    roll-out, also of another version, would neither know the Job as its own nor overwrite it.
    """
    meta, ref = job["metadata"], Ref.of(job)
    kubectl = f"kubectl -n {ref.namespace}"
    lines = ["apiVersion: batch/v1", "kind: Job", "metadata:", f"  name: {ref.name}"]
    lines += _labelled(meta, "  ")
    lines += ["spec:", "  backoffLimit: {.spec.backoffLimit}", "  template:"]
    labels = _labelled(job["spec"]["template"].get("metadata") or {}, "      ")
    lines += ["    metadata:", *labels] if labels else []
    template = '{"\\n"}'.join([*lines, "    spec: {.spec.template.spec}"])
    read = f"{kubectl} get job {ref.name} -o jsonpath={shlex.quote(template)}"
    if manager := _applier(job):
        # The Job is read whole before it is deleted, and not deleted if it was not read.
        apply = f"{kubectl} apply --server-side --field-manager={shlex.quote(manager)} -f -"
        yield f'job="$({read})" && {kubectl} delete job {ref.name} && printf "%s\\n" "$job" | {apply}'
    else:
        yield f"{read} | {kubectl} replace --force -f -"
    yield f"{kubectl} wait --for=condition=complete --timeout=120s job/{ref.name}"


def _applier(job: Object) -> str:
    """The field manager that applied the Job server-side; empty if there is none."""
    for entry in job["metadata"].get("managedFields") or ():
        if entry.get("operation") == "Apply" and not entry.get("subresource"):
            return str(entry.get("manager", ""))
    return ""


def _labelled(meta: Object, indent: str) -> list[str]:
    """Lines of YAML with the labels that do not belong to one run of a Job."""
    kept = {key: text for key, text in (meta.get("labels") or {}).items() if key.rpartition("/")[2] not in _OF_ONE_RUN}
    return [f"{indent}labels:", *(f'{indent}  {key}: "{text}"' for key, text in kept.items())] if kept else []
