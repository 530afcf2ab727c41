"""Rules about the pods of a job: sidecars that keep them from ending, images that no registry has."""

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


def sidecar(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Istio's proxy in pods that are to end: it keeps running, and the job with it.

    Rule: pkg/kube/inject of Istio 1.14 to 1.24: a label of the pod decides before its annotation, and the namespace
    where neither is set.
    """
    if not ends(manifest.obj):
        return
    asked = [item for item in manifest.templates if _injection(item)]
    silent = [item for item in manifest.templates if _injection(item) is None]
    if silent and not _injects(facts.get("namespaces", "", manifest.space) or {}):
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
    """Images that are known to be gone from their registry."""
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
