"""The controllers that create a job's pods and PodGroup: which they are, whether they run, what they may create.

Rules: the ClusterRoles of upstream's manifests (manifests/base/rbac of the training operator, v1.5.0 to v1.9.2;
installer/volcano-development.yaml), and what each controller creates (see companions.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.validators.checks.operator.common import OPERATOR_ACCESS
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.creation.webhooks import configured
from kubeflow_volcano.validators.explain.kinds import JOBSETS
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.subjects.gang.operators import TRAINER, TRAINING
from kubeflow_volcano.validators.subjects.webhooks import service_of

PODGROUPS = "podgroups.scheduling.volcano.sh"
_VERBS_ON_PODGROUPS = ("get", "list", "watch", "create")


@dataclass(frozen=True, slots=True)
class Controller:
    """A Deployment that creates `kinds`, given as `plural.group`. It also watches its PodGroups."""

    component: str
    ref: Ref
    kinds: tuple[str, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What its account must be allowed to do in the job's namespace."""
        return tuple(rule for kind in self.kinds for rule in self.rules_of(kind))

    def rules_of(self, kind: str) -> tuple[Rule, ...]:
        """What its account must be allowed to do in order to create one kind."""
        plural, _, group = kind.partition(".")
        return tuple(Rule(verb, group, plural) for verb in (_VERBS_ON_PODGROUPS if kind == PODGROUPS else ("create",)))

    def account(self, facts: Facts) -> str:
        """User name of its ServiceAccount."""
        live = facts.get("deployments.apps", self.ref.namespace, self.ref.name) or {}
        spec = live.get("spec", {}).get("template", {}).get("spec", {})
        return f"system:serviceaccount:{self.ref.namespace}:{spec.get('serviceAccountName') or 'default'}"


_JOBSET = Ref("apps/v1", "Deployment", TRAINER.ref.namespace, "jobset-controller-manager")
_WEBHOOKS = "jobset-webhook-service"
_VOLCANO_JOBS = "batch.volcano.sh"
_OF_PLUGINS = ("services", "configmaps", "secrets")
_RBAC = "rbac.authorization.k8s.io"
_OF_TRAINING = ("services", "configmaps", "serviceaccounts", f"roles.{_RBAC}", f"rolebindings.{_RBAC}")
"""Beside pods: Services of most kinds, and what an MPIJob's launcher needs."""
CONTROLLERS: Mapping[str, tuple[Controller, ...]] = MappingProxyType(
    {
        "kubeflow.org": (Controller(TRAINING.component, TRAINING.ref, (PODGROUPS, "pods", *_OF_TRAINING)),),
        "trainer.kubeflow.org": (
            Controller(TRAINER.component, TRAINER.ref, (PODGROUPS, JOBSETS)),
            Controller("jobset", _JOBSET, ("jobs.batch",)),
        ),
    }
)
"""By the API group of a job's kind: the Deployments that turn it into pods, but for Volcano's own jobs."""


def controllers_of(group: str, scheduler: Ref) -> tuple[Controller, ...]:
    """The Deployments that turn jobs of an API group into pods; Volcano's are beside its `scheduler`."""
    if group == _VOLCANO_JOBS:
        place = scheduler._replace(name=f"{scheduler.name.removesuffix('-scheduler')}-controllers")
        return (Controller("volcano", place, (PODGROUPS, "pods", *_OF_PLUGINS)),)
    return CONTROLLERS.get(group, ())


def controllers(situation: Situation) -> Iterator[Finding]:
    """Controllers that are missing or down while pods are still to be created."""
    job = situation.job
    if job.roles and len(situation.pods) >= job.wanted:
        return
    for item in controllers_of(job.family, situation.facts.expectations.scheduler):
        if finding := down(item.ref, situation):
            yield finding


def down(ref: Ref, situation: Situation) -> Finding | None:
    """Why the controller creates nothing: it does not exist, or is not available. None where it runs."""
    job, pods = situation.job, len(situation.pods)
    needed = f"the controller that creates the pods of a {job.ref.kind}."
    live = situation.facts.get("deployments.apps", ref.namespace, ref.name)
    if live is None and ref == _JOBSET and _has_own_jobset(situation):
        return None
    if live is None:
        return finding(
            "ControllerMissing",
            f"{ref} does not exist; {pods} of {job.wanted} pods exist.",
            needed=needed,
            todo="install it, or run the job in a cluster that has it.",
            objects=[ref],
        )
    state = assess(live)
    if state.state is State.READY:
        return None
    return finding(
        "ControllerDown",
        f"{state.message} {pods} of {job.wanted} pods exist.",
        needed=needed,
        todo="bring it up; `kubeflow-volcano validate --select workloads` reports what keeps it down.",
        objects=[ref],
        commands=[f"kubectl -n {ref.namespace} describe deployment {ref.name}"],
    )


def _has_own_jobset(situation: Situation) -> bool:
    """Whether JobSet has its webhooks in a namespace of its own, where its Deployment is then.

    Rule: Trainer's manifests leave it out where the cluster has it (installer: manifests/overlays/manager, v2.1.0 to
    v2.3.0); its own put it into jobset-system (config/default of JobSet, v0.10.1 to v0.12.0).
    """
    services = (service_of(hook.text) for hook in configured(situation))
    return any(item and item.name == _WEBHOOKS and item.namespace != _JOBSET.namespace for item in services)


def missing_permissions(situation: Situation, kind: str) -> Iterator[Finding]:
    """Controllers whose account may not create `kind`, given as `plural.group`, for the job."""
    facts, space = situation.facts, situation.job.ref.namespace
    for item in controllers_of(situation.job.family, facts.expectations.scheduler):
        if kind not in item.kinds:
            continue
        answers = facts.read(OPERATOR_ACCESS).get(item.component, {})
        denied = [rule for rule in item.rules_of(kind) if answers.get(str(rule)) is False]
        if denied:
            account = item.account(facts)
            yield finding(
                "ControllerMayNot",
                f"{account}, the account of {item.ref}, may not {', '.join(map(str, denied))} in namespace {space}.",
                needed=f"permissions to create {kind} for a {situation.job.ref.kind}.",
                todo="apply the controller's ClusterRole and ClusterRoleBinding again, and restart it.",
                objects=[item.ref],
                commands=[f"kubectl -n {space} auth can-i {denied[0]} --as {account}"],
            )
