"""Whether Pod Security admits the pods of workloads to install, by the API server's own word before the first change.

It judges pods when they are created, and workloads only by warnings: an installation would wait for pods that never
come. Its level is a label of the namespace; without one it is a default of the API server (AdmissionConfiguration) that
no request shows. So each pod is created in a dry run: in its namespace, or in one with the same label where its own is
still to be made.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from kubeflow_volcano.apply.graph import WORKLOAD_KINDS
from kubeflow_volcano.apply.rights import pod_template
from kubeflow_volcano.cluster.admission.pod_security import (
    ENFORCE,
    PRIVILEGED,
    Level,
    level_of,
    needed_level,
    violated,
)
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.mesh import INJECTION, opts_out
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import few

_SECONDS = 10.0
_SYSTEM = re.compile(r"kube-|openshift")
"""Namespaces that are often exempt: they are asked last."""
_INJECTOR = "istio-sidecar-injector"
_REDIRECT: Object = {
    "name": "istio-init",
    "image": "istio-init",
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]},
        "runAsNonRoot": False,
        "runAsUser": 0,
    },
}
"""What Istio's injector adds to pods where it has no CNI plugin (injection-template.yaml)."""
_UNSAID = frozenset(
    {"nodeName", "priority", "priorityClassName", "schedulerName", "serviceAccount", "serviceAccountName"}
)
"""Fields that other plugins of the API server would refuse or other webhooks act on, and no level reads."""

Parts = Mapping[str, Sequence[Object]]


def refused_pods(cluster: Cluster, given: Mapping[str, str], parts: Parts, progress: Progress) -> Iterator[Problem]:
    """The problem of each namespace whose Pod Security level refuses pods of workloads to install there.

    Refusals of others are not judged. A level of `kubeflow_namespace_labels` that no namespace has yet is a note.

    Raises:
        ApiError: the API server did not answer.
    """
    objects = [obj for found in parts.values() for obj in found]
    workloads: dict[str, list[Object]] = defaultdict(list)
    for obj in objects:
        if obj["kind"] in WORKLOAD_KINDS - {"Pod"}:
            workloads[obj["metadata"].get("namespace", "")].append(obj)
    if not workloads:
        return
    live = {
        item["metadata"]["name"]: item["metadata"].get("labels") or {}
        for item in cluster.list("v1", "Namespace", brief=True).items
        if "deletionTimestamp" not in item["metadata"]
    }
    declared = {obj["metadata"]["name"]: obj["metadata"].get("labels") or {} for obj in objects if _is_space(obj)}
    redirects = _redirects(objects)

    @cache
    def admits_all(place: str) -> bool:
        return not _refusal(cluster, _worst(place))

    unknown: list[str] = []
    for name, found in sorted(workloads.items()):
        labels = {**live.get(name, {}), **declared.get(name, {})}
        place = _place(name, level_of(labels), live)
        if level_of(labels)[0] == PRIVILEGED or (place and admits_all(place)):
            continue
        if not place:
            unknown.append(name)
            continue
        injected = redirects and labels.get(INJECTION) == "enabled"
        pods = [_pod(obj, place, injected=injected) for obj in found]
        said = in_parallel(lambda pod: _refusal(cluster, pod), pods)
        refused = {str(Ref.of(obj)): text for obj, text in zip(found, said, strict=True) if violated(text)}
        if refused:
            yield _problem(name, refused, given, exists=name in live, labelled=labels)
    if unknown and (level := given.get(ENFORCE)):
        progress(
            f"note: whether the level {level} of kubeflow_namespace_labels admits the pods in {few(unknown)} is not "
            f"known: no namespace has it yet. Create an empty one with {ENFORCE}={level}, and --check asks there"
        )


def _is_space(obj: Object) -> bool:
    return bool(obj["kind"] == "Namespace")


def _place(name: str, level: Level, live: Mapping[str, Mapping[str, str]]) -> str:
    """The namespace in which to ask: this one, or one with the same level; empty if there is none."""
    if name in live and level_of(live[name]) == level:
        return name
    alike = (other for other, labels in live.items() if level_of(labels) == level)
    return min(alike, key=lambda other: (_SYSTEM.match(other) is not None, other != "default", other), default="")


def _worst(place: str) -> Object:
    """A pod that only the level privileged admits."""
    spec = {"hostNetwork": True, "hostPID": True, "containers": [{"name": "any", "image": "any"}]}
    return new_object("v1", "Pod", "kfv-pod-security", place, spec=spec)


def _pod(workload: Object, place: str, *, injected: bool) -> Object:
    template = copy.deepcopy(dict(pod_template(workload)))
    given = template.get("metadata") or {}
    meta = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    spec = {key: value for key, value in template["spec"].items() if key not in _UNSAID}
    spec["automountServiceAccountToken"] = False
    if injected and not opts_out(given, spec):
        others = [item for item in spec.get("initContainers") or () if item["name"] != _REDIRECT["name"]]
        spec["initContainers"] = [_REDIRECT, *others]
    for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
        container.pop("resources", None)
    name = f"{workload['metadata']['name'][:50]}-kfv"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "name": name, "namespace": place}, "spec": spec}


def _refusal(cluster: Cluster, pod: Object) -> str:
    """Why a dry run does not create the pod; empty if it does."""
    try:
        cluster.create(pod, dry_run=True, deadline=Deadline(_SECONDS))
    except ApiError as error:
        if not error.status:
            raise
        return error.message or error.reason
    return ""


def _redirects(objects: Sequence[Object]) -> bool:
    """Whether the Istio among the objects adds an init container that redirects traffic, which a CNI plugin spares."""
    for obj in objects:
        if obj["kind"] == "ConfigMap" and obj["metadata"]["name"].startswith(_INJECTOR):
            try:
                values = read_json((obj.get("data") or {}).get("values", "{}"))
            except ValueError:
                continue
            plugins = [values.get("istio_cni"), (values.get("pilot") or {}).get("cni")]
            return not any((item or {}).get("enabled") for item in plugins)
    return False


def _problem(
    name: str, refused: Mapping[str, str], given: Mapping[str, str], *, exists: bool, labelled: Mapping[str, str]
) -> Problem:
    first = next(iter(refused.values()))
    why = first.partition('": ')[2][:300]
    level = PRIVILEGED if PRIVILEGED in map(needed_level, refused.values()) else "baseline"
    own = given.get(ENFORCE)
    whose = "by its label" if labelled.get(ENFORCE) else "by default of the API server (AdmissionConfiguration)"
    by_variable = f"set {ENFORCE}: {level} in kubeflow_namespace_labels, which is for all namespaces of the release"
    if own:
        todo = f"take {ENFORCE} out of kubeflow_namespace_labels, or set it to {level}."
    elif exists:
        todo = f"kubectl label namespace {name} {ENFORCE}={level} --overwrite; or {by_variable}."
    else:
        todo = f"{by_variable}; or create namespace {name} with this label."
    return Problem(
        f"namespace {name} enforces Pod Security {violated(first)} {whose}, which refuses pods of "
        f"{few([*refused], 4)}: {why}.",
        f"the level {level}, or a securityContext that it admits (kubeflow_patches).",
        todo,
    )
