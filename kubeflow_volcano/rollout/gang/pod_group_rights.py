"""What an operator's account may do with PodGroups: asked of the API server, and granted beside upstream's role."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from kubeflow_volcano.apply.remove import delete_owned
from kubeflow_volcano.apply.result import Action, ObjectOutcome, is_same
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.managers import MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.rollout.gang.replicas import ADDED

__all__ = ["PodGroupRights"]

_RBAC = "rbac.authorization.k8s.io"
_KNOWN_SECONDS = 15.0
"""Within this time the API server's authorizer has learnt of a new binding; it watches them."""

_PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class PodGroupRights:
    """The rights of one account on the PodGroups of one API group; `operator` is the component that it is for."""

    operator: str
    namespace: str
    account: str
    group: str
    verbs: tuple[str, ...]

    @property
    def user(self) -> str:
        """The account as the API server calls it."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"

    @property
    def refs(self) -> tuple[Ref, Ref]:
        """The binding, and the role that it is to."""
        name = f"kubeflow-volcano-podgroups-{self.operator}"
        version = f"{_RBAC}/v1"
        return Ref(version, "ClusterRoleBinding", "", name), Ref(version, "ClusterRole", "", name)

    def missing(self, cluster: Cluster) -> tuple[str, ...]:
        """The verbs that the account lacks.

        Raises:
            ApiError: nobody may be asked about.
        """
        return tuple(verb for verb in self.verbs if not self._allowed(cluster, verb))

    def grant(self, cluster: Cluster, missing: Sequence[str], *, check: bool) -> tuple[ObjectOutcome, ...]:
        """Give it all its verbs by a role of this project's own, and wait until the API server knows; twice is once.

        Upstream's role is left to those whose it is: what took the rule away would take it away again.

        Raises:
            ProblemsError: whoever asks may not grant this, or the account is refused all the same.
            ApiError: anything else that the API server refuses.
        """
        binding, role = self.refs
        outcomes = []
        for obj in (self._role(role), self._binding(binding, role)):
            before = cluster.get(Ref.of(obj))
            try:
                after = cluster.apply(obj, manager=MANAGER, force=True, dry_run=check)
            except ApiError as error:
                if error.status != HTTPStatus.FORBIDDEN:
                    raise
                raise ProblemsError(self._not_yours(missing, role, error)) from error
            action = Action.CREATED if before is None else Action.CHANGED
            if before is None or not is_same(before, after):
                outcomes.append(ObjectOutcome(Ref.of(obj), action, before, after))
        if not check:
            self._await(cluster)
        return tuple(outcomes)

    def withdraw(self, cluster: Cluster, *, check: bool) -> tuple[ObjectOutcome, ...]:
        """Take away what `grant` gave; objects of that name that this project did not apply stay.

        Raises:
            ApiError: they may not be read or removed.
        """
        live = (cluster.get(ref) for ref in self.refs)
        taken = (delete_owned(cluster, obj, check=check) for obj in live if obj)
        return tuple(outcome for outcome in taken if outcome)

    def _allowed(self, cluster: Cluster, verb: str) -> bool:
        review: Object = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {"name": ""},
            "spec": {
                "user": self.user,
                "groups": [
                    "system:authenticated",
                    "system:serviceaccounts",
                    f"system:serviceaccounts:{self.namespace}",
                ],
                "resourceAttributes": {"group": self.group, "resource": "podgroups", "verb": verb},
            },
        }
        answer: bool = cluster.create(review)["status"]["allowed"]
        return answer

    def _await(self, cluster: Cluster) -> None:
        deadline = Deadline(_KNOWN_SECONDS)
        while missing := self.missing(cluster):
            if deadline.passed:
                raise ProblemsError(
                    Problem(
                        f"{self.user} may not {', '.join(missing)} podgroups.{self.group}, although {self.refs[0]} "
                        "says so.",
                        "an API server that authorizes by RBAC.",
                        f"see kubectl auth can-i {missing[0]} podgroups.{self.group} -A --as {self.user}.",
                    )
                )
            time.sleep(_PAUSE_SECONDS)  # what an authorizer has learnt can only be asked for, not watched

    def _not_yours(self, missing: Sequence[str], role: Ref, error: ApiError) -> Problem:
        verbs = ",".join(self.verbs)
        return Problem(
            f"{self.user} may not {', '.join(missing)} podgroups.{self.group}, and you may not grant it: {error}.",
            "somebody who may: cluster-admin, or who has these rights and may write roles.",
            f"have them run this roll-out, or: kubectl create clusterrole {role.name} --verb={verbs} "
            f"--resource=podgroups.{self.group} && kubectl create clusterrolebinding {role.name} "
            f"--clusterrole={role.name} --serviceaccount={self.namespace}:{self.account}; and run again.",
        )

    def _role(self, ref: Ref) -> Object:
        rule = {"apiGroups": [self.group], "resources": ["podgroups"], "verbs": list(self.verbs)}
        return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": _meta(ref), "rules": [rule]}

    def _binding(self, ref: Ref, role: Ref) -> Object:
        return {
            "apiVersion": ref.api_version,
            "kind": ref.kind,
            "metadata": _meta(ref),
            "roleRef": {"apiGroup": _RBAC, "kind": role.kind, "name": role.name},
            "subjects": [{"kind": "ServiceAccount", "name": self.account, "namespace": self.namespace}],
        }


def _meta(ref: Ref) -> Object:
    return {"name": ref.name, "labels": dict(ADDED)}
