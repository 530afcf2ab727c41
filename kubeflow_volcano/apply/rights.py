"""Which custom resources a workload may use, by the Roles and bindings among the objects of a run. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.admission.webhooks import selects
from kubeflow_volcano.cluster.objects import Object, Ref

Rule = Mapping[str, Any]
_DEFAULT = "default"


def pod_template(workload: Object) -> Mapping[str, Any]:
    """The pod template of a workload; empty for a Pod and for other kinds."""
    spec = workload.get("spec") or {}
    if workload["kind"] == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    return spec.get("template") or {}


@dataclass(frozen=True, slots=True)
class _Binding:
    """The rules that one binding grants, in all namespaces or in its own; None if its role is not among the objects."""

    rules: Sequence[Rule] | None
    everywhere: bool


class Rights:
    """The RBAC rules of each ServiceAccount, from the Roles and bindings among `objects`."""

    def __init__(self, objects: Iterable[Object]) -> None:
        every = tuple(objects)
        roles = {Ref.of(obj): obj for obj in every if obj["kind"] in {"ClusterRole", "Role"}}
        self._roles = {(ref.kind, ref.namespace, ref.name): _rules(obj, roles) for ref, obj in roles.items()}
        self._accounts = {Ref.of(obj) for obj in every if obj["kind"] == "ServiceAccount"}
        self._crds: dict[str, list[Object]] = defaultdict(list)
        for obj in every:
            if obj["kind"] == "CustomResourceDefinition":
                self._crds[obj["spec"]["group"]].append(obj)
        self._bound: dict[tuple[str, str], list[_Binding]] = defaultdict(list)
        for obj in every:
            if obj["kind"] in {"ClusterRoleBinding", "RoleBinding"}:
                self._bind(obj)

    def crds(self, workload: Object, own: Iterable[Object]) -> set[Ref]:
        """The CRDs that the workload may use: those that its rules name, or all of `own` if its rules are unknown.

        `own` are the CRDs of its part and of the parts that it requires; a rule for all API groups is taken to mean
        these. Rules are unknown if the ServiceAccount, or a role that it is bound to, is not among the objects.
        """
        bound = self._bound_to(workload)
        rules = [rule for binding in bound for rule in binding.rules or ()]
        everything = any(binding.rules is None for binding in bound)
        wild = [rule for rule in rules if "*" in (rule.get("apiGroups") or ())]
        used = {Ref.of(crd) for crd in own if everything or any(_names(rule, crd) for rule in wild)}
        for rule in rules:
            for group in rule.get("apiGroups") or ():
                used |= {Ref.of(crd) for crd in self._crds.get(group, ()) if _names(rule, crd)}
        return used

    def verbs(self, workload: Object, group: str, resource: str) -> frozenset[str] | None:
        """What a workload's ServiceAccount may do with a resource in all namespaces; None if its rules are unknown."""
        bound = self._bound_to(workload)
        if any(binding.rules is None for binding in bound):
            return None
        return frozenset(
            verb
            for binding in bound
            if binding.everywhere
            for rule in binding.rules or ()
            if {group, "*"} & set(rule.get("apiGroups") or ()) and {resource, "*"} & set(rule.get("resources") or ())
            for verb in rule.get("verbs") or ()
        )

    def _bound_to(self, workload: Object) -> Sequence[_Binding]:
        spec = pod_template(workload).get("spec") or workload.get("spec") or {}
        account = spec.get("serviceAccountName") or spec.get("serviceAccount") or _DEFAULT
        namespace = workload["metadata"].get("namespace", "")
        known = account == _DEFAULT or Ref("v1", "ServiceAccount", namespace, account) in self._accounts
        return self._bound.get((namespace, account), [] if known else [_Binding(None, everywhere=True)])

    def _bind(self, binding: Object) -> None:
        role = binding.get("roleRef") or {}
        namespace = binding["metadata"].get("namespace", "") if role.get("kind") == "Role" else ""
        known = self._roles.get((role.get("kind", ""), namespace, role.get("name", "")))
        everywhere = binding["kind"] == "ClusterRoleBinding"
        for subject in binding.get("subjects") or ():
            if subject.get("kind") == "ServiceAccount":
                where = subject.get("namespace") or binding["metadata"].get("namespace", "")
                self._bound[where, subject["name"]].append(_Binding(known, everywhere=everywhere))


def _rules(role: Object, roles: Mapping[Ref, Object]) -> Sequence[Rule]:
    """The rules of a role, including those that are aggregated into it."""
    rules: list[Rule] = list(role.get("rules") or ())
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        for other in roles.values():
            if other is not role and selects(selector, other["metadata"].get("labels") or {}):
                rules += other.get("rules") or ()
    return rules


def _names(rule: Rule, crd: Object) -> bool:
    """Whether the resources of a rule include that kind."""
    plural = crd["spec"]["names"]["plural"]
    return any(name in {"*", plural} or name.startswith(f"{plural}/") for name in rule.get("resources") or ())
