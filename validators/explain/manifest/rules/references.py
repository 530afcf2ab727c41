"""Rules about what a manifest needs of the cluster: its kind, its namespace, its queue, its PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.catalog.parts import groups_of, known_groups
from kubeflow_volcano.catalog.served_apis import served_apis
from kubeflow_volcano.cluster.objects import Object, group_of, mappings_in
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.text import did_you_mean, few
from kubeflow_volcano.validators.core.facts import Fact, Facts, Unread
from kubeflow_volcano.validators.explain.creation.companions import bad_service_name
from kubeflow_volcano.validators.explain.creation.prerequisites import BUILT_IN_CLASSES, PRIORITY_CLASSES
from kubeflow_volcano.validators.explain.manifest import built_in
from kubeflow_volcano.validators.explain.manifest.edits import Edit
from kubeflow_volcano.validators.explain.manifest.model import FILES, Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.rules.gangs import KUBE_BATCH_GROUPS
from kubeflow_volcano.validators.explain.manifest.schemas import of_releases
from kubeflow_volcano.validators.explain.manifest.templates import shown
from kubeflow_volcano.validators.explain.model import VOLCANO
from kubeflow_volcano.validators.explain.queue_marks import field_of_queue, unread_queues
from kubeflow_volcano.validators.explain.scheduling.volcano import QUEUES

CLAIMS = "persistentvolumeclaims"
_TRAINER = "trainer.kubeflow.org"
SERVED = Fact[Mapping[str, frozenset[str]]]("served kinds", lambda _cluster, _facts: {}, {})
"""By apiVersion the kinds that the API server serves, for every version of the groups that the files name."""


def served(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A kind that the API server does not serve in that version.

    Rule: none of its own: the answer of discovery.
    """
    ref = manifest.ref
    if ref.group in KUBE_BATCH_GROUPS or _brought(ref.api_version, ref.kind, facts):
        return
    known = facts.read(SERVED)
    if ref.kind in known.get(ref.api_version, ()):
        return
    group = {version for version in known if version.rpartition("/")[0] == ref.group}
    others = sorted(version for version in group if ref.kind in known[version])
    kinds = {kind for version in group for kind in known[version]}
    missing = f"group {ref.group or 'core'} has no {ref.kind}.{did_you_mean(ref.kind, kinds)}"
    what = f"it serves {ref.kind} in {', '.join(others)}." if others else missing
    yield flaw(
        "KindNotServed",
        f"the API server does not serve {ref.kind} of {ref.api_version}: {what}",
        needed="an API version that the cluster serves.",
        todo=f"change the manifest to {others[-1]}, whose fields may differ."
        if others
        else "install what brings the kind, or correct apiVersion and kind.",
    )


