"""Facts that are more than a list of objects: each is fetched only for the checks that ask for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from kubeflow_volcano.catalog.operator import version_of_image
from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import assess_pod
from validators import crds, webhooks
from validators.facts import Facts, PodNotes
from validators.operator_flags import container_of
from validators.operators import OPERATORS, Operator, podgroups_since
from validators.permissions import allowed
from validators.pods import waits_for_gang, workload_of
from validators.sign_in import sign_in
from validators.simulation import simulated_webhooks
from validators.troubles import judged

__all__ = ["EXTRAS", "Extra"]

_READYZ_TRIES = 3
_DRY_RUNS = 3
_DRY_RUN_SECONDS = 5.0
_NOTED_PODS = 20
_LOG_LINES = 40


@dataclass(frozen=True, slots=True)
class Extra:
    """One further fact: the field of Facts, the checks that read it, how it is fetched, and its key in `unread`.

    Without checks it stands in every report.
    """

    field: str
    checks: frozenset[str]
    fetch: Callable[[Cluster, Facts], Any]
    key: str = ""
    """Empty where the fact only enriches messages."""
    changes_nothing: bool = True
    """False for a dry run: it is left out of a read-only validation."""


def ready_answers(cluster: Cluster, _facts: Facts) -> tuple[str, ...]:
    """Three answers of /readyz; the body of a refusal names what is not ready."""
    return tuple(_readyz(cluster) for _ in range(_READYZ_TRIES))


def _readyz(cluster: Cluster) -> str:
    try:
        with cluster.stream("/readyz", {}, Deadline(5)) as response:
            return response.read(1000).decode("utf-8", "replace").strip()
    except ApiError as error:
        if error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}:
            raise
        return str(error)


def discovery(cluster: Cluster, facts: Facts) -> Mapping[str, frozenset[str]]:
    """Plurals by apiVersion, of every version that an expected CRD says it serves."""
    versions = {
        f"{crd['spec']['group']}/{version['name']}"
        for crd in facts.all(crds.RESOURCE)
        if crd["metadata"]["name"] in facts.expectations.crds
        for version in crd["spec"]["versions"]
        if version.get("served")
    }
    return {version: _plurals(cluster, version) for version in sorted(versions)}


def _plurals(cluster: Cluster, version: str) -> frozenset[str]:
    try:
        answer = cluster.request("GET", f"/apis/{version}")
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return frozenset()
        raise
    return frozenset(item["name"] for item in answer["resources"])


def certificates(cluster: Cluster, facts: Facts) -> Mapping[Ref, bytes]:
    """Public certificates that webhook backends serve with, from the Secrets that their pods mount. No key is kept."""
    simulated = {ref for item in facts.simulated_webhooks for ref in item.services}
    services = {
        ref
        for item in webhooks.configurations(facts)
        for entry in item.get("webhooks") or ()
        if (ref := webhooks.service_of(entry)) and ref not in simulated
    }
    found = {ref: _certificate(cluster, facts, ref) for ref in sorted(services)}
    return {ref: pem for ref, pem in found.items() if pem}


def _certificate(cluster: Cluster, facts: Facts, ref: Ref) -> bytes:
    service = facts.get("services", ref.namespace, ref.name)
    selector = ((service or {}).get("spec", {}).get("selector") or {}).items()
    names = {
        volume["secret"]["secretName"]
        for pod in facts.all("pods")
        if selector
        and pod["metadata"]["namespace"] == ref.namespace
        and selector <= (pod["metadata"].get("labels") or {}).items()
        for volume in pod["spec"].get("volumes") or ()
        if "secret" in volume
    }
    for name in sorted(names):
        secret = cluster.get(Ref("v1", "Secret", ref.namespace, name)) or {}
        if pem := webhooks.decoded((secret.get("data") or {}).get("tls.crt", "")):
            return pem
    return b""


def operator_access(cluster: Cluster, facts: Facts) -> Mapping[str, Mapping[str, bool]]:
    """What each operator's service account may do, of all that it needs."""
    answers: dict[str, Mapping[str, bool]] = {}
    for name, operator in _installed(facts).items():
        kinds = (kind.partition(".") for kind in operator.kinds(facts))
        plurals = [plural for plural, _, group in kinds if group == operator.job_group]
        rules = operator.rules(plurals, _version(operator, facts))
        found = allowed(cluster, rules, user=operator.service_account(facts))
        answers[name] = {str(rule): answer for rule, answer in found.items()}
    return answers


def _installed(facts: Facts) -> Mapping[str, Operator]:
    return {
        name: item
        for name, item in OPERATORS.items()
        if item.ref in facts.expectations.workloads and facts.get("deployments.apps", item.ref.namespace, item.ref.name)
    }


