"""Who may do what: the rules that the checks need, and whether the server grants them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kubeflow_volcano.cluster.client import Cluster
from validators.facts import RESOURCES, Unread
from validators.model import Check, Rule

__all__ = ["allowed", "as_yaml", "missing_for_probes", "missing_for_reading"]

_API = "authorization.k8s.io/v1"
_ONLY_FOR_OWN_NAMESPACE = frozenset({"namespaces", "resourcequotas", "serviceaccounts"})


def allowed(cluster: Cluster, rules: Collection[Rule], *, namespace: str = "", user: str = "") -> Mapping[Rule, bool]:
    """Ask the API server about each rule: for `user`, or for whoever asks. No namespace means all of them.

    `auth can-i --list` would prove nothing: a rule may come from anywhere, and only an access review knows.

    Raises:
        ApiError: the question itself is refused.
    """
    kind = "SubjectAccessReview" if user else "SelfSubjectAccessReview"
    path = cluster.resource(_API, kind).path()

    def ask(rule: Rule) -> bool:
        resource, _, subresource = rule.resource.partition("/")
        where = {"namespace": namespace} if namespace else {}
        attributes = {"verb": rule.verb, "group": rule.group, "resource": resource, "subresource": subresource} | where
        spec: dict[str, Any] = {"resourceAttributes": attributes} | ({"user": user} if user else {})
        if user:
            spec["groups"] = ["system:serviceaccounts", "system:authenticated"]
        answer = cluster.request("POST", path, body={"apiVersion": _API, "kind": kind, "spec": spec})
        return bool(answer["status"]["allowed"])

    if not rules:
        return {}
    with ThreadPoolExecutor(min(8, len(rules)), "access") as pool:
        return dict(zip(rules, pool.map(ask, rules), strict=True))


def missing_for_probes(cluster: Cluster, checks: Iterable[Check], namespace: str) -> Mapping[str, Unread]:
    """Why a check of a probe may not be judged, by its id: what the probe does and the server does not allow.

    In a namespace that is there already, none is made, and neither quota nor service account is waited for.
    """
    of_probes = [item for item in checks if item.probe]
    rules = {
        rule
        for item in of_probes
        for rule in item.needs
        if not (namespace and rule.resource in _ONLY_FOR_OWN_NAMESPACE)
    }
    answers = allowed(cluster, sorted(rules, key=str), namespace=namespace)
    denied = {item.id: [rule for rule in item.needs if not answers.get(rule, True)] for item in of_probes}
    return {id_: _forbidden(missing) for id_, missing in denied.items() if missing}


def missing_for_reading(
    cluster: Cluster, checks: Iterable[Check], namespace: str, *, read_only: bool
) -> Mapping[str, Unread]:
    """What the other checks need beyond listing and the server does not allow, by `plural.group`.

    Dry runs are made in the probe namespace, where one is given, and not at all by a read-only run.
    """
    rules = {rule for item in checks if not item.probe for rule in item.needs if not _shows_when_read(rule)}
    dry_runs = {rule for rule in rules if rule.verb == "create" and rule.group != "authorization.k8s.io"}
    answers = {**allowed(cluster, sorted(rules - dry_runs, key=str))}
    if not read_only:
        answers |= allowed(cluster, sorted(dry_runs, key=str), namespace=namespace)
    return {rule.plural_group: _forbidden([rule]) for rule, answer in answers.items() if not answer}


def _shows_when_read(rule: Rule) -> bool:
    """What is read for the snapshot is not asked for: there the refusal itself is the answer."""
    return rule.verb in {"list", "watch"} and rule.plural_group in RESOURCES


def _forbidden(missing: Sequence[Rule]) -> Unread:
    names = ", ".join(str(rule) for rule in missing)
    return Unread("Forbidden", f"you may not: {names}.", f"grant these rules:\n{as_yaml(missing)}")


def as_yaml(rules: Iterable[Rule]) -> str:
    """The rules as they stand in a ClusterRole, one line each."""
    return "\n".join(
        f"- {{apiGroups: ['{rule.group}'], resources: ['{rule.resource}'], verbs: ['{rule.verb}']}}" for rule in rules
    )
