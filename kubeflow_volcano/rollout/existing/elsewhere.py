"""Programs of an adopted component that would run on beside the release's: in another namespace, or by another name.

Adoption takes objects over by their names. ClusterRoleBindings and webhook configurations then name the release's
ServiceAccounts and Services: what runs elsewhere runs on without rights, or both act on the same kinds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.catalog.images.names import ImageName, program_of
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.admission.webhooks import backends, selected, webhook_configurations, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.ownership import mark_of
from kubeflow_volcano.cluster.volcano import SCHEDULER_PROGRAM, scheduler_names
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import few

_WORKLOADS = ("DaemonSet", "Deployment", "StatefulSet")
_BINDINGS = frozenset({"ClusterRoleBinding", "RoleBinding"})
_REVISION = "istio.io/rev"
"""Label of istiod: control planes of several revisions are meant to run side by side."""
_MOST_SHOWN = 12

Account = tuple[str, str]
"""Namespace and name of a ServiceAccount."""


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of one component: workloads, the bindings and webhook configurations that adoption takes from them.

    `hooks` are all that their Services answer, `bindings` all that give rights to them alone, and `services` those that
    lead to their pods alone.
    """

    workloads: Sequence[Object]
    hooks: Sequence[Ref]
    bindings: Sequence[Ref]
    services: Sequence[Ref]
    moved: Sequence[Ref]


def left_behind(
    cluster: Cluster, part: Component, objects: Sequence[Object], originals: Mapping[str, str]
) -> Iterator[Problem]:
    """The problem of an adopted component that runs elsewhere; `originals` has upstream's names of renamed images.

    Raises:
        ApiError: workloads, bindings or webhook configurations cannot be read.
    """
    live = [obj for kind in _WORKLOADS for obj in cluster.list("apps/v1", kind).items]
    declared = {Ref.of(obj): obj for obj in objects}
    others = [obj for obj in live if Ref.of(obj) not in declared and obj["spec"].get("replicas", 1)]
    rights = {ref: cluster.get(ref) or {} for ref in declared if ref.kind in _BINDINGS}
    losing = {ref: lost for ref, found in rights.items() if (lost := {*_accounts(found)} - {*_accounts(declared[ref])})}
    accounts = {account for lost in losing.values() for account in lost}
    everywhere = {name for obj in objects if obj["kind"] == "ClusterRoleBinding" for name in _accounts(obj)}
    own = [obj for obj in objects if obj["kind"] in _WORKLOADS and _account(obj) in everywhere]
    found = [
        obj
        for obj in others
        if _account(obj) in accounts or any(_is_same_program(obj, other, originals) for other in own)
    ]
    if found:
        left = _Left(found, *_around(cluster, found, live, declared), moved=sorted(losing))
        yield _problem(part, left, sorted({obj["metadata"]["namespace"] for obj in own}))


def _accounts(binding: Object) -> Iterator[Account]:
    for subject in binding.get("subjects") or ():
        if subject["kind"] == "ServiceAccount":
            yield subject.get("namespace", ""), subject["name"]


def _account(workload: Object) -> Account:
    pods = workload["spec"]["template"]["spec"]
    # The API server copies the deprecated field, which Volcano's manifests have, into the other one.
    return workload["metadata"]["namespace"], pods.get("serviceAccountName") or pods.get("serviceAccount") or "default"


def _is_same_program(live: Object, declared: Object, originals: Mapping[str, str]) -> bool:
    """Whether `live` runs all programs of `declared`, unless it is meant to run beside it.

    Schedulers with other names and Istio's revisions are.
    """
    wanted = [(ImageName.parse(originals.get(item["image"], item["image"])), item) for item in _containers(declared)]
    if not all(name and any(_starts(item, like, name) for item in _containers(live)) for name, like in wanted):
        return False
    if any(name and name.name == SCHEDULER_PROGRAM for name, _ in wanted):
        return bool({*scheduler_names(live)} & {*scheduler_names(declared)})
    return _revision(live) == _revision(declared)


def _containers(workload: Object) -> list[Object]:
    containers: list[Object] = workload["spec"]["template"]["spec"]["containers"]
    return containers


def _starts(live: Object, declared: Object, upstream: ImageName) -> bool:
    """Whether a container starts the program of the declared one: a sidecar with its image may run a script."""
    same = live.get("command") == declared.get("command")
    image = ImageName.parse(live["image"]) if same else program_of(live)
    # Below the prefix of a mirror, too.
    return image is not None and f"/{image.path}".endswith(f"/{upstream.path}")


def _revision(workload: Object) -> str:
    return str((workload["metadata"].get("labels") or {}).get(_REVISION) or "default")


def _around(
    cluster: Cluster, workloads: Sequence[Object], live: Sequence[Object], declared: Collection[Ref]
) -> tuple[list[Ref], list[Ref], list[Ref]]:
    """The webhook configurations that these workloads answer, and the bindings and Services that are theirs alone.

    A Service with the mark of another tool than theirs is not. `live` are all workloads.
    """
    services = cluster.list("v1", "Service").items
    hooks = {
        hook.owner for hook in webhooks(webhook_configurations(cluster)) if backends(hook, (*services, *workloads))
    }
    theirs = {_account(obj) for obj in workloads}
    bindings = [
        Ref.of(obj)
        for obj in cluster.list("rbac.authorization.k8s.io/v1", "ClusterRoleBinding").items
        if (accounts := {*_accounts(obj)}) and accounts <= theirs and Ref.of(obj) not in declared
    ]
    ending, marks = {Ref.of(obj) for obj in workloads}, {mark_of(obj) for obj in workloads}
    idle = [
        Ref.of(obj)
        for obj in services
        if Ref.of(obj) not in declared
        and mark_of(obj) in marks
        and (behind := {Ref.of(item) for item in selected(obj, live)})
        and behind <= ending
    ]
    return sorted(hooks), sorted(bindings), sorted(idle)


def _problem(part: Component, left: _Left, namespaces: Sequence[str]) -> Problem:
    refs = [Ref.of(obj) for obj in left.workloads]
    marks = sorted({mark for obj in left.workloads if (mark := mark_of(obj))})
    taken = [*left.moved, *left.hooks]
    loses = f" It would lose {_few(taken)}." if taken else ""
    # Webhooks first: without a backend they would refuse what comes next.
    commands = [*_delete(left.hooks), *_delete(refs), *_delete(left.bindings), *_delete(left.services)]
    tool = f" Tell {', '.join(marks)} first, which would make them again." if marks else ""
    return Problem(
        f"{part.name}, which kubeflow_adopt names, also runs as {_few(refs)}{f' ({_few(marks)})' if marks else ''}, "
        f"which adoption leaves there: the release has it in {', '.join(namespaces)}.{loses}",
        f"one {part.title}: two would act on the same objects, one of them without rights. Nothing that others made is "
        "deleted here.",
        f"delete these (CRDs and what people made stay), and run again: {'; '.join(commands)}.{tool} "
        f"Or leave it to those who installed it: kubeflow_existing: [{part.name}].",
    )


def _few(items: Iterable[object]) -> str:
    return few([str(item) for item in items], _MOST_SHOWN)


def _delete(refs: Sequence[Ref]) -> Iterator[str]:
    """Commands that delete these objects, one for each kind and namespace."""
    for namespace, kind in sorted({(ref.namespace, ref.kind) for ref in refs}):
        names = [ref.name for ref in refs if (ref.namespace, ref.kind) == (namespace, kind)]
        where = f" -n {namespace}" if namespace else ""
        yield f"kubectl{where} delete {kind.lower()} {' '.join(names)}"