def _version(operator: Operator, facts: Facts) -> str:
    image: str = container_of(operator.deployment(facts))["image"]
    return version_of_image(image) or facts.expectations.operator_version


def operator_log(cluster: Cluster, facts: Facts) -> Mapping[str, str]:
    """Logs of operators that started before the PodGroup CRD was there."""
    since = podgroups_since(facts)
    logs: dict[str, str] = {}
    for name, operator in _installed(facts).items():
        started = operator.started(facts)
        if started is None or (since is not None and started > since):
            continue
        pods = [Ref.of(pod).name for pod in facts.all("pods") if workload_of(pod) == operator.ref]
        texts = (cluster.logs(operator.ref.namespace, pod, operator.container, tail=2000) for pod in pods)
        logs[name] = "\n".join(texts)
    return logs


def operator_admission(cluster: Cluster, facts: Facts) -> Mapping[str, str]:
    """Answers to dry-run creates of a job: '' where the webhook answered, whatever it said, else the trouble."""
    meta = {"name": "kfv-dry-run", "namespace": facts.probe_namespace or "default"}
    jobs = [job for operator in _installed(facts).values() for job in operator.dry_runs]
    return {job["kind"]: _answer(cluster, {**job, "metadata": meta}) for job in jobs}


def _answer(cluster: Cluster, job: Object) -> str:
    for _ in range(_DRY_RUNS):
        try:
            path = cluster.resource(job["apiVersion"], job["kind"]).path(job["metadata"]["namespace"])
            cluster.request("POST", path, query={"dryRun": "All"}, body=job, deadline=Deadline(_DRY_RUN_SECONDS))
        except ApiError as error:
            if error.status == HTTPStatus.FORBIDDEN and "denied the request" not in error.message:
                raise
            if error.status not in {HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY}:
                return str(error)
    return ""


def pod_notes(cluster: Cluster, facts: Facts) -> Mapping[str, PodNotes]:
    """Warning events of pods that are not well, and the end of the log of those that crashed or failed."""
    sick = [pod for pod in judged(facts, "pods") if not assess_pod(pod).ready and not waits_for_gang(pod)]
    return {pod["metadata"]["uid"]: _notes(cluster, pod) for pod in sick[:_NOTED_PODS]}


def _notes(cluster: Cluster, pod: Object) -> PodNotes:
    """What only enriches a message: an answer that does not come is left out."""
    meta = pod["metadata"]
    selector = f"involvedObject.uid={meta['uid']},type=Warning"
    events: tuple[Object, ...] = ()
    log = ""
    with contextlib.suppress(ApiError):
        events = cluster.list("v1", "Event", namespace=meta["namespace"], fields=selector).items
    with contextlib.suppress(ApiError):
        log = _log(cluster, pod)
    ordered = sorted(events, key=lambda item: item.get("lastTimestamp") or item.get("eventTime") or "")
    return PodNotes(tuple(dict.fromkeys(str(item.get("message", "")) for item in ordered)), log)


def _log(cluster: Cluster, pod: Object) -> str:
    """End of the log of the first container that crashed or failed; empty where none did."""
    meta, status = pod["metadata"], pod.get("status", {})
    for item in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        ended = item.get("state", {}).get("terminated") or {}
        previous = not ended and bool(item.get("restartCount"))
        if previous or ended.get("exitCode"):
            return cluster.logs(meta["namespace"], meta["name"], item["name"], previous=previous, tail=_LOG_LINES)
    return ""


_PODS = frozenset({"C2", "C3", "C4", "C5", "C6", "C7", "C8", "F1", "B3", "G4", "G10"})

EXTRAS = (
    Extra("simulated_webhooks", frozenset(), simulated_webhooks, "simulated-webhooks"),
    Extra("ready_answers", frozenset({"A1"}), ready_answers, "readyz"),
    Extra("discovery", frozenset({"B1", "F2", "G4", "G10"}), discovery, "discovery"),
    Extra("certificates", frozenset({"B3"}), certificates, "certificates"),
    Extra("operator_access", frozenset({"G2", "G8"}), operator_access, "operator-access"),
    Extra("operator_log", frozenset({"G3", "G9"}), operator_log, "operator-log"),
    Extra(
        "operator_admission", frozenset({"G4", "G10"}), operator_admission, "operator-admission", changes_nothing=False
    ),
    Extra("sign_in", frozenset({"E4", "E5", "E8"}), sign_in, "sign-in"),
    Extra("pod_notes", _PODS, pod_notes),
)
"""All of them, in the order in which they are fetched."""
