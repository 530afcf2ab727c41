"""How the API server takes in turn what Volcano's scheduler asks of it: the FlowSchema of others that holds it back.

Rules: of the FlowSchemas that match a request, that of the lowest matchingPrecedence counts, then by name; its priority
level has shares of the seats of the API server (apiserver, pkg/util/flowcontrol/apf_controller.go and rule.go).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS
from kubeflow_volcano.validators.core.rights import Rule

_GROUP = "flowcontrol.apiserver.k8s.io"
_API = f"{_GROUP}/v1"
_OWN = "apf.kubernetes.io/autoupdate-spec"
"""Annotation of what the API server itself makes."""
_ENOUGH = 5
"""Shares of the smallest of Kubernetes' own levels, catch-all."""
_BINDING: Mapping[str, str] = {"verbs": "create", "apiGroups": "", "resources": "pods/binding"}
"""The request with which a scheduler gives a pod its node."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A FlowSchema of others that takes the scheduler's bindings, and the few shares that its priority level has."""

    schema: Ref
    level: Ref
    shares: int


def _flow(cluster: Cluster, facts: Facts) -> Flow | None:
    place = facts.expectations.scheduler
    scheduler = facts.get(DEPLOYMENTS, place.namespace, place.name)
    if scheduler is None or facts.expectations.gang is not VOLCANO:
        return None
    account = scheduler["spec"]["template"]["spec"].get("serviceAccountName") or "default"
    matching = [
        item for item in cluster.list(_API, "FlowSchema").items if takes_bindings(item, place.namespace, account)
    ]
    first = min(matching, key=_precedence, default=None)
    if first is None or _OWN in (first["metadata"].get("annotations") or {}):
        return None
    level = Ref(_API, "PriorityLevelConfiguration", "", first["spec"]["priorityLevelConfiguration"]["name"])
    limited = ((cluster.get(level) or {}).get("spec") or {}).get("limited") or {}
    shares = limited.get("nominalConcurrencyShares", _ENOUGH)
    return Flow(Ref.of(first), level, shares) if shares < _ENOUGH else None


def _precedence(schema: Object) -> tuple[int, str]:
    return schema["spec"].get("matchingPrecedence", 1000), schema["metadata"]["name"]


def takes_bindings(schema: Object, namespace: str, account: str) -> bool:
    """Whether a FlowSchema matches the bindings of pods by this ServiceAccount."""
    return any(
        any(_is(subject, namespace, account) for subject in rule["subjects"])
        and any(map(_binds, rule.get("resourceRules") or ()))
        for rule in schema["spec"].get("rules") or ()
    )


def _is(subject: Object, namespace: str, account: str) -> bool:
    known = {
        "User": {"*", f"system:serviceaccount:{namespace}:{account}"},
        "Group": {"*", "system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{namespace}"},
        "ServiceAccount": {"*", account},
    }
    own = subject.get({"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}[subject["kind"]]) or {}
    return own.get("name") in known[subject["kind"]] and own.get("namespace", namespace) == namespace


def _binds(rule: Object) -> bool:
    def has(words: Collection[str], word: str) -> bool:
        return "*" in words or word in words

    return has(rule.get("namespaces") or (), "*") and all(has(rule[key], word) for key, word in _BINDING.items())


FLOW = Fact[Flow | None](
    "how the API server takes requests in turn",
    _flow,
    None,
    reads=(DEPLOYMENTS,),
    needs=(Rule("list", _GROUP, "flowschemas"), Rule("get", _GROUP, "prioritylevelconfigurations")),
    enriches=True,
)
"""What holds back the bindings of Volcano's scheduler, where others made it."""


def held_back(outcome: Outcome, flow: Flow) -> Outcome:
    """A finding about a slow or silent scheduler, with who holds it back."""
    return replace(
        outcome,
        message=f"{outcome.message} {flow.schema} gives the scheduler's requests to {flow.level} with "
        f"nominalConcurrencyShares {flow.shares}.",
        todo=f"let {flow.schema} leave the scheduler's account out, or give {flow.level} more shares; until then the "
        "API server lets its requests wait or refuses them.",
        objects=(flow.schema, flow.level, *outcome.objects),
        commands=(f"kubectl get flowschema {flow.schema.name} -o yaml", *outcome.commands),
        changes=(),
    )
