"""Whether an Istio of others fits: policies and Gateways to install select its pods, and it injects sidecars."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.cluster.admission.webhooks import Webhook
from kubeflow_volcano.cluster.mesh import (
    INJECTION,
    SELECTING,
    Mesh,
    injectors,
    is_injected,
    is_selected,
    opts_out,
    selector_of,
)
from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import few

_TEMPLATES = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
_OPEN = " What these do not select is not checked: any client of the gateway gets the dashboard without a login."


@dataclass(frozen=True, slots=True)
class _Pods:
    """_Pods, and pod templates of workloads, as far as selectors need them: name, namespace and labels of each."""

    found: tuple[tuple[str, str, Mapping[str, str]], ...]

    @classmethod
    def of(cls, objects: Iterable[Object]) -> _Pods:
        """Those among the objects."""
        return cls(tuple(_labelled(objects)))

    def selected_by(self, obj: Object, mesh: Mesh) -> dict[tuple[str, str], str]:
        """The pods to which it applies: namespace and name, with a word for people."""
        return {
            (namespace, name): f"{name} in {namespace}"
            for name, namespace, labels in self.found
            if is_selected(obj, namespace, labels, mesh)
        }


def _labelled(objects: Iterable[Object]) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    for obj in objects:
        meta = obj["metadata"]
        if obj["kind"] == "Pod" and not has_ended(obj):
            yield f"Pod {meta['name']}", meta["namespace"], meta.get("labels") or {}
        elif obj["kind"] in _TEMPLATES:
            template = obj["spec"]["template"].get("metadata") or {}
            yield f"{obj['kind']} {meta['name']}", meta.get("namespace", ""), template.get("labels") or {}


@dataclass(frozen=True, slots=True)
class Found:
    """What is on the cluster: pods and workloads, webhook configurations, the mesh, namespaces as they will be."""

    live: Sequence[Object]
    configurations: Sequence[Object]
    mesh: Mesh
    spaces: Mapping[str, Object]


def unfit_mesh(objects: Sequence[Object], manifests: Sequence[Object], found: Found) -> Iterator[Problem]:
    """Why an Istio of others does not do for `objects` what the release's own (`manifests`) does.

    Each selector of the objects finds a pod of others or of the objects. What guards a gateway in the release's
    manifests, because both select the same pods, guards all pods that this Gateway selects on the cluster. A webhook of
    an injector is called for pods of the objects that get a sidecar in the release.
    """
    selecting = [obj for obj in objects if obj["kind"] in SELECTING and selector_of(obj)]
    pods, planned = _Pods.of([*found.live, *objects]), _Pods.of([*manifests, *objects])
    yield from _selecting_none(selecting, pods, found.mesh)
    yield from _unguarded(selecting, pods, planned, found.mesh)
    yield from _not_injected(objects, injectors(found.configurations), found.spaces)


def _selecting_none(selecting: Sequence[Object], pods: _Pods, mesh: Mesh) -> Iterator[Problem]:
    unmet: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for obj in selecting:
        if not pods.selected_by(obj, mesh):
            namespace = obj["metadata"]["namespace"]
            everywhere = namespace == mesh.root if obj["kind"] != "Gateway" else not mesh.scoped
            unmet[_labels(obj), "any namespace" if everywhere else f"namespace {namespace}"].append(obj)
    for (labels, where), found in unmet.items():
        yield Problem(
            f"Istio, which kubeflow_existing names, does not fit: no pod in {where} has the labels {labels}.",
            f"pods with these labels, because {few([str(Ref.of(obj)) for obj in found], 4)} "
            f"select{'s' if len(found) == 1 else ''} them.{_OPEN if any(map(_refuses, found)) else ''}",
            f"let its owner give the labels {labels} to the pods of the gateway that is to serve Kubeflow; all labels "
            "that are missing go to the same pods. Or take Istio over with kubeflow_adopt: [istio].",
        )


def _labels(obj: Object) -> str:
    return ", ".join(f"{key}: {value}" for key, value in selector_of(obj).items())


def _unguarded(selecting: Sequence[Object], pods: _Pods, planned: _Pods, mesh: Mesh) -> Iterator[Problem]:
    gateways = [obj for obj in selecting if obj["kind"] == "Gateway"]
    for gateway in gateways:
        own = planned.selected_by(gateway, Mesh()).keys()
        serving = pods.selected_by(gateway, mesh)
        for guard in filter(_refuses, selecting):
            guarded = pods.selected_by(guard, mesh).keys()
            open_ = [text for place, text in sorted(serving.items()) if place not in guarded]
            # One without any pod is named already.
            if open_ and guarded and own & planned.selected_by(guard, Mesh()).keys():
                yield Problem(
                    f"{Ref.of(gateway)} selects {few(open_, 3)}, which {Ref.of(guard)} does not select.",
                    f"the labels {_labels(guard)} on each pod that serves what the Gateway announces, in a namespace "
                    f"that the policy reaches.{_OPEN}",
                    "let the owner of Istio give them to these pods, or take the label that the Gateway selects off "
                    "pods that are not to serve Kubeflow.",
                )


def _refuses(obj: Object) -> bool:
    """Whether what it does not select is open: an ALLOW policy on the contrary admits what it selects."""
    if obj["kind"] == "AuthorizationPolicy":
        return (obj.get("spec") or {}).get("action", "ALLOW") in {"CUSTOM", "DENY"}
    return bool(obj["kind"] != "Gateway")


def _not_injected(
    objects: Sequence[Object], hooks: Sequence[Webhook], spaces: Mapping[str, Object]
) -> Iterator[Problem]:
    lost: dict[str, list[str]] = {}
    for obj in objects:
        space = spaces.get(obj["metadata"].get("namespace", ""))
        if obj["kind"] not in _TEMPLATES or space is None or not _asks(space):
            continue
        template = obj["spec"]["template"]
        meta = template.get("metadata") or {}
        if not opts_out(meta, template["spec"]) and not is_injected(meta.get("labels") or {}, space, hooks):
            lost.setdefault(space["metadata"]["name"], []).append(str(Ref.of(obj)))
    for name, workloads in sorted(lost.items()):
        chosen = ", ".join(f"{hook.owner.name}/{hook.name}" for hook in hooks) or "none"
        revisions = sorted({text for hook in hooks for text in _revisions(hook)})
        tag = f"istioctl tag set default --revision {revisions[0]}" if revisions else "istioctl tag set default"
        yield Problem(
            f"Istio, which kubeflow_existing names, injects no sidecar in namespace {name} with the label "
            f"{INJECTION}: enabled. Its webhooks: {chosen}.",
            f"sidecars for {few(workloads, 3)}: policies admit pods by the identity that a sidecar gives them, so that "
            "without one the parts of Kubeflow refuse each other.",
            f"let its owner make the injector choose namespaces with {INJECTION}: enabled, for a revision with "
            f"{tag}; or take Istio over with kubeflow_adopt: [istio].",
        )


def _asks(space: Object) -> bool:
    return bool((space["metadata"].get("labels") or {}).get(INJECTION) == "enabled")


def _revisions(hook: Webhook) -> Iterator[str]:
    """The revisions that its selectors name."""
    selector = hook.text.get("namespaceSelector") or {}
    if revision := (selector.get("matchLabels") or {}).get("istio.io/rev"):
        yield revision
    for rule in selector.get("matchExpressions") or ():
        if rule["key"] == "istio.io/rev" and rule["operator"] == "In":
            yield from rule["values"]
