"""Namespaces on clusters whose admission policies require certain labels, such as those of shared platforms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus

import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.patches.bare import mark_bare
from kubeflow_volcano.rollout.settings.settings import OF_KUBERNETES, Settings

_OF_PROFILES = "namespace-labels-data"
"""Prefix of the ConfigMap with the labels that the profile controller puts on namespaces of profiles."""

_KEY = "namespace-labels.yaml"


def label_namespaces(objects: Iterable[Object], labels: Mapping[str, str]) -> None:
    """Add the labels to every Namespace, and to the configuration of the profile controller."""
    if not labels:
        return
    for obj in objects:
        if obj["kind"] == "Namespace":
            obj["metadata"]["labels"] = {**(obj["metadata"].get("labels") or {}), **labels}
        elif _is_of_profiles(obj):
            obj["data"][_KEY] = yaml.dump(
                {**_labels_of_profiles(obj), **labels}, Dumper=foreign.Dumper, sort_keys=False
            )


def missing_namespaces(
    components: Iterable[Component], parts: Mapping[str, Sequence[Object]], settings: Settings
) -> Mapping[str, Sequence[Object]]:
    """By component: the namespaces into which it puts objects, and that neither a manifest nor Kubernetes has.

    Those of existing components are made by their owners, and those that an excluded one would make are left to others.
    """
    known = {obj["metadata"]["name"] for objects in parts.values() for obj in objects if obj["kind"] == "Namespace"}
    known |= {*OF_KUBERNETES, *(name for part in settings.existing for name in settings.component(part).namespaces)}
    known |= _of_excluded(settings)
    missing: dict[str, Sequence[Object]] = {}
    for part in components:
        used = {obj["metadata"].get("namespace") for obj in parts.get(part.name, ())}
        made = [_namespace(name, {}) for name in part.namespaces if name in used - known]
        known |= {obj["metadata"]["name"] for obj in made}
        label_namespaces(made, settings.namespace_labels)
        mark_bare(made)
        missing[part.name] = made
    return missing


def _of_excluded(settings: Settings) -> set[str]:
    """Namespaces that components in kubeflow_exclude would make, as far as the catalog tells: those with injection."""
    known = settings.release.components
    return {name for part in settings.excluded if part in known for name in known[part].injected}


def refused_namespaces(
    cluster: Cluster, parts: Mapping[str, Iterable[Object]], settings: Settings
) -> Iterator[Problem]:
    """Namespaces that do not exist, and that nothing makes or the cluster's admission rejects in a dry run.

    Raises:
        ApiError: the API server did not answer.
    """
    declared = {obj["metadata"]["name"] for objects in parts.values() for obj in objects if obj["kind"] == "Namespace"}
    left_out = _of_excluded(settings) - declared
    for obj in _namespaces(parts, settings):
        if cluster.get(Ref.of(obj)) is not None:
            continue
        if obj["metadata"]["name"] in left_out:
            yield Problem(
                f"namespace {obj['metadata']['name']} does not exist, and the component that makes it is in "
                "kubeflow_exclude.",
                "the namespace, with the labels that its pods need.",
                "create it, or remove the component from kubeflow_exclude.",
            )
            continue
        try:
            cluster.create(obj, dry_run=True)
        except ApiError as error:
            if error.status not in {HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY}:
                raise
            yield Problem(
                f"the cluster does not admit namespace {obj['metadata']['name']}: {error.message}.",
                "namespaces that the cluster's policies admit, and the right to create them.",
                "set kubeflow_namespace_labels to the labels that the policy requires, or ask the administrators "
                "of the cluster for that right.",
            )


def _namespaces(parts: Mapping[str, Iterable[Object]], settings: Settings) -> Iterator[Object]:
    """The namespaces of manifests and components, and those of profiles as their controller creates them."""
    of_profiles: Mapping[str, str] = settings.namespace_labels
    teams = {item.name: item.owner for item in settings.profiles}
    declared: set[str] = set()
    for obj in (obj for objects in parts.values() for obj in objects):
        if obj["kind"] == "Namespace":
            declared.add(obj["metadata"]["name"])
            if obj["metadata"]["name"] not in teams:
                yield obj
        elif _is_of_profiles(obj):
            of_profiles = _labels_of_profiles(obj)
    for name in sorted({name for part in settings.components for name in part.namespaces} - declared):
        yield _namespace(name, settings.namespace_labels)
    labels = {key: value for key, value in of_profiles.items() if value}
    if "user-namespace" in parts:
        yield _namespace(settings.user.namespace, labels, owner=settings.user.email)
    if "profiles" in parts:
        for name, owner in teams.items():
            yield _namespace(name, labels, owner=owner)


def _namespace(name: str, labels: Mapping[str, str], **annotations: str) -> Object:
    meta = {"labels": dict(labels), "annotations": annotations}
    return new_object("v1", "Namespace", name, meta={key: value for key, value in meta.items() if value})


def _is_of_profiles(obj: Object) -> bool:
    return obj["kind"] == "ConfigMap" and obj["metadata"]["name"].startswith(_OF_PROFILES) and _KEY in obj["data"]


def _labels_of_profiles(config_map: Object) -> dict[str, str]:
    """The labels in it; an empty value removes a label."""
    (parsed,) = foreign.parse(config_map["data"][_KEY].encode(), _KEY)
    return {str(key): str(value) for key, value in (parsed or {}).items()}
