"""Family E, mesh: do the policies of the sign-in apply to the gateway, and do pods have the sidecars that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from kubeflow_volcano.cluster.admission.webhooks import Webhook
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.mesh import (
    INJECTION,
    PROXY,
    Mesh,
    has_sidecar,
    injectors,
    is_injected,
    is_selected,
    mesh_of,
    names_targets,
    opts_out,
    selector_of,
)
from kubeflow_volcano.cluster.objects import Object, Ref, has_ended, mappings_in
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, skipped
from kubeflow_volcano.validators.core.resources import (
    AUTHORIZATION_POLICIES,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENVOY_FILTERS,
    GATEWAYS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NODES,
    PODS,
    REQUEST_AUTHENTICATIONS,
    STATEFUL_SETS,
)
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.subjects.issues import Issue, judged, verdict
from kubeflow_volcano.validators.subjects.ownership import is_profile, workload_of
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS

_KINDS = (AUTHORIZATION_POLICIES, ENVOY_FILTERS, GATEWAYS, REQUEST_AUTHENTICATIONS)
_RESOURCES = {item.kind: item for item in _KINDS}
_WORKLOADS = {item.kind: item for item in (DAEMON_SETS, DEPLOYMENTS, STATEFUL_SETS)}
_ISTIO, _NEEDED_BY = "istio", "istio-crds"
"""The component with the gateway, and the one that all components with objects of Istio require."""
_GATEWAY = ("kubeflow", "kubeflow-gateway")
SIGN_IN = frozenset({"oidc-authservice", "oauth2-proxy"})
"""Components whose policies guard each pod that `_GATEWAY` selects."""
_DASHBOARD = "centraldashboard.kubeflow"
"""Service that every release's route `centraldashboard` leads to, which others may move to another Gateway."""
_OPEN = "so that requests reach the dashboard without a login."


def _mesh(cluster: Cluster, facts: Facts) -> Mesh:
    if _NEEDED_BY not in facts.expectations.components:  # there is no right for it then, and nothing that needs it
        return Mesh()
    return mesh_of(facts.all(DEPLOYMENTS), cluster.get)


MESH = Fact[Mesh](
    "mesh configuration",
    _mesh,
    Mesh(),
    reads=(DEPLOYMENTS,),
    needs=(Rule("get", "", "configmaps", "istio-system"),),
)
"""How the mesh selects pods; Istio's defaults where nothing of its configuration is in the cluster."""


def _announcing(cluster: Cluster, facts: Facts) -> frozenset[tuple[str, str]]:
    if _NEEDED_BY not in facts.expectations.components:
        return frozenset()
    try:
        routes = cluster.list(GATEWAYS.api_version, "VirtualService").items
    except NotServed:
        return frozenset()
    return frozenset(name for item in routes for name in _gateways_of(item))


def _gateways_of(route: Object) -> Iterator[tuple[str, str]]:
    """Namespace and name of the Gateways of a route to the dashboard; one without a namespace is in the route's."""
    own, spec = route["metadata"]["namespace"], route.get("spec") or {}
    hosts = {str(item["host"]) for item in mappings_in(spec) if "host" in item}
    full = {host if "." in host else f"{host}.{own}" for host in hosts}
    if not any(f"{host}.".startswith(f"{_DASHBOARD}.") for host in full):
        return
    for name in spec.get("gateways") or ():
        namespace, _, rest = str(name).rpartition("/")
        if rest != "mesh":
            yield namespace or own, rest


ANNOUNCING = Fact[frozenset[tuple[str, str]]](
    "gateways of the dashboard",
    _announcing,
    frozenset(),
    needs=(Rule("list", "networking.istio.io", "virtualservices"),),
    enriches=True,
)
"""Namespace and name of the Gateways that routes to the dashboard name."""


