"""Dry runs of creating the objects of manifests, and a pod of each of their templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.validators.core.facts import Fact, Unread
from kubeflow_volcano.validators.explain.manifest.model import Manifest
from kubeflow_volcano.validators.explain.manifest.rules.admission import OBJECTS, PODS
from kubeflow_volcano.validators.explain.manifest.templates import Template
from kubeflow_volcano.validators.explain.model import GROUP_NAME
from kubeflow_volcano.validators.reading.dry_runs import Answer, admitted, answer_of, is_own_denial

_Key = TypeVar("_Key")
_PARALLEL = 8
_SECONDS = 10.0


def dry_runs(cluster: Cluster, manifests: Sequence[Manifest], known: Iterable[Object]) -> dict[Fact[Any], Any]:
    """How the API server takes each object and a pod of each template, in namespaces that exist already."""
    spaces = {str(item["metadata"]["name"]) for item in known}
    there = [item for item in manifests if item.ref.namespace in spaces and _is_served(cluster, item)]
    objects = [(item.place, {**item.obj, "metadata": _named(item.obj["metadata"], item)}) for item in there]
    pods = [
        ((item.place, template.path), _pod(template, item))
        for item in there
        for template in item.templates
        if item.kind != "Pod" and template.spec
    ]
    of_objects, of_pods = _taken(cluster, objects, OBJECTS.name), _taken(cluster, pods, PODS.name)
    if not isinstance(of_objects, Unread):
        of_objects = {place: each for place, each in of_objects.items() if isinstance(each, Answer)}
    return {OBJECTS: of_objects, PODS: of_pods}


def _taken(cluster: Cluster, dry: Sequence[tuple[_Key, Object]], what: str) -> dict[_Key, Object | Answer] | Unread:
    """How the API server takes each object, by its key."""
    answers = in_parallel(lambda pair: admitted(cluster, pair[1], _SECONDS), dry, _PARALLEL)
    for each in answers:
        if isinstance(each, ApiError) and is_own_denial(each):
            return Unread("Forbidden", f"{what} were not made: {each.message}.", "grant the permission to create them.")
    judged = {key: _answer(each) for (key, _), each in zip(dry, answers, strict=True)}
    return {key: each for key, each in judged.items() if each is not None}


def _answer(taken: Object | ApiError) -> Object | Answer | None:
    """The pod, or how it was refused; None where a webhook did not answer, or the object exists already."""
    if not isinstance(taken, ApiError):
        return taken
    answer = answer_of(taken)
    return None if answer.kind in {"accepted", "silent"} else answer


def _named(meta: Object, manifest: Manifest) -> Object:
    name = meta.get("name") or f"{meta['generateName']}dry-run"
    return {**meta, "name": name, "namespace": manifest.space}


def _pod(template: Template, manifest: Manifest) -> Object:
    """A pod of the template, without the PodGroup's name: Volcano refuses members of one that it has not admitted."""
    annotations = {key: text for key, text in template.marked("annotations").items() if key != GROUP_NAME}
    meta = {"name": "kfv-dry-run", "labels": dict(template.marked("labels")), "annotations": annotations}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "namespace": manifest.space},
        "spec": template.spec,
    }


def _is_served(cluster: Cluster, manifest: Manifest) -> bool:
    try:
        return cluster.resource(manifest.ref.api_version, manifest.kind).namespaced
    except NotServed:
        return False
