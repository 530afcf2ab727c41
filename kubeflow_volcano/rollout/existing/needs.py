"""What the components to install need of those that others keep: asked before the first change."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import yaml

from kubeflow_volcano.apply.rights import Rights
from kubeflow_volcano.apply.survey import learn_kinds
from kubeflow_volcano.apply.waiting.webhooks import wait_for_webhooks
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.admission.webhooks import webhook_configurations
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.mesh import mesh_of
from kubeflow_volcano.cluster.objects import Object, Ref, group_of, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.foreign import read_yaml
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.existing.mesh import Found, unfit_mesh
from kubeflow_volcano.rollout.existing.presence import WORKLOADS, absent_component
from kubeflow_volcano.rollout.existing.uses import missing_uses, wrong_modes
from kubeflow_volcano.rollout.existing.volcano import volcano_problems
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import few

_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_PAGE = 500
_WEBHOOK_SECONDS = 30.0
"""How long a webhook of an existing component may take to answer: it is meant to run already."""
_ISTIO = "istio"
_MESH = Ref("v1", "ConfigMap", "istio-system", "istio")
_WAYS = "install it there as its owner does, or remove it from kubeflow_existing so that this project installs it."


def unmet_needs(
    cluster: Cluster,
    settings: Settings,
    parts: Mapping[str, Sequence[Object]],
    theirs: Mapping[str, Sequence[Object]],
    progress: Progress,
) -> Iterator[Problem]:
    """What the objects of `parts` need of the components in `kubeflow_existing`, and the cluster does not have.

    `theirs` are the release's own manifests of these components, as far as they are known: what objects use of them by
    name, and what theirs do, is what a component of others must have and do as well.

    The component itself is there, and not only software that it shares with others. Its CRDs exist as far as an object
    is of that kind or a workload has rights for it, and serve the versions that objects use; its namespaces exist where
    objects are put into them; its Services, Gateways, issuers and accounts have the names that objects use; its
    settings are those with which others work; its webhooks answer. Istio has the authorization providers that policies
    name, pods with the labels that they select, and an injector for the namespaces with injection; Volcano
    schedules gangs.

    Raises:
        ApiError: something cannot be read.
    """
    existing = [settings.component(name) for name in settings.existing]
    if not existing:
        return
    objects = [obj for found in parts.values() for obj in found]
    live = [item for version, kind in WORKLOADS for item in _all(cluster, version, kind)]
    absent = [*_absent(cluster, existing, theirs, live)]
    yield from absent
    for part in existing:
        yield from _missing_kinds(cluster, part, objects)
        yield from _missing_namespaces(cluster, part, objects)
    yield from _missing_providers(cluster, existing, objects)
    if not absent:  # of what is not there, nothing fits
        yield from _unfit(cluster, existing, parts, theirs, live)
    if VOLCANO.name in settings.existing and settings.gang_scheduler == VOLCANO.name:
        yield from volcano_problems(cluster, settings)
    yield from wait_for_webhooks(
        cluster, [*_webhooks(cluster, existing)], Deadline(_WEBHOOK_SECONDS), progress, objects
    )


def _all(cluster: Cluster, api_version: str, kind: str) -> Iterator[Object]:
    for page in cluster.pages(api_version, kind, size=_PAGE):
        for item in page.items:
            yield {"apiVersion": api_version, "kind": kind, **item}


def _absent(
    cluster: Cluster, existing: Sequence[Component], theirs: Mapping[str, Sequence[Object]], live: Sequence[Object]
) -> Iterator[Problem]:
    for part in existing:
        yield from absent_component(cluster, part, theirs.get(part.name, ()), live)


def _unfit(
    cluster: Cluster,
    existing: Sequence[Component],
    parts: Mapping[str, Sequence[Object]],
    theirs: Mapping[str, Sequence[Object]],
    live: Sequence[Object],
) -> Iterator[Problem]:
    """Names, labels and settings of existing components that are not those that the rest is made for."""
    objects = [obj for found in parts.values() for obj in found]
    pods = [*_all(cluster, "v1", "Pod")]
    accounts = frozenset(_accounts([*pods, *live]))
    for part in existing:
        yield from missing_uses(cluster, part, theirs.get(part.name, ()), objects, accounts)
    yield from wrong_modes(cluster, existing, parts)
    if any(part.name == _ISTIO for part in existing):
        manifests = [obj for found in theirs.values() for obj in found]
        mesh = mesh_of([item for item in live if item["kind"] == "Deployment"], cluster.get)
        found = Found([*pods, *live], webhook_configurations(cluster), mesh, _spaces(cluster, [*manifests, *objects]))
        yield from unfit_mesh(objects, manifests, found)


def _spaces(cluster: Cluster, objects: Iterable[Object]) -> Mapping[str, Object]:
    """Namespaces as they will be: what they have, and the labels that objects to install give them."""
    spaces = {item["metadata"]["name"]: item for item in cluster.list("v1", "Namespace").items}
    for obj in objects:
        if obj["kind"] == "Namespace":
            name = obj["metadata"]["name"]
            live = (spaces.get(name) or {}).get("metadata") or {}
            labels = {**(live.get("labels") or {}), **(obj["metadata"].get("labels") or {})}
            spaces[name] = {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    return spaces


def _accounts(workloads: Iterable[Object]) -> Iterator[tuple[str, str]]:
    """Namespaces and names of the ServiceAccounts as which pods run, or would."""
    for obj in workloads:
        spec = obj["spec"] if obj["kind"] == "Pod" else obj["spec"]["template"]["spec"]
        yield obj["metadata"]["namespace"], spec.get("serviceAccountName") or "default"


def _missing_kinds(cluster: Cluster, part: Component, objects: Sequence[Object]) -> Iterator[Problem]:
    """Kinds of the component that objects have and that are not served, and CRDs that only rights name."""
    groups = _groups([part])
    own = {(obj["spec"]["group"], obj["spec"]["names"]["kind"]) for obj in objects if obj["kind"] == _CRD[1]}
    used: dict[str, dict[str, list[Ref]]] = defaultdict(lambda: defaultdict(list))
    for obj in objects:
        group = group_of(obj["apiVersion"])
        if group in groups and (group, obj["kind"]) not in own:
            used[obj["apiVersion"]][obj["kind"]].append(Ref.of(obj))
    served = learn_kinds(cluster, used)
    lacking = {
        f"{kind} of {version}": refs
        for version, kinds in used.items()
        for kind, refs in kinds.items()
        if kind not in served[version]
    }
    if lacking:
        needed = "; ".join(f"{kind} for {few([*map(str, refs)], 2)}" for kind, refs in sorted(lacking.items()))
        yield Problem(
            f"{part.title}, which kubeflow_existing names, does not serve {', '.join(sorted(lacking))}.",
            f"the kinds and versions that objects to install have: {needed}. {part.name} {part.version} serves them.",
            f"install or upgrade it as its owner does, or take it over with kubeflow_adopt: [{part.name}].",
        )
    absent = sorted(_crds_of_rights(part, objects) - _crds(cluster)) if part.crds else []
    if absent:
        yield Problem(
            f"{part.title}, which kubeflow_existing names, has no CRD {', '.join(absent)}.",
            "the CRDs that the components to install look for.",
            _WAYS,
        )


def _crds_of_rights(part: Component, objects: Sequence[Object]) -> set[str]:
    """Names of the CRDs of the component that a workload has rights for by name: it looks for them at its start."""
    defined = [
        new_object(
            _CRD[0], _CRD[1], name, spec={"group": name.partition(".")[2], "names": {"plural": name.partition(".")[0]}}
        )
        for name in part.crds
    ]
    rights = Rights([*(obj for obj in objects if obj["kind"] != _CRD[1]), *defined])
    workloads = [obj for obj in objects if obj["kind"] in {"DaemonSet", "Deployment", "StatefulSet"}]
    return {ref.name for obj in workloads for ref in rights.crds(obj, ())}


def _crds(cluster: Cluster) -> set[str]:
    pages = cluster.pages(*_CRD, size=_PAGE, brief=True)
    return {item["metadata"]["name"] for page in pages for item in page.items}


def _missing_namespaces(cluster: Cluster, part: Component, objects: Sequence[Object]) -> Iterator[Problem]:
    declared = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Namespace"}
    for name in sorted({*part.namespaces} - declared):
        inside = [str(Ref.of(obj)) for obj in objects if obj["metadata"].get("namespace") == name]
        if inside and cluster.get(Ref("v1", "Namespace", "", name)) is None:
            yield Problem(
                f"{part.title}, which kubeflow_existing names, is not in namespace {name}, which does not exist.",
                f"the namespace into which the release puts {few(inside, 3)}.",
                _WAYS,
            )


def _missing_providers(cluster: Cluster, existing: Iterable[Component], objects: Iterable[Object]) -> Iterator[Problem]:
    """Authorization providers that policies name and the mesh of others does not have."""
    istio = next((part for part in existing if part.name == _ISTIO), None)
    wanted: dict[str, list[str]] = defaultdict(list)
    for obj in objects:
        if obj["kind"] == "AuthorizationPolicy" and (
            name := ((obj.get("spec") or {}).get("provider") or {}).get("name")
        ):
            wanted[name].append(str(Ref.of(obj)))
    if istio is None or not wanted:
        return
    providers: list[str] = []
    for each in cluster.list(_MESH.api_version, _MESH.kind, namespace=_MESH.namespace).items:
        if each["metadata"]["name"].startswith(_MESH.name):
            # Istiod goes on with what it read before one that it cannot read (meshwatcher in pkg/config/mesh).
            with contextlib.suppress(yaml.YAMLError, AttributeError, LookupError, TypeError):
                parsed = read_yaml((each.get("data") or {}).get("mesh") or "{}") or {}
                providers += [item["name"] for item in parsed.get("extensionProviders") or ()]
    for name in sorted(wanted.keys() - {*providers}):
        yield Problem(
            f"the mesh has no extension provider {name} ({_MESH}, data.mesh).",
            f"the provider that {few(wanted[name], 3)} names; without it Istio refuses what the policy protects.",
            f"add it to meshConfig.extensionProviders of that Istio; {istio.manifests} has its text.",
        )


def _webhooks(cluster: Cluster, existing: Iterable[Component]) -> Iterator[Ref]:
    """The webhook configurations of these components by name, and all that intercept their kinds."""
    parts = [*existing]
    groups, named = _groups(parts), {ref for part in parts for ref in part.webhooks}
    for item in webhook_configurations(cluster):
        rules = [rule for hook in item.get("webhooks") or () for rule in hook.get("rules") or ()]
        if Ref.of(item) in named or any(groups & {*rule["apiGroups"]} for rule in rules):
            yield Ref.of(item)


def _groups(parts: Iterable[Component]) -> set[str]:
    return {name.partition(".")[2] for part in parts for name in part.crds}
