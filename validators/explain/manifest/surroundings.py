"""What manifests are judged against: the objects of all files, and what the cluster says about what they name."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, group_of
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Fact, Facts, Unread
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.creation.prerequisites import PRIORITY_CLASSES
from kubeflow_volcano.validators.explain.creation.quotas import LIMIT_RANGES
from kubeflow_volcano.validators.explain.kinds import JOBSETS
from kubeflow_volcano.validators.explain.manifest.dry_runs import dry_runs
from kubeflow_volcano.validators.explain.manifest.model import FILES, REQUESTS, Manifest
from kubeflow_volcano.validators.explain.manifest.rules.admission import OBJECTS, PODS
from kubeflow_volcano.validators.explain.manifest.rules.devices import KINDS, names_devices
from kubeflow_volcano.validators.explain.manifest.rules.kueue import KINDS as OF_KUEUE
from kubeflow_volcano.validators.explain.manifest.rules.kueue import KUEUE, names_kueue
from kubeflow_volcano.validators.explain.manifest.rules.references import CLAIMS, SERVED
from kubeflow_volcano.validators.explain.manifest.schemas import SCHEMAS, Schemas, fetch
from kubeflow_volcano.validators.explain.placement.dynamic_resources import API, TEMPLATES
from kubeflow_volcano.validators.explain.reading.queries import KINDS_READ, Query, list_objects, newest_served, refusal
from kubeflow_volcano.validators.explain.scheduling import kueue
from kubeflow_volcano.validators.explain.scheduling.volcano import PODGROUPS, QUEUES
from kubeflow_volcano.validators.reading.devices import CLAIMS as DEVICE_CLAIMS
from kubeflow_volcano.validators.reading.devices import CLASSES, GROUP, VERSIONS

_T = TypeVar("_T")
_CLUSTER_WIDE = (QUEUES, PRIORITY_CLASSES)
_OF_NAMESPACE = (CLAIMS, LIMIT_RANGES, PODGROUPS, SCHEDULER_PLUGINS.podgroups, KUBERNETES.podgroups)
_NAMESPACES = "namespaces"
_ALPHA = tuple(f"{GROUP}/{version}" for version in ("v1alpha3", "v1alpha2"))
"""Versions of ResourceClaims of Kubernetes 1.26 to 1.31, behind a feature gate."""


def surroundings(
    manifests: Sequence[Manifest], cluster: Cluster | None, why: str = "", requests: Mapping[str, str] | None = None
) -> Facts:
    """The facts that rules read; without a cluster those of the files, and the rest unknown for the reason `why`.

    `requests` are what corrections give to containers of gangs without any.
    """
    manifests = [item for item in manifests if not item.wrong_types]
    without = Unread(
        "NoCluster",
        f"no cluster was asked ({why}): whether kinds, namespaces, queues and PriorityClasses exist, and "
        "whether the namespace injects sidecars or sets requests, was judged by the files alone.",
        "name a cluster with --kubeconfig or --context.",
    )
    of_devices = (TEMPLATES, DEVICE_CLAIMS, CLASSES)
    of_kueue = tuple(OF_KUEUE.values())
    resources = (_NAMESPACES, *_CLUSTER_WIDE, *_OF_NAMESPACE, *of_devices, *of_kueue)
    objects: dict[str, tuple[Object, ...]] = {JOBSETS: (), **{name: _in_files(name, manifests) for name in resources}}
    unread: dict[str, Unread] = {}
    found: dict[Fact[Any], Any] = {
        FILES: tuple(item.obj for item in manifests),
        REQUESTS: tuple((requests or {}).items()),
        API: without,
        KUEUE: without,
        SERVED: without,
        SCHEMAS: without,
        OBJECTS: without,
        PODS: without,
    }
    if cluster is None:
        unread = dict.fromkeys(resources, without)
    else:
        spaces = sorted({item.space for item in manifests if item.ref.namespace})
        queries = [Query(name) for name in _CLUSTER_WIDE]
        queries += [Query(name, space) for name in _OF_NAMESPACE for space in spaces]
        if any(map(names_devices, manifests)):
            version: str | Unread = _tried(lambda: newest_served(cluster, (*VERSIONS, *_ALPHA), "ResourceClaim")[0])
            found[API] = version = _of_alpha(version) if version in _ALPHA else version
            if isinstance(version, Unread):
                unread |= dict.fromkeys(of_devices, version)
            elif version:
                queries += [Query(CLASSES, version=version)]
                queries += [Query(name, space, version=version) for name in of_devices[:2] for space in spaces]
        if any(map(names_kueue, manifests)):
            served: str | Unread = _tried(lambda: newest_served(cluster, kueue.VERSIONS, "LocalQueue")[0])
            found[KUEUE] = served
            if isinstance(served, Unread):
                unread |= dict.fromkeys(of_kueue, served)
            elif served:
                queries += [Query(kueue.LOCAL_QUEUES, space, version=served) for space in spaces]
                queries += [Query(kueue.CLUSTER_QUEUES, version=served)]
        for query in queries:
            _add(query.resource, list_objects(cluster, query), objects, unread)
        for space in spaces:
            _add(_NAMESPACES, _namespace(cluster, space), objects, unread)
        found |= dry_runs(cluster, manifests, objects[_NAMESPACES])
        found |= {
            SERVED: _tried(lambda: _served(cluster, manifests)),
            SCHEMAS: _tried(lambda: _schemas(cluster, manifests)),
        }
    return Facts(Expectations(), time.time(), objects=objects, unread=unread, found=found)


def _of_alpha(version: str) -> Unread:
    message = f"the API server serves ResourceClaims in {version} alone, an alpha version: devices were not judged."
    return Unread("NotJudged", message, "judge against Kubernetes 1.32 or later.")


def _in_files(resource: str, manifests: Sequence[Manifest]) -> tuple[Object, ...]:
    """The objects of that kind in the files, in the namespace that they are created in."""
    return tuple(
        {**item.obj, "metadata": {**item.obj["metadata"], **({"namespace": item.space} if item.ref.namespace else {})}}
        for item in manifests
        if "name" in item.obj["metadata"]
        and (
            item.ref[:2] == KINDS_READ[resource]
            or resource in {_known(item, GROUP, KINDS), _known(item, kueue.GROUP, OF_KUEUE)}
        )
    )


def _known(manifest: Manifest, group: str, kinds: Mapping[str, str]) -> str:
    """The resource of an object of that group, in whichever version; empty for other objects."""
    return kinds.get(manifest.kind, "") if manifest.ref.group == group else ""


def _add(
    resource: str,
    answer: tuple[Object, ...] | Unread,
    objects: dict[str, tuple[Object, ...]],
    unread: dict[str, Unread],
) -> None:
    """Add what the cluster has to what the files have; a change of the same object in a file counts."""
    if isinstance(answer, Unread):
        unread[resource] = answer
        return
    known = {Ref.of(item) for item in objects[resource]}
    objects[resource] += tuple(item for item in answer if Ref.of(item) not in known)


def _namespace(cluster: Cluster, name: str) -> tuple[Object, ...] | Unread:
    try:
        found = cluster.get(Ref("v1", "Namespace", "", name))
    except ApiError as error:
        return refusal(error, Rule("get", "", _NAMESPACES, name), f"namespace {name}")
    return (found,) if found else ()


def _tried(read: Callable[[], _T]) -> _T | Unread:
    try:
        return read()
    except ApiError as error:
        return Unread("Unreachable", f"kinds and their schemas could not be read: {error}.", "run the command again.")


def _served(cluster: Cluster, manifests: Sequence[Manifest]) -> Mapping[str, frozenset[str]]:
    groups = {group_of(item.ref.api_version) for item in manifests}
    versions = {version for group in groups for version in _versions(cluster, group)}
    return {version: frozenset(cluster.kinds(version)) for version in versions}


def _versions(cluster: Cluster, group: str) -> Sequence[str]:
    if not group:
        return ("v1",)
    try:
        answer = cluster.request("GET", f"/apis/{group}")
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return ()
        raise
    return [str(item["groupVersion"]) for item in answer["versions"]]


def _schemas(cluster: Cluster, manifests: Sequence[Manifest]) -> Mapping[str, Schemas]:
    found: dict[str, Schemas] = {}
    for version in sorted({item.ref.api_version for item in manifests}):
        try:
            found[version] = fetch(cluster, version)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            if not cluster.kinds(version):  # else it is Kubernetes before 1.24
                found[version] = {}
    return found
