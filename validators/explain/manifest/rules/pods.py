"""Rules about the pods of a job: their containers' names, their DNS, sidecars that do not end, images that are gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.images.tables import gone
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.edits import Edit
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.rules.admission import admitted_pod
from kubeflow_volcano.validators.explain.manifest.templates import Path, Template, ends, shown

_PROXY = "istio-proxy"
_INJECT = "sidecar.istio.io/inject"
_NAMED = {
    "JAXJob": "jax",
    "MXJob": "mxnet",
    "PaddleJob": "paddle",
    "PyTorchJob": "pytorch",
    "TFJob": "tensorflow",
    "XGBoostJob": "xgboost",
}
"""The name that a container of each role must have; an MPIJob may name its containers as it likes."""
_MEETING = frozenset({*_NAMED, "ClusterTrainingRuntime", "JobSet", "TrainingRuntime"})
"""Kinds whose pods find each other by names of Services, and whose operators leave their DNS policy as it is."""
_LEAST_TO_MEET = 2
_HOST_DNS = "ClusterFirstWithHostNet"


def container_names(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """A role of a Kubeflow job without the container to which its operator adds what the program needs.

    Rules: pkg/apis/kubeflow.org/v1/*_validation.go of the training operator, v1.5.0 to v1.7.0 (that of MXJob up to
    v1.8.1), and pkg/webhooks, v1.8.0 to v1.9.4.
    """
    name = _NAMED.get(manifest.kind) if manifest.ref.group == "kubeflow.org" else None
    without = [
        item
        for item in manifest.templates
        if name and name not in {each.get("name") for each in item.spec.get("containers") or ()}
    ]
    if without:
        places = few([shown((*item.path, "spec", "containers")) for item in without])
        yield flaw(
            "ContainerNameMissing",
            f"{places}: no container has the name {name}: the operator refuses a {manifest.kind} without it.",
            needed=f"a container with the name {name} in each role, which gets the addresses of the others.",
            todo="give the container of the training program that name.",
            edits=[
                Edit((*item.path, "spec", "containers", 0, "name"), str(name))
                for item in without
                if len(item.spec.get("containers") or ()) == 1
            ],
            words=["container", str(name)],
        )


def host_names(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Pods on the host's network that resolve names as their host does, which may know no Service.

    Rules: GetPodDNS of pkg/kubelet/network/dns of Kubernetes, v1.22 to v1.37 (ClusterFirst is then the resolv.conf of
    the host); mutate_job.go of Volcano, v1.8.0 to v1.15.1, sets the policy of its own jobs, as no other operator does.
    """
    if manifest.kind not in _MEETING or sum(item.replicas for item in manifest.templates) < _LEAST_TO_MEET:
        return
    found = [
        item
        for item in manifest.templates
        if item.spec.get("hostNetwork") is True
        and item.spec.get("dnsPolicy", "ClusterFirst") == "ClusterFirst"
        and not item.spec.get("dnsConfig")
    ]
    if found:
        places = few([shown((*item.path, "spec")) for item in found])
        yield flaw(
            "HostDns",
            f"{places}: hostNetwork without dnsPolicy {_HOST_DNS}: these pods ask the name servers of their host, "
            "which mostly do not know the Services by which the job's pods find each other.",
            needed=f"dnsPolicy {_HOST_DNS} beside hostNetwork.",
            todo="set it in these pod templates.",
            blocks=False,
            edits=[Edit((*item.path, "spec", "dnsPolicy"), _HOST_DNS) for item in found],
        )


def sidecar(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Istio's proxy in pods that are to end: it keeps running, and the job with it.

    Rule: pkg/kube/inject of Istio 1.14 to 1.24: a label of the pod decides before its annotation, and the namespace
    where neither is set.
    """
    if not ends(manifest.obj):
        return
    asked = [item for item in manifest.templates if _injection(item)]
    silent = [item for item in manifest.templates if _injection(item) is None]
    if silent and not _injects(_namespace(manifest, facts)):
        silent = []
    silent, asked = ([item for item in each if _stays(item, manifest, facts)] for each in (silent, asked))
    if asked := asked + silent:
        why = f"namespace {manifest.space} injects it" if silent else f"{_INJECT} is true"
        places = few([shown((*item.path, "metadata")) for item in asked])
        yield flaw(
            "SidecarInjected",
            f"{why}: pods of {places} get Istio's proxy, which does not end with the job: they stay Running, unless "
            "Istio runs it as a native sidecar.",
            needed=f'the label {_INJECT}: "false" on pods that are to end.',
            todo="set it in every pod template.",
            edits=[Edit((*item.path, "metadata", "labels", _INJECT), "false") for item in silent],
        )


def _namespace(manifest: Manifest, facts: Facts) -> Object:
    """Its namespace as the files have it, or else the cluster."""
    known = (item for item in facts.objects.get("namespaces", ()) if item["metadata"]["name"] == manifest.space)
    return next(known, None) or facts.get("namespaces", "", manifest.space) or {}


def _injection(template: Template) -> bool | None:
    """Whether the pod requests the proxy; None where the namespace decides."""
    for field in ("labels", "annotations"):
        if _INJECT in template.marked(field):
            return template.marked(field)[_INJECT].lower() in {"true", "y", "yes", "on"}
    return None


def _stays(template: Template, manifest: Manifest, facts: Facts) -> bool:
    """Whether the proxy keeps running: not where admission adds none, or a native sidecar, which ends with the pod."""
    pod = admitted_pod(manifest, template.path, facts)
    return pod is None or any(item["name"] == _PROXY for item in pod["spec"]["containers"])


def _injects(namespace: Object) -> bool:
    labels: Mapping[str, str] = (namespace.get("metadata") or {}).get("labels") or {}
    # istio-injection decides where a namespace has both labels.
    return labels.get("istio-injection", "enabled" if "istio.io/rev" in labels else "") == "enabled"


def images(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Images that are known to be gone from their registry.

    Rule: none of its own: the evidence is with each in the catalog.
    """
    for text, paths in _images(manifest).items():
        name = ImageName.parse(text)
        entry = gone(name) if name else None
        if name and entry:
            other = entry.replaces(name)
            yield flaw(
                "ImageGone",
                f"{few([shown(path) for path in paths])}: {text} is gone upstream since {entry.since} "
                f"({entry.evidence}): nodes that do not have it cannot pull it.",
                needed="an image that a registry has.",
                todo=f"use {other}, or a mirror that still has it." if other else "use a mirror that still has it.",
                edits=[Edit(path, str(other)) for path in paths if other],
            )


def _images(manifest: Manifest) -> dict[str, list[Path]]:
    """Every image that it names, with the paths of its names."""
    images: dict[str, list[Path]] = {}
    for template in manifest.templates:
        for path, container in template.containers:
            images.setdefault(container.get("image") or "", []).append((*path, "image"))
    if manifest.kind == "TrainJob":
        trainer = manifest.obj["spec"].get("trainer") or {}
        images.setdefault(str(trainer.get("image") or ""), []).append(("spec", "trainer", "image"))
    return images