@check(
    "E10",
    "policies-select-pods",
    severity=Severity.BLOCKER,
    reads=(*_KINDS, *_WORKLOADS.values(), PODS, NAMESPACES, MESH, ANNOUNCING),
    component=_NEEDED_BY,
)
def policies_select_pods(facts: Facts) -> Outcome:
    """Policies and Gateways of the release select pods, and the sign-in guards every pod of the gateway.

    A policy that selects no pod protects nothing: a gateway with the label that kubeflow-gateway selects, and without
    the one that the policies of the sign-in select, serves the dashboard without a login. Selectors are read by Istio's
    rules: those in the mesh's root namespace and those of Gateways choose pods of all namespaces. Gateways that other
    routes to the dashboard name count, too. Give the pods of the
    gateway the labels (docs/existing-clusters.md), or install the component of a missing policy again.
    """
    if _NEEDED_BY not in facts.expectations.components:
        return skipped("NotExpected", "the chosen components have no policy of Istio.")
    mesh = facts.read(MESH)
    expected = [(ref, component) for ref, component in facts.expectations.policies.items()]
    live = {ref: facts.get(_RESOURCES[ref.kind], ref.namespace, ref.name) for ref, _ in expected}
    serving = _serving(facts, mesh)
    if not serving and not any(live.values()):
        return skipped("NotInstalled", "no Gateway and no policy of the release is there.")
    issues: list[Issue] = []
    for ref, component in expected:
        if (obj := live[ref]) is not None:
            issues += _of_policy(ref, obj, serving if component in SIGN_IN else {}, facts, mesh)
        elif serving and component in SIGN_IN - facts.expectations.existing:
            text = f"{ref} does not exist, {_OPEN}"
            issues.append(Issue("E10", Status.FAIL, ref, "Missing", text, f"install component {component} again."))
    looked_at = [ref for ref, obj in live.items() if obj is not None]
    return verdict(
        sorted(issues, key=lambda item: item.status is not Status.FAIL),
        looked_at or [Ref("networking.istio.io/v1beta1", "Gateway", *_GATEWAY)],
        claim=f"{counted(len(looked_at), 'object')} of Istio with pods that they select.",
        expected="pods with the labels of each selector, and the sign-in on each pod of the gateway",
    )


def _of_policy(
    ref: Ref, obj: Object, serving: Mapping[Ref, Mapping[str, str]], facts: Facts, mesh: Mesh
) -> Iterator[Issue]:
    """What is wrong with a policy that must guard the pods `serving`."""
    selector = selector_of(obj)
    if names_targets(obj) or not (selector or serving):
        return  # targets by name; or all pods of its scope, and none that it has to guard
    labels = ", ".join(f"{key}={value}" for key, value in selector.items()) or "any"
    selected = {pod for pod, own in _labelled(facts).items() if is_selected(obj, pod.namespace, own, mesh)}
    if not selected and selector:
        refuses = obj["kind"] != "AuthorizationPolicy" or obj["spec"].get("action", "ALLOW") != "ALLOW"
        status = Status.FAIL if refuses else Status.WARN
        text = f"{ref} selects no pod: none has {labels}{f', {_OPEN}' if serving else '.'}"
        todo = f"give the pods that it is for the labels {labels}, or install its component again."
        yield Issue("E10", status, ref, "SelectsNothing", text, todo)
    elif open_ := [str(pod) for pod in serving if pod not in selected]:
        text = f"{ref} does not select {few(open_, 3)}, which serve the dashboard, {_OPEN}"
        todo = f"give these pods the labels {labels}, or take the label that the Gateway selects off them."
        if not selector:
            todo = f"create it in the root namespace of the mesh, {mesh.root}, or install its component again."
        yield Issue("E10", Status.FAIL, ref, "GatewayUnguarded", text, todo)


def _serving(facts: Facts, mesh: Mesh) -> dict[Ref, Mapping[str, str]]:
    """Pods and workloads that serve what Kubeflow's Gateway announces, and those that routes to the dashboard name."""
    named = [facts.get(GATEWAYS, *name) for name in sorted({_GATEWAY, *facts.known(ANNOUNCING)})]
    gateways = [item for item in named if item and selector_of(item)]
    return {
        pod: own
        for pod, own in _labelled(facts).items()
        if any(is_selected(item, pod.namespace, own, mesh) for item in gateways)
    }


