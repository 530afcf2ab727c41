"""Who makes what of a job: the controllers of each kind, and whether their accounts may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kubeflow_volcano.cluster.objects import Ref
from validators.checks.operator.common import OPERATOR_ACCESS
from validators.core.facts import Facts
from validators.core.rights import Rule
from validators.explain.kinds import JOBSETS
from validators.explain.model import Finding, Situation, finding
from validators.subjects.gang.operators import TRAINER, TRAINING

__all__ = ["MAKERS", "PODGROUPS", "Maker", "may_not"]

PODGROUPS = "podgroups.scheduling.volcano.sh"
_JOBSET = Ref("apps/v1", "Deployment", TRAINER.ref.namespace, "jobset-controller-manager")
_VOLCANO = Ref("apps/v1", "Deployment", "volcano-system", "volcano-controllers")
_SEEN = ("get", "list", "watch", "create")


@dataclass(frozen=True, slots=True)
class Maker:
    """A Deployment that makes `kinds`, as `plural.group`. It watches its PodGroups, too."""

    component: str
    ref: Ref
    kinds: tuple[str, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What its account must be allowed in the job's namespace."""
        return tuple(rule for kind in self.kinds for rule in self.rules_of(kind))

    def rules_of(self, kind: str) -> tuple[Rule, ...]:
        """What it must be allowed to make one kind."""
        plural, _, group = kind.partition(".")
        return tuple(Rule(verb, group, plural) for verb in (_SEEN if kind == PODGROUPS else ("create",)))

    def account(self, facts: Facts) -> str:
        """User name of its service account."""
        found = facts.get("deployments.apps", self.ref.namespace, self.ref.name) or {}
        spec = found.get("spec", {}).get("template", {}).get("spec", {})
        return f"system:serviceaccount:{self.ref.namespace}:{spec.get('serviceAccountName') or 'default'}"


MAKERS: Mapping[str, tuple[Maker, ...]] = MappingProxyType(
    {
        "kubeflow.org": (Maker(TRAINING.component, TRAINING.ref, (PODGROUPS, "pods")),),
        "trainer.kubeflow.org": (
            Maker(TRAINER.component, TRAINER.ref, (PODGROUPS, JOBSETS)),
            Maker("jobset", _JOBSET, ("jobs.batch",)),
        ),
        "batch.volcano.sh": (Maker("volcano", _VOLCANO, (PODGROUPS, "pods")),),
    }
)
"""Deployments that a job needs to become pods, by the API group of its kind."""


def may_not(situation: Situation, kind: str) -> Iterator[Finding]:
    """Controllers whose account may not make one kind for the job."""
    facts, space = situation.facts, situation.job.ref.namespace
    makers = [item for item in MAKERS.get(situation.job.ref.group, ()) if kind in item.kinds]
    for maker in makers:
        answers = facts.read(OPERATOR_ACCESS).get(maker.component, {})
        denied = [rule for rule in maker.rules_of(kind) if answers.get(str(rule)) is False]
        if denied:
            account = maker.account(facts)
            yield finding(
                "ControllerMayNot",
                f"{account}, the account of {maker.ref}, may not {', '.join(map(str, denied))} in namespace {space}.",
                needed=f"the rights with which a controller makes {kind} of a {situation.job.ref.kind}.",
                todo="apply the controller's ClusterRole and ClusterRoleBinding again, and restart it.",
                objects=[maker.ref],
                commands=[f"kubectl -n {space} auth can-i {denied[0]} --as {account}"],
            )
