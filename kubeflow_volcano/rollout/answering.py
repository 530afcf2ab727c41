"""Whether admission webhooks answer: a server-side dry run of an object that each intercepts.

An Available Deployment behind them is not enough (GoogleCloudPlatform/kubeflow-distribution#43).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.intercepts import Webhook, webhooks

__all__ = ["minimal", "wait_answering"]

_PAUSE_SECONDS = 1.0
_ONE_TRY_SECONDS = 2.0  # then it is told who is silent
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
_UNTRUSTED = "x509"
_PATIENCE_SECONDS = 30.0
"""How long a certificate may be untrusted: a backend writes its CA at its start or never."""
_NAME = "kubeflow-volcano-webhook-probe"
_DRY_RUN_SAFE = frozenset({"None", "NoneOnDryRun"})


def wait_answering(
    cluster: Cluster, configurations: Sequence[Ref], deadline: Deadline, progress: Progress
) -> tuple[Problem, ...]:
    """Wait until every webhook of these configurations answers; the problems name those that did not in time.

    Webhooks whose silence is ignored (failurePolicy), that refuse dry runs, or that see no creation of a kind with a
    known shape cannot be asked from outside; they count as answering.

    Raises:
        ApiError: the configurations may not be read.
    """
    namespaces = cluster.list("v1", "Namespace").items if configurations else ()
    problems = []
    for ref in configurations:
        live = cluster.get(ref, deadline=deadline)
        for hook in webhooks([live] if live else []):
            probe = _probe(cluster, hook, namespaces)
            silence = _wait(cluster, hook, probe, deadline, progress) if probe else ""
            if silence:
                problems.append(_silent(hook, silence, deadline))
    return tuple(problems)


def _wait(cluster: Cluster, hook: Webhook, probe: Object, deadline: Deadline, progress: Progress) -> str:
    patience = Deadline(_PATIENCE_SECONDS)
    told = False
    while True:
        silence = _silence(cluster, probe)
        if not silence or deadline.passed or (_UNTRUSTED in silence and patience.passed):
            return silence
        if not told:
            progress(f"waiting for the webhook {hook.name} to answer: {silence}")
            told = True
        time.sleep(_PAUSE_SECONDS)


def _silence(cluster: Cluster, probe: Object) -> str:
    """Why the webhook does not answer; empty when it does, be it by a refusal."""
    try:
        cluster.create(probe, dry_run=True, deadline=Deadline(_ONE_TRY_SECONDS))
    except ApiError as error:
        return error.message if error.webhook_unanswered or error.status == 0 else ""
    return ""


def _probe(cluster: Cluster, hook: Webhook, namespaces: Sequence[Object]) -> Object | None:
    """An object whose creation the webhook sees, as small as its schema allows."""
    text = hook.text
    if text.get("failurePolicy", "Fail") != "Fail" or text.get("sideEffects") not in _DRY_RUN_SAFE:
        return None
    watched = sorted(item["metadata"]["name"] for item in namespaces if hook.watches(item))
    if text.get("objectSelector", {}) not in ({}, None) or not watched:
        return None
    namespace = "default" if "default" in watched else watched[0]
    for rule in text.get("rules") or ():
        if not {"*", "CREATE"} & set(rule["operations"]):
            continue
        for resource in rule["resources"]:
            if resource == "pods" and "" in rule["apiGroups"]:
                return _pod(namespace)
            for group in rule["apiGroups"]:
                crd = cluster.get(Ref(*_CRD, f"{resource}.{group}"))
                if crd:
                    return _custom(crd, rule["apiVersions"], namespace)
    return None


def _pod(namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _NAME, "namespace": namespace},
        "spec": {
            "containers": [
                {
                    "name": "probe",
                    "image": "none.invalid/never-pulled",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                }
            ]
        },
    }


def _custom(crd: Object, versions: Sequence[str], namespace: str) -> Object | None:
    spec = crd["spec"]
    for version in spec["versions"]:
        if version["served"] and {"*", version["name"]} & set(versions):
            schema = version.get("schema", {}).get("openAPIV3Schema", {})
            body = minimal(schema.get("properties", {}).get("spec", {}))
            meta = {"name": _NAME} | ({"namespace": namespace} if spec["scope"] == "Namespaced" else {})
            kind = spec["names"]["kind"]
            return {"apiVersion": f"{spec['group']}/{version['name']}", "kind": kind, "metadata": meta, "spec": body}
    return None


def minimal(schema: Mapping[str, Any]) -> Any:
    """The smallest value that a structural schema of a CRD admits, as far as types, enums and sizes tell."""
    if "default" in schema or schema.get("enum"):
        return schema.get("default", (schema.get("enum") or [None])[0])
    kind = "integer" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties") or {}
        return {name: minimal(properties.get(name, {})) for name in schema.get("required") or ()}
    if kind == "array":
        return [minimal(schema.get("items", {})) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "x" * max(1, schema.get("minLength", 1))
    return False if kind == "boolean" else max(1, schema.get("minimum", 1))


def _silent(hook: Webhook, silence: str, deadline: Deadline) -> Problem:
    namespace, service = hook.service or ("", "")
    behind = f"Service {namespace}/{service}" if service else "its URL"
    todo = f"look at the pods behind {behind} and their logs; then run again."
    if _UNTRUSTED in silence:
        todo = (
            f"its backend writes the caBundle of {hook.owner} at its start: restart it (kubectl rollout restart "
            f"deployment -n {namespace}, the one behind {service}), and run again."
        )
    return Problem(
        f"the webhook {hook.name} of {hook.owner} did not answer in {deadline.elapsed:.0f} s: {silence}",
        f"an answer from {behind}; until then the API server refuses what this webhook guards.",
        todo,
    )