@lru_cache(maxsize=4)
def _labelled(facts: Facts) -> Mapping[Ref, Mapping[str, str]]:
    """Labels of pods that have not ended, and of the pods of workloads."""
    labels: dict[Ref, Mapping[str, str]] = {}
    for pod in judged(facts, PODS):
        if not has_ended(pod):
            labels[Ref.of({"apiVersion": "v1", "kind": "Pod", **pod})] = pod["metadata"].get("labels") or {}
    for resource in _WORKLOADS.values():
        for item in judged(facts, resource):
            labels[Ref.of(item)] = (item["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return labels


@check(
    "E11",
    "sidecars-injected",
    severity=Severity.MAJOR,
    reads=(*_WORKLOADS.values(), PODS, NODES, NAMESPACES, MUTATING_WEBHOOKS, SIMULATED_WEBHOOKS),
    component=_NEEDED_BY,
)
def sidecars_injected(facts: Facts) -> Outcome:
    """Namespaces of the mesh get sidecars, and the release's pods in them have one.

    Policies admit requests by the identity that a sidecar gives a pod: without one the parts of Kubeflow refuse each
    other ("RBAC: access denied"), and no policy applies to the pod. Injection follows the labels of the namespace and
    the selectors of the injector's webhooks; pods that were created before, or while the injector did not answer, have
    to be created again.
    """
    wanted = _wanted(facts) if _NEEDED_BY in facts.expectations.components else {}
    hooks = injectors(facts.all(MUTATING_WEBHOOKS))
    if not wanted or not (hooks or _ISTIO in facts.expectations.components):
        return skipped("NotExpected", "no workload of the release is to have a sidecar, or there is no mesh.")
    issues = [*_namespaces(facts, wanted, hooks), *_profiles(facts, hooks)]
    if not {hook.owner.name for hook in hooks} & {item.name for item in facts.known(SIMULATED_WEBHOOKS)}:
        issues += _pods(facts, wanted)  # the stub of a rehearsal answers, and injects nothing
    return verdict(
        sorted(issues, key=lambda item: item.status is not Status.FAIL),
        [Ref.of(item) for item in wanted.values()],
        claim=f"{counted(len(wanted), 'workload')} in namespaces that inject sidecars.",
        expected=f"{INJECTION}: enabled on the namespace, and a container {PROXY} in the pods",
    )


def _wanted(facts: Facts) -> Mapping[Ref, Object]:
    """The release's workloads in namespaces of the mesh whose pods do not opt out."""
    mutated: dict[Ref, Object] = {}
    for ref in facts.expectations.workloads:
        if ref.namespace not in facts.expectations.injected or ref.kind not in _WORKLOADS:
            continue
        item = facts.get(_WORKLOADS[ref.kind], ref.namespace, ref.name)
        template = item["spec"]["template"] if item else {}
        if item and not opts_out(template.get("metadata") or {}, template["spec"]):
            mutated[ref] = item
    return mutated


def _namespaces(facts: Facts, wanted: Mapping[Ref, Object], hooks: tuple[Webhook, ...]) -> Iterator[Issue]:
    for name in sorted({ref.namespace for ref in wanted}):
        space = facts.get(NAMESPACES, "", name)
        lost = [str(ref) for ref, item in wanted.items() if ref.namespace == name and not _covered(item, space, hooks)]
        if space and lost:
            yield _not_injected(space, f"pods of {few(lost, 3)}", Status.FAIL)


def _covered(item: Object, space: Object | None, hooks: tuple[Webhook, ...]) -> bool:
    labels = (item["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return space is None or is_injected(labels, space, hooks)


def _profiles(facts: Facts, hooks: tuple[Webhook, ...]) -> Iterator[Issue]:
    for space in judged(facts, NAMESPACES):
        if is_profile(space) and "deletionTimestamp" not in space["metadata"] and not is_injected({}, space, hooks):
            yield _not_injected(space, "notebooks and servers of this profile", Status.WARN)


def _not_injected(space: Object, what: str, status: Status) -> Issue:
    name = space["metadata"]["name"]
    ref = Ref("v1", "Namespace", "", name)
    said = (space["metadata"].get("labels") or {}).get(INJECTION)
    if said == "enabled":
        text = f"{ref} has {INJECTION}: enabled, but no injector chooses it: {what} get no sidecar."
        todo = "see the selectors of the injector's webhooks; of a revision, istioctl tag set default --revision NAME."
        return Issue("E11", status, ref, "NotChosen", text, todo)
    text = f"{ref} has {INJECTION}: {said or 'no value'}: new {what} get no sidecar."
    todo = "set the label, and restart the workloads whose pods have no sidecar."
    command = f"kubectl label namespace {name} {INJECTION}=enabled --overwrite"
    return Issue("E11", status, ref, "NotInjected", text, todo, changes=(command,))


def _pods(facts: Facts, wanted: Mapping[Ref, Object]) -> Iterator[Issue]:
    simulated = {item["metadata"]["uid"] for item in facts.simulated_pods}
    without: dict[Ref, list[str]] = {}
    for pod in judged(facts, PODS):
        meta = pod["metadata"]
        owner = workload_of(pod)
        if owner is None or owner not in wanted or meta["uid"] in simulated or "deletionTimestamp" in meta:
            continue
        ended = has_ended(pod)
        if not ended and not opts_out(meta, pod["spec"]) and not has_sidecar(pod["spec"]):
            without.setdefault(owner, []).append(meta["name"])
    for owner, names in sorted(without.items()):
        text = f"{owner} has {counted(len(names), 'pod')} without {PROXY}: {few(names, 2)}."
        command = f"kubectl -n {owner.namespace} rollout restart {owner.kind.lower()}/{owner.name}"
        todo = "restart it, once its namespace injects sidecars and the injector answers."
        yield Issue("E11", Status.FAIL, owner, "NoSidecar", text, todo, changes=(command,))