def other_group(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A kind of Kubeflow or Volcano in a group of theirs that has it in no release, and that another one has.

    Likewise a kind of Kubernetes in a version of its API that has it no longer or never had it.

    Rule: none of its own: the CustomResourceDefinitions of the catalog's releases, the models of Kubernetes' client for
    Python and served_apis.yaml of the catalog; with a cluster, discovery tells it.
    """
    ref = manifest.ref
    if not isinstance(facts.found.get(SERVED), Unread) or _brought(ref.api_version, ref.kind, facts):
        return
    if not of_releases(ref.api_version, ref.kind):
        yield from _of_kubernetes(manifest)
    groups = groups_of(ref.kind)
    if ref.group in known_groups() and ref.group not in groups and len(groups) == 1:
        ((group, versions),) = groups.items()
        yield flaw(
            "KindNotServed",
            f"no release has {ref.kind} in {ref.group}: it is of group {group}.",
            needed=f"apiVersion {group}/{versions[-1]}.",
            todo=f"change apiVersion to {group}/{versions[-1]}, whose fields may differ.",
            edits=(),
        )


def _of_kubernetes(manifest: Manifest) -> Iterator[Flaw]:
    ref = manifest.ref
    others = built_in.versions_of(ref.kind)
    old = next((item for item in served_apis() if item.is_about(ref.api_version, ref.kind)), None)
    if others and (old or built_in.is_stable(ref.api_version)):
        until = f"after {old.until}" if old and old.until else "of any version"
        yield flaw(
            "KindNotServed",
            f"no Kubernetes {until} has {ref.kind} in {ref.api_version}: it is of {', '.join(others)}.",
            needed=f"apiVersion {others[0]}.",
            todo=f"change apiVersion to {others[0]}, whose fields may differ.",
            blocks=old is None,
        )


def _brought(api_version: str, kind: str, facts: Facts) -> bool:
    """Whether a CustomResourceDefinition in the files brings the kind."""
    group, _, version = api_version.rpartition("/")
    for item in facts.known(FILES):
        spec = item.get("spec") or {}
        if item["kind"] == "CustomResourceDefinition" and spec.get("group") == group:
            names = {each.get("name") for each in spec.get("versions") or ()}
            if (spec.get("names") or {}).get("kind") == kind and version in names:
                return True
    return False


def service_names(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A name from which the job's controller derives names that no Service may have; the job itself is accepted.

    Rules: those of companions.py.
    """
    job = manifest.job(facts)
    if job is None or not manifest.obj["metadata"].get("name"):
        return
    if bad := bad_service_name(job, manifest.obj):
        yield flaw(
            "ServiceNameInvalid",
            f"its pods find each other by the Service {bad.name}, which cannot exist: {bad.why}.",
            needed=f"a name of at most {bad.most} characters: lower case letters, digits and '-', a letter first.",
            todo="give it such a name.",
            blocks=bad.certain,
            words=["DNS-1035"],
        )


def namespace(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A namespace that does not exist.

    Rule: apiserver/pkg/admission/plugin/namespace/lifecycle of Kubernetes, v1.22 to v1.37.
    """
    if manifest.ref.namespace and not is_here("namespaces", "", manifest.space, facts):
        yield flaw(
            "NamespaceMissing",
            f"namespace {manifest.space} does not exist.",
            needed="an existing namespace.",
            todo="create it, or correct metadata.namespace.",
        )


def runtime(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A TrainJob that names a runtime of its namespace as one of the cluster, as it does without a kind.

    With a cluster, Trainer's webhook says so in the dry run.

    Rule: the default of runtimeRef.kind in pkg/apis/trainer/v1alpha1/trainjob_types.go of Trainer, v2.1.0 to v2.3.0.
    """
    if manifest.kind != "TrainJob" or manifest.ref.group != _TRAINER or not isinstance(facts.found.get(SERVED), Unread):
        return
    named = manifest.obj["spec"].get("runtimeRef") or {}
    kind, name = named.get("kind", "ClusterTrainingRuntime"), named.get("name")
    brought = {
        str(item["kind"])
        for item in facts.known(FILES)
        if group_of(str(item["apiVersion"])) == _TRAINER
        and item["metadata"].get("name") == name
        and item["metadata"].get("namespace") in {None, manifest.space}
    }
    if "TrainingRuntime" in brought and kind == "ClusterTrainingRuntime" and kind not in brought:
        yield flaw(
            "RuntimeMissing",
            f"runtimeRef names {kind} {name}{'' if 'kind' in named else ', as it has no kind'}; the files have a "
            f"TrainingRuntime {name}, and whether the cluster has the other one is not known.",
            needed="the kind of the runtime that is meant.",
            todo="write kind: TrainingRuntime in runtimeRef.",
            blocks=False,
            edits=[Edit(("spec", "runtimeRef", "kind"), "TrainingRuntime")],
        )


def queue(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A queue that does not exist, or that accepts no jobs.

    Rules, of Volcano v1.8.0 to v1.15.1: Snapshot of pkg/scheduler/cache ignores a PodGroup of an unknown queue;
    validateJobCreate of pkg/webhooks/admission/jobs/validate and admission/pods look at its state.
    """
    for name in _queues(manifest, facts):
        if not is_here(QUEUES, "", name, facts):
            known = sorted(item["metadata"]["name"] for item in facts.all(QUEUES))
            yield flaw(
                "QueueMissing",
                f"queue {name} does not exist: Volcano ignores the gang.{did_you_mean(name, known)}",
                needed=f"an existing queue; there are {', '.join(known) or 'none'}.",
                todo="create the Queue, or name another one: a job's queue cannot be changed later.",
                words=["queue", name, "found"],
            )
            continue
        state = (_object(QUEUES, name, facts).get("status") or {}).get("state") or "Open"
        if state != "Open":
            yield flaw(
                f"Queue{state}",
                f"queue {name} is {state}: it accepts no new pods.",
                needed="an Open queue.",
                todo="open the queue, or name another one.",
                words=["queue", name, state],
            )


def queue_unread(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A queue in a place that nothing reads.

    Rules: those of queue_marks.py.
    """
    job = manifest.job(facts)
    if job and (found := unread_queues(manifest.obj, job)):
        yield flaw(
            "QueueNotRead",
            f"{'; '.join(f'{place}: {name}' for place, name in found.items())}: nothing reads a "
            f"{manifest.kind}'s queue there, and its gang goes to queue {job.queue or 'default'}.",
            needed=f"the queue in {field_of_queue(manifest.obj)}.",
            todo=f"move it to {field_of_queue(manifest.obj)}.",
            blocks=False,
        )


def _queues(manifest: Manifest, facts: Facts) -> Iterator[str]:
    """The queues that the job names, and the pods of a workload that Volcano schedules without a job."""
    job = manifest.job(facts)
    if job and job.queue:
        yield job.queue
    elif job is None:
        of_volcano = (item for item in manifest.templates if item.spec.get("schedulerName") == VOLCANO)
        yield from dict.fromkeys(filter(None, (item.marked("annotations").get(QUEUE_NAME) for item in of_volcano)))


def priority_classes(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """PriorityClasses that do not exist.

    Rules: plugin/pkg/admission/priority of Kubernetes, v1.22 to v1.37; Snapshot of pkg/scheduler/cache of Volcano,
    v1.8.0 to v1.15.1, for that of a PodGroup.
    """
    job = manifest.job(facts)
    of_pods = [str(item.spec.get("priorityClassName") or "") for item in manifest.templates]
    for name in dict.fromkeys((job.priority_class if job else "", *of_pods)):
        if name and name not in BUILT_IN_CLASSES and not is_here(PRIORITY_CLASSES, "", name, facts):
            known = sorted(item["metadata"]["name"] for item in facts.all(PRIORITY_CLASSES))
            consequence = "the API server refuses its pods" if name in of_pods else "the job has the default priority"
            yield flaw(
                "PriorityClassMissing",
                f"PriorityClass {name} does not exist: {consequence}.{did_you_mean(name, known)}",
                needed="an existing PriorityClass.",
                todo="create it, or name another one.",
                blocks=name in of_pods,
                words=["PriorityClass", name] if name in of_pods else (),
            )


def priority_of_group(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A priority class that reaches the PodGroup alone.

    Rule: ReconcileJobs of pkg/controller.v1/common of the training operator, v1.5.0 to v1.9.4.
    """
    job = manifest.job(facts)
    if job is None or not job.priority_class or manifest.ref.group != "kubeflow.org":
        return
    without = [shown((*item.path, "spec")) for item in manifest.templates if not item.spec.get("priorityClassName")]
    if without:
        yield flaw(
            "PriorityOfGroupOnly",
            f"priorityClass {job.priority_class} of schedulingPolicy is that of the PodGroup: pods of "
            f"{few(without, 2)} have no priority themselves, by which the kubelet and other schedulers evict.",
            needed="the class in the pod templates, too.",
            todo=f"set priorityClassName {job.priority_class} in each pod template.",
            blocks=False,
        )


def claims(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Claims that the pods name and that do not exist.

    Rule: PreFilter of pkg/scheduler/framework/plugins/volumebinding of Kubernetes, v1.22 to v1.37.
    """
    names = dict.fromkeys(
        claim["claimName"]
        for template in manifest.templates
        for claim in mappings_in(template.spec.get("volumes"))
        if isinstance(claim.get("claimName"), str)
    )
    for name in names:
        if not is_here(CLAIMS, manifest.space, name, facts):
            yield flaw(
                "ClaimMissing",
                f"PersistentVolumeClaim {manifest.space}/{name} does not exist: its pods stay Pending.",
                needed="an existing claim in the namespace of the pods.",
                todo="create it, or correct claimName.",
            )


def is_here(resource: str, namespace: str, name: str, facts: Facts) -> bool:
    """Whether the cluster or the files have it; `namespace` is empty for what is in none.

    Raises:
        CannotJudgeError: the files do not, and the cluster could not be read.
    """
    return bool(_object(resource, name, facts, namespace)) or facts.get(resource, namespace, name) is not None


def _object(resource: str, name: str, facts: Facts, namespace: str = "") -> Object:
    ids = ((item["metadata"], item) for item in facts.objects.get(resource, ()))
    return next((item for meta, item in ids if (meta["name"], meta.get("namespace") or "") == (name, namespace)), {})
