"""The two operators that create PodGroups for training jobs: their names, rights and job kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.operator import DEPLOYMENT as OPERATOR
from kubeflow_volcano.catalog.operator import version_of_image
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, failed, skipped
from kubeflow_volcano.validators.core.resources import CRDS, DEPLOYMENTS, PODS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.subjects import simulation
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of
from kubeflow_volcano.validators.subjects.ownership import workload_of


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator. `podgroup_verbs` are the verbs on PodGroups that its ServiceAccount needs.

    `owns_since` is the version since which its role includes the finalizers of jobs. `late` is its log line if it
    started before the PodGroup CRD existed. `dry_runs` are small jobs without metadata for dry runs of its webhook.
    """

    ref: Ref
    role: str
    component: str
    title: str
    container: str
    podgroup_verbs: tuple[str, ...]
    job_group: str
    owns_since: str
    late: str
    dry_runs: tuple[Mapping[str, Any], ...]

    @property
    def roles(self) -> frozenset[Ref]:
        """What grants these rules in upstream's manifests: a ClusterRole and its binding, each of which may be gone."""
        kinds = ("ClusterRole", "ClusterRoleBinding")
        return frozenset(Ref("rbac.authorization.k8s.io/v1", kind, "", self.role) for kind in kinds)

    def rules(self, plurals: Iterable[str], version: str, gang: GangScheduler = VOLCANO) -> tuple[Rule, ...]:
        """The rules that this version needs: on PodGroups, and on the finalizers of its job kinds.

        Without the latter it cannot set a job as owner where OwnerReferencesPermissionEnforcement is enabled
        (volcano-sh/volcano#2024).
        """
        if version and version_key(version) < version_key(self.owns_since):
            plurals = ()
        podgroups = (Rule(verb, gang.group, "podgroups") for verb in self.podgroup_verbs)
        finalizers = (Rule("update", self.job_group, f"{plural}/finalizers") for plural in sorted(plurals))
        return (*podgroups, *finalizers)

    def version(self, facts: Facts) -> str:
        """Its version by its image, else as the caller states it; empty if neither shows it."""
        deployment = facts.get(DEPLOYMENTS, self.ref.namespace, self.ref.name)
        image: str = container_of(deployment)["image"] if deployment else ""
        return version_of_image(image) or facts.expectations.operator_version

    def deployment(self, facts: Facts) -> Object:
        """Its Deployment.

        Raises:
            CannotJudgeError: none is expected, or it is missing.
        """
        if why := facts.expectations.why_unmade:
            raise CannotJudgeError(skipped("GangNotAsked", why))
        if self.ref not in facts.expectations.workloads:
            raise CannotJudgeError(skipped("NotExpected", f"the chosen components do not include {self.title}."))
        live = facts.get(DEPLOYMENTS, self.ref.namespace, self.ref.name)
        if live is None:
            todo = f"install component {self.component}."
            text = f"{self.ref} does not exist."
            raise CannotJudgeError(
                failed("Missing", text, objects=(self.ref,), todo=todo, because=(frozenset({self.ref}),))
            )
        return live

    def demand_real(self, facts: Facts) -> None:
        """End the evaluation if its pods are simulated: then no controller acts on jobs.

        Raises:
            CannotJudgeError: they are.
        """
        if simulation.simulated_workload(facts, self.ref):
            text = f"{self.ref} is simulated in this rehearsal: no controller acts on jobs."
            raise CannotJudgeError(skipped("Simulated", text, objects=(self.ref,)))

    def service_account(self, facts: Facts) -> str:
        """User name of its ServiceAccount."""
        live = facts.get(DEPLOYMENTS, self.ref.namespace, self.ref.name)
        spec = (live or {}).get("spec", {}).get("template", {}).get("spec", {})
        return f"system:serviceaccount:{self.ref.namespace}:{spec.get('serviceAccountName') or 'default'}"

    def started(self, facts: Facts) -> float | None:
        """Start of its running container in seconds since the epoch; None if none is running."""
        starts = [
            datetime.fromisoformat(running["startedAt"]).timestamp()
            for pod in facts.all(PODS)
            if workload_of(pod) == self.ref and "deletionTimestamp" not in pod["metadata"]
            for status in pod.get("status", {}).get("containerStatuses") or ()
            if (running := status.get("state", {}).get("running")) and running.get("startedAt")
        ]
        return max(starts, default=None)

    def kinds(self, facts: Facts) -> tuple[str, ...]:
        """Names of the expected CRDs of its component."""
        return tuple(name for name, component in facts.expectations.crds.items() if component == self.component)


def podgroups_since(facts: Facts) -> float | None:
    """When the PodGroup CRD became established, in seconds since the epoch; None if it is not."""
    crd = facts.get(CRDS, "", facts.expectations.gang.podgroups)
    established = conditions(crd).get("Established", {}) if crd else {}
    if established.get("status") != "True":
        return None
    return datetime.fromisoformat(established["lastTransitionTime"]).timestamp()


def _job(kind: str, replicas: str, role: str, container: str) -> Object:
    template = {"spec": {"containers": [{"name": container, "image": PAUSE}]}}
    spec = {replicas: {role: {"replicas": 1, "template": template}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "spec": spec}


TRAINING = Operator(
    ref=OPERATOR,
    role="training-operator",
    component="training-operator",
    title="training operator",
    container="training-operator",
    podgroup_verbs=("get", "list", "watch", "create", "update", "patch", "delete"),
    job_group="kubeflow.org",
    owns_since="1.6.0",
    late="could not find the requested resource",
    dry_runs=(
        _job("PyTorchJob", "pytorchReplicaSpecs", "Worker", "pytorch"),
        _job("TFJob", "tfReplicaSpecs", "Worker", "tensorflow"),
    ),
)
"""The training operator (API version v1), whose arguments enable gang scheduling."""

TRAINER = Operator(
    ref=Ref("apps/v1", "Deployment", "kubeflow-system", "kubeflow-trainer-controller-manager"),
    role="kubeflow-trainer-controller-manager",
    component="trainer",
    title="Trainer",
    container="manager",
    # No delete: a PodGroup belongs to its TrainJob, with which the garbage collector removes it.
    podgroup_verbs=("get", "list", "watch", "create", "update", "patch"),
    job_group="trainer.kubeflow.org",
    owns_since="2.1.0",
    late="PodGroup CRDs must be installed in advance",
    dry_runs=(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "spec": {"runtimeRef": {"name": "torch-distributed"}},
        },
    ),
)
"""Trainer 2, whose runtimes enable gang scheduling for the jobs that use them."""

OPERATORS: Mapping[str, Operator] = MappingProxyType({item.component: item for item in (TRAINING, TRAINER)})
"""Both, by component."""
