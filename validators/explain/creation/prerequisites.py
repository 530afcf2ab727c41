"""What must exist before any pod is created: the job and its namespace, PriorityClasses, ServiceAccounts."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.validators.explain.model import Event, Finding, Situation, finding

PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
BUILT_IN_CLASSES = frozenset({"system-node-critical", "system-cluster-critical"})


def deletion(situation: Situation) -> Iterator[Finding]:
    """The job or its namespace is being deleted: controllers create nothing more.

    Rules: Reconcile of each kind in pkg/controller.v1 of the training operator, v1.5.0 to v1.9.4, and syncJob of
    pkg/controllers/job of Volcano, v1.8.0 to v1.15.1, look at deletionTimestamp; apiserver/pkg/admission/plugin/
    namespace/lifecycle of Kubernetes, v1.22 to v1.37.
    """
    ref, meta = situation.job.ref, situation.obj["metadata"]
    if since := meta.get("deletionTimestamp"):
        yield finding(
            "BeingDeleted",
            f"{ref} is being deleted since {since}; finalizers: {', '.join(meta.get('finalizers') or ()) or 'none'}.",
            needed="a job that is not being deleted.",
            todo="bring up the controllers that set these finalizers, which must remove them; then recreate the job.",
            objects=[ref],
        )
    spaces = situation.facts.objects.get("namespaces", ())
    if any("deletionTimestamp" in item["metadata"] for item in spaces):
        yield finding(
            "NamespaceEnding",
            f"namespace {ref.namespace} is being deleted: nothing can be created in it.",
            needed="a namespace that is not being deleted.",
            todo="create the job in another namespace.",
            objects=[ref],
        )


def no_replicas(situation: Situation) -> Iterator[Finding]:
    """All replicas are 0: there is nothing to run. The training operator creates a pod, deletes it, and is done.

    Rule: ReconcilePods of pkg/controller.v1/common of the training operator, v1.5.0 to v1.9.4.
    """
    job = situation.job
    if job.roles and job.wanted == 0:
        yield finding(
            "NoReplicas",
            f"replicas of {', '.join(role.name for role in job.roles)} are 0: {job.ref} runs nothing, whatever its "
            "state says.",
            needed="at least one replica.",
            todo="recreate the job with replicas.",
            objects=[job.ref],
        )


def refused_spec(situation: Situation) -> Iterator[Finding]:
    """The operator itself refuses the job's spec, and says so in an event; it creates nothing.

    Rule: that of spec_refusal.
    """
    if event := spec_refusal(situation):
        names = {role.name for role in situation.job.roles}
        launcher = situation.job.family and situation.job.ref.kind == "MPIJob" and "Launcher" not in names
        yield finding(
            "SpecInvalid",
            f"the operator refuses the spec of {event.ref}: {event.message.rstrip('.')}.",
            needed="an MPIJob with the roles Launcher and Worker." if launcher else "a spec that the operator accepts.",
            todo=f"recreate the job with {'a Launcher' if launcher else 'a corrected spec'}.",
            objects=[event.ref],
        )


def spec_refusal(situation: Situation) -> Event | None:
    """The event with which the training operator refuses the job's spec, while it has created nothing for it.

    Rule: JobFailedValidationReason in pkg/util of the training operator, v1.5.0 to v1.9.2.
    """
    if situation.pods or situation.group:
        return None
    ref = situation.job.ref
    return next((e for e in reversed(situation.events) if e.ref == ref and e.reason.endswith("FailedValidation")), None)


def accounts(situation: Situation) -> Iterator[Finding]:
    """ServiceAccounts that pod templates name and that do not exist.

    Rules: plugin/pkg/admission/serviceaccount of Kubernetes, v1.22 to v1.37; the operator creates that of an MPIJob's
    launcher, before 1.8 by a name of its own (newLauncherServiceAccount of pkg/controller.v1/mpi of the training
    operator, v1.5.0 to v1.9.4).
    """
    if len(situation.pods) >= situation.job.wanted:
        return
    job, space = situation.job, situation.job.ref.namespace
    roles = [role for role in job.roles if (job.ref.kind, role.name) != ("MPIJob", "Launcher")]
    named = dict.fromkeys(str(role.template["spec"].get("serviceAccountName") or "") for role in roles)
    for name in named:
        if name and situation.facts.get("serviceaccounts", space, name) is None:
            yield finding(
                "ServiceAccountMissing",
                f"the job's pods use ServiceAccount {space}/{name}, which does not exist: the API server refuses them.",
                needed="the ServiceAccount that the pod template names.",
                todo="create it, or name an existing one.",
                objects=[situation.job.ref],
                commands=[f"kubectl -n {space} get serviceaccounts"],
            )


def priority(situation: Situation) -> Iterator[Finding]:
    """PriorityClasses that job, PodGroup or pod templates name and that do not exist.

    Rules: plugin/pkg/admission/priority of Kubernetes, v1.22 to v1.37; Snapshot of pkg/scheduler/cache/cache.go of
    Volcano, v1.8.0 to v1.15.1: a PodGroup of an unknown class has the default priority.
    """
    of_pods = [role.template["spec"].get("priorityClassName") for role in situation.job.roles]
    of_group = (situation.group or {"spec": {}})["spec"].get("priorityClassName")
    for name in dict.fromkeys((situation.job.priority_class, of_group, *of_pods)):
        if not name or name in BUILT_IN_CLASSES or situation.facts.get(PRIORITY_CLASSES, "", name):
            continue
        consequence = "the API server refuses its pods" if name in of_pods else "the job has the default priority"
        yield finding(
            "PriorityClassMissing",
            f"the job names PriorityClass {name}, which does not exist: {consequence}.",
            needed=f"a PriorityClass {name}.",
            todo="create it, or name an existing one.",
            objects=[situation.job.ref],
            commands=["kubectl get priorityclasses"],
            blocks=name in of_pods and not situation.pods,
        )
