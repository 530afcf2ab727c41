"""Who may do what: the rules that the checks need, and those that the training operator needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kubeflow_volcano.cluster.client import Cluster
from validators.model import Rule

__all__ = ["allowed", "as_yaml", "operator_rules"]

_API = "authorization.k8s.io/v1"
_PODGROUP_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")


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


def as_yaml(rules: Iterable[Rule]) -> str:
    """The rules as they stand in a ClusterRole, one line each."""
    return "\n".join(
        f"- {{apiGroups: ['{rule.group}'], resources: ['{rule.resource}'], verbs: ['{rule.verb}']}}" for rule in rules
    )


def operator_rules(plurals: Iterable[str]) -> tuple[Rule, ...]:
    """What an operator must be allowed to do to make gangs of jobs: all of podgroups, and finalizers of each kind.

    Without the latter it cannot name a job as owner where OwnerReferencesPermissionEnforcement is on (volcano#2024).
    """
    podgroups = (Rule(verb, "scheduling.volcano.sh", "podgroups") for verb in _PODGROUP_VERBS)
    finalizers = (Rule("update", "kubeflow.org", f"{plural}/finalizers") for plural in sorted(plurals))
    return (*podgroups, *finalizers)
