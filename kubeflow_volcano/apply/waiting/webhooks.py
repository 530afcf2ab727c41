"""Whether admission webhooks answer: a server-side dry run of an object that each intercepts.

An Available Deployment as their backend is not enough (GoogleCloudPlatform/kubeflow-distribution#43).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from kubeflow_volcano.cluster.admission.minimal_objects import minimal_object
from kubeflow_volcano.cluster.admission.plurals import Plurals
from kubeflow_volcano.cluster.admission.webhooks import CA_FROM, Webhook, backends, labelled_namespace, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress

_PAUSE_SECONDS = 1.0
_ONE_TRY_SECONDS = 2.0  # then the webhook that does not answer is reported
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
_UNTRUSTED = "x509"
_PATIENCE_SECONDS = 30.0
"""How long a certificate may stay untrusted: a backend writes its CA at its start or never."""
_INJECTION_SECONDS = 180.0
"""The same where cert-manager writes it: the Certificate is issued first, and the backend reads it a moment later."""
_NAME = "kubeflow-volcano-webhook-probe"
_DRY_RUN_SAFE = frozenset({"None", "NoneOnDryRun"})


def wait_for_webhooks(
    cluster: Cluster,
    configurations: Sequence[Ref],
    deadline: Deadline,
    progress: Progress,
    candidates: Sequence[Object] = (),
) -> tuple[Problem, ...]:
    """Wait until every webhook of these configurations answers; the problems name those that did not in time.

    Each is called by a dry run of the first of `candidates` that it intercepts, otherwise of a minimal object that it
    intercepts. Webhooks with failurePolicy Ignore, webhooks that refuse dry runs, and webhooks that intercept no
    creation of a kind with a known schema cannot be called from outside; they count as answering.

    Raises:
        ApiError: the configurations may not be read.
    """
    namespaces = cluster.list("v1", "Namespace").items if configurations else ()
    silent: dict[str, Problem] = {}
    plurals = Plurals(candidates, cluster.known_kinds)
    for ref in configurations:
        live = cluster.get(ref, deadline=deadline)
        certificate = (live["metadata"].get("annotations") or {}).get(CA_FROM, "") if live else ""
        patience = _INJECTION_SECONDS if certificate else _PATIENCE_SECONDS
        for hook in webhooks([live] if live else []):
            probe = _probe(cluster, hook, namespaces, candidates, plurals)
            silence = _wait(cluster, probe, silent, deadline, progress, patience_seconds=patience) if probe else ""
            name = _named(silence) or hook.name
            if silence and name not in silent:
                silent[name] = _problem(cluster, hook, certificate, silence, deadline)
    return tuple(silent.values())


def _wait(
    cluster: Cluster,
    probe: Object,
    known: Collection[str],
    deadline: Deadline,
    progress: Progress,
    *,
    patience_seconds: float,
) -> str:
    """Why the webhook does not answer when waiting ends; each webhook is waited for once, by its first caller.

    `patience_seconds` is how long its certificate may stay untrusted.
    """
    patience = Deadline(patience_seconds)
    silence = reported = ""
    for _ in deadline.every(_PAUSE_SECONDS):
        silence = _silence(cluster, probe)
        if not silence or _named(silence) in known or (_UNTRUSTED in silence and patience.passed):
            break
        if silence != reported:
            progress(f"waiting for a webhook to answer: {silence}")
            reported = silence
    return silence


def _named(silence: str) -> str:
    """The webhook that the API server could not call, by the API server's message."""
    match = re.search(r'failed calling webhook "([^"]+)"', silence)
    return match[1] if match else ""


def _silence(cluster: Cluster, probe: Object) -> str:
    """Why the webhook does not answer; empty when it does, also when it denies."""
    one_try = Deadline(_ONE_TRY_SECONDS)
    ref = Ref.of(probe)
    custom = "." in ref.group and not ref.group.endswith(".k8s.io")
    try:
        # To a CRD that is younger than 2 s, a POST takes 2 s (apiextensions-apiserver, customresource_handler.go).
        if custom and not cluster.get(ref, deadline=one_try):
            cluster.apply(probe, manager=_NAME, dry_run=True, brief=True, deadline=one_try)
        else:
            cluster.create(probe, dry_run=True, deadline=one_try)
    except ApiError as error:
        return error.message if error.webhook_unanswered or error.status == 0 else ""
    return ""


def _probe(
    cluster: Cluster, hook: Webhook, namespaces: Sequence[Object], candidates: Sequence[Object], plurals: Plurals
) -> Object | None:
    """An object whose creation the webhook intercepts: a declared one, or the smallest that its schema allows."""
    if hook.text.get("failurePolicy", "Fail") != "Fail" or hook.text.get("sideEffects") not in _DRY_RUN_SAFE:
        return None
    by_name = {item["metadata"]["name"]: item for item in namespaces}
    for obj in candidates:
        name = obj["metadata"].get("namespace", "")
        namespace = labelled_namespace(by_name.get(name), name)
        if (not name or name in by_name) and hook.intercepts(obj, namespace, plurals.plural(obj)):
            return obj
    watched = sorted(name for name, item in by_name.items() if hook.matches_namespace(item))
    if hook.text.get("objectSelector", {}) not in ({}, None) or not watched:
        return None
    where = "default" if "default" in watched else watched[0]
    return minimal_object(hook, _NAME, where, {}, lambda name: cluster.get(Ref(*_CRD, name)))


def _problem(cluster: Cluster, hook: Webhook, certificate: str, silence: str, deadline: Deadline) -> Problem:
    """What to report; `certificate` is namespace and name of that of cert-manager whose CA should be trusted."""
    namespace, service = hook.service or ("", "")
    behind = f"Service {namespace}/{service}" if service else "its URL"
    todo = f"see the pods behind {behind} and their logs; then run again."
    if _UNTRUSTED in silence and certificate:
        where, _, name = certificate.partition("/")
        todo = (
            f"cert-manager writes the CA of Certificate {certificate} into {hook.owner}: "
            f"kubectl describe certificate -n {where} {name}, and see the log of cert-manager's cainjector; then run "
            "again."
        )
    elif _UNTRUSTED in silence and service:
        names = " ".join(f"deployment/{name}" for name in _behind(cluster, hook))
        todo = (
            f"its backend writes its CA into {hook.owner} at its start: "
            f"kubectl rollout restart -n {namespace} {names}; then run again."
        )
    return Problem(
        f"the webhook {_named(silence) or hook.name} did not answer in {deadline.elapsed:.0f} s: {silence}",
        f"an answer from {behind}; until then the API server refuses the objects that this webhook intercepts.",
        todo,
    )


def _behind(cluster: Cluster, hook: Webhook) -> list[str]:
    namespace, name = hook.service or ("", "")
    service = cluster.get(Ref("v1", "Service", namespace, name))
    deployments = cluster.list("apps/v1", "Deployment", namespace=namespace).items
    return [obj["metadata"]["name"] for obj in backends(hook, [service, *deployments] if service else [])]
