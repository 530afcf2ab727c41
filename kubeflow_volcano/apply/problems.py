"""Problems of a run: what was refused or did not become ready, and what a person can do about it."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from http import HTTPStatus

import yaml

from kubeflow_volcano.apply.fields.ceded import ATOMIC, as_text, find_pointer
from kubeflow_volcano.apply.replace import describe_way_out, is_immutable_error
from kubeflow_volcano.apply.result import ObjectOutcome
from kubeflow_volcano.cluster.admission.denials import WEBHOOKS, denier, look_at
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS, Readiness
from kubeflow_volcano.cluster.stored_versions import lost_version, way_back
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem

CONFLICT, CONFLICTING_FIELDS = "Conflict", "ConflictingFields"
"""Reasons: another manager owns fields of an object. Details of the second: the `fields`, which may be left to it."""

NOT_ALONE = "NotAlone"
"""Reason: a field that was to be left to others is part of one that has a single owner."""

# How the API server words refusals (apiserver, admission/plugin/webhook/errors and pkg/endpoints/handlers/
# responsewriters; plugin/pkg/admission/namespace/lifecycle).
_ADVICE = tuple(
    (re.compile(pattern), words)
    for pattern, words in {
        r'failed calling webhook "([^"]+)"': (
            f"start the backend of that webhook, or delete its configuration if nothing serves it any more ({WEBHOOKS})"
        ),
        r'User "([^"]+)" cannot ': (
            "grant the rights "
            "(kubectl create clusterrolebinding kubeflow-volcano --clusterrole=cluster-admin --user={})"
        ),
        r"in namespace (\S+) because it is being terminated": (
            "wait until the namespace is gone, and see what holds it "
            "(kubectl get namespace {} -o 'jsonpath={{.status.conditions[*].message}}')"
        ),
        r'namespaces "([^"]+)" not found': "create the namespace (kubectl create namespace {})",
        r"serves no kind (\S+) in ([^\s/]+)/\S+": "install the CRD of {} (kubectl api-resources --api-group={})",
    }.items()
)
_FIELD = re.compile(r"(?:: |^- )(\.\S.*)$", re.MULTILINE)


Explain = Callable[[Readiness], tuple[str, str]]
"""Cause and remedy, a sentence each, of an object that is not ready; both empty where they are not known."""


def unexplained(_answer: Readiness) -> tuple[str, str]:
    """Nothing is known of what a message means."""
    return "", ""


def not_ready(title: str, answer: Readiness, deadline: Deadline, explain: Explain = unexplained) -> Problem:
    """The problem of an object that did not become ready, with the cause that the cluster reports."""
    cause, remedy = explain(answer)
    if remedy:
        todo = f"{remedy} Then run again."
    elif answer.reason in BAD_IMAGE_REASONS:
        todo = "correct the image's name, mirror or pull secret so that nodes can pull it, and run again."
    elif answer.reason in {"CrashLoopBackOff", "OOMKilled", "Failed", "BackoffLimitExceeded"}:
        todo = "read the log of that container (kubectl logs --previous), remove the cause, and run again."
    else:
        todo = "remove the named cause (kubectl describe shows more), and run again."
    waited = f"{deadline.elapsed:.0f} s, at most {deadline.seconds:.0f} s since another object became ready"
    found = " ".join(filter(None, (answer.message, cause, f"Waited {waited}.")))
    return Problem(found, f"{title} to be ready.", todo)


def refusal(cluster: Cluster, error: ApiError) -> Problem:
    """The problem of a request that the API server refused or did not answer."""
    return Problem(
        f"the API server of {cluster.origin} answered: {error}.",
        "an API server that answers, and credentials with the rights that the roll-out needs.",
        "check that it runs and that the credentials have the rights of cluster-admin; then run again.",
    )


def problem_of(outcome: ObjectOutcome, declared: Object) -> Problem:
    """The problem of a failed outcome, with the next step."""
    ref, reason = outcome.ref, outcome.reason
    found = f"{ref} was refused: {reason}"
    if "conflict with" in reason or "conflicts with" in reason:
        patch = shlex.quote('{"metadata":{"managedFields":[{}]}}')
        fields = _fields(ref, reason, declared)
        return Problem(
            found,
            "declared fields that no other manager owns; they were left as they are.",
            "declare the value that the manager sets (equal values are shared), leave the fields to it, or take the "
            "object over. If that manager stopped writing, remove its ownership: "
            f"kubectl patch {ref.for_kubectl()} --type merge -p {patch}; then run again.",
            CONFLICTING_FIELDS if fields else CONFLICT,
            {"fields": fields},
        )
    if ATOMIC in reason:
        return Problem(
            found, "fields with owners of their own.", "leave the whole field to others; then run again.", NOT_ALONE
        )
    if is_immutable_error(ApiError(int(HTTPStatus.UNPROCESSABLE_ENTITY), "", reason)):
        return Problem(found, "an object whose immutable fields have the declared values.", describe_way_out(ref))
    return Problem(found, "an API server that accepts the object.", f"{_advice(ref, reason)}; then run again.")


def _advice(ref: Ref, reason: str) -> str:
    """What a person can do about a refusal, with the command where one exists."""
    if policy := denier(reason):
        return f"change the named {policy.kind} so that it admits the object ({look_at(policy)})"
    if version := lost_version(reason):
        return " && ".join(way_back(ref.name, version))
    for pattern, words in _ADVICE:
        if match := pattern.search(reason):
            return words.format(*map(shlex.quote, match.groups()))
    if reason.startswith("422 "):
        return (
            f"compare the named field with the live object, and correct one (kubectl get {ref.for_kubectl()} -o yaml)"
        )
    return "remove the cause that the message names"


def _fields(ref: Ref, reason: str, declared: Object) -> str:
    """The object and the pointers to the conflicting fields, as YAML on one line; empty if they cannot be named."""
    paths = [as_text(value) for path in _FIELD.findall(reason) if (value := find_pointer(declared, path))]
    if not paths:
        return ""
    namespace = {"namespace": ref.namespace} if ref.namespace else {}
    entry = {"kind": ref.kind, **namespace, "name": ref.name, "paths": paths}
    return str(yaml.safe_dump([entry], default_flow_style=True, sort_keys=False, width=sys.maxsize)).strip()
