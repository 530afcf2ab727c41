"""Family C, holdings: does everything that a release holds exist, and who already says so of what does not."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, parse
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Cause, Outcome, Severity, errored, failed, passed
from kubeflow_volcano.validators.core.resources import (
    CONFIGMAPS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    SERVICES,
    STORAGE_CLASSES,
    VALIDATING_WEBHOOKS,
)
from kubeflow_volcano.validators.core.rights import HOMES, Rule
from kubeflow_volcano.validators.reading.permissions import as_yaml
from kubeflow_volcano.validators.subjects import crds, workloads

_MOST_SHOWN = 8
_RBAC = "rbac.authorization.k8s.io"
_NEEDS = (
    *(Rule("list", "", plural, HOMES) for plural in ("configmaps", "serviceaccounts")),
    *(Rule("list", _RBAC, plural) for plural in ("clusterrolebindings", "clusterroles")),
    *(Rule("list", _RBAC, plural, HOMES) for plural in ("rolebindings", "roles")),
    Rule("get", "", "configmaps", APPLIED_OBJECTS.namespace),
)
"""For the kinds that every profile holds, besides those that the snapshot holds anyway."""
_HELD_BY_OWNER = {
    "caching.internal.knative.dev": ("images",),
    "cert-manager.io": ("certificates", "clusterissuers", "issuers"),
    "kubeflow.org": ("profiles",),
    "metacontroller.k8s.io": ("compositecontrollers", "decoratorcontrollers"),
    "networking.internal.knative.dev": ("certificates",),
    "networking.istio.io": ("destinationrules", "envoyfilters", "gateways", "sidecars", "virtualservices"),
    "security.istio.io": ("authorizationpolicies", "peerauthentications", "requestauthentications"),
    "serving.kserve.io": ("clusterservingruntimes", "clusterstoragecontainers", "llminferenceserviceconfigs"),
    "trainer.kubeflow.org": ("clustertrainingruntimes",),
}
"""By group, the kinds with a CRD of which manifests of releases hold objects."""
_ISTIO = "virtualservices.networking.istio.io"
_HELD_WITH_ISTIO = (
    Rule("list", "autoscaling", "horizontalpodautoscalers"),
    Rule("list", "networking.k8s.io", "networkpolicies"),
    Rule("list", "policy", "poddisruptionbudgets"),
    Rule("list", "scheduling.k8s.io", "priorityclasses"),
    Rule("list", "", "persistentvolumeclaims"),
    *(Rule("list", _RBAC, plural, "kube-system") for plural in ("rolebindings", "roles")),
    Rule("list", "", "configmaps", "default"),
)
"""Of Kubernetes' own kinds, those that only a whole platform holds; none is without Istio."""
_NEEDS_WITH = (
    *(
        (f"{plural}.{group}", Rule("list", group, plural))
        for group, plurals in _HELD_BY_OWNER.items()
        for plural in plurals
    ),
    *((_ISTIO, rule) for rule in _HELD_WITH_ISTIO),
)

_PARALLEL = 6
_REFUSED = {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}
_SECRETS = ("v1", "Secret")
"""Not looked for: who may see whether a Secret exists may read it. Pods say which one they lack (C6)."""
_DEFAULT = "default"
_PARTLY_READ = frozenset({CONFIGMAPS})
"""The snapshot has only some of these."""

_Lot = tuple[str, str]
"""What is looked for together: apiVersion and kind."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a release is to hold, by component, and what of it does not exist; `source` says how the list came about.

    `unserved` are the absent objects whose kind the server does not know, `refused` the rights that were missing to
    look for others.
    """

    source: str
    expected: Mapping[Ref, str]
    absent: frozenset[Ref] = frozenset()
    unserved: frozenset[Ref] = frozenset()
    refused: tuple[Rule, ...] = ()


def _holdings(cluster: Cluster, facts: Facts) -> Holdings:
    source, named, unknown = _expected(cluster, facts)
    expected = {ref: part for ref, part in named.items() if (ref.api_version, ref.kind) != _SECRETS}
    lots: dict[_Lot, list[Ref]] = defaultdict(list)
    for ref in expected:
        lots[ref.api_version, ref.kind].append(ref)
    found = in_parallel(lambda refs: _absent(cluster, facts, refs), lots.values(), _PARALLEL)
    answers = dict(zip(lots, found, strict=True))
    unserved = {ref for lot, answer in answers.items() if answer is None for ref in lots[lot]}
    absent = {ref for answer in answers.values() if isinstance(answer, set) for ref in answer}
    refused = {answer for answer in answers.values() if isinstance(answer, Rule)} | unknown
    return Holdings(
        source, expected, frozenset(absent | unserved), frozenset(unserved), tuple(sorted(refused, key=str))
    )


def _expected(cluster: Cluster, facts: Facts) -> tuple[str, Mapping[Ref, str], set[Rule]]:
    """How the list came about, component by object, and what was refused of it.

    Of components that are not on it, what the catalog names is expected; of others an inventory may leave some out.
    """
    known = facts.expectations
    crds = {
        Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name): part for name, part in known.crds.items()
    }
    named = {**known.workloads, **crds, **known.webhooks}
    if known.objects:
        return known.objects_from, _completed(known.objects, named), set()
    refused: set[Rule] = set()
    try:
        if written := _written(cluster, facts):
            return f"what the last roll-out wrote down in {APPLIED_OBJECTS}", _completed(written, named), refused
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
        refused.add(Rule("get", "", "configmaps", APPLIED_OBJECTS.namespace))
    text = f"the catalog of release {known.release}, which names workloads, CRDs and webhook configurations only"
    return text, named, refused


def _completed(listed: Mapping[Ref, str], named: Mapping[Ref, str]) -> Mapping[Ref, str]:
    parts = {*listed.values()}
    return {**{ref: part for ref, part in named.items() if part not in parts}, **listed}


def _written(cluster: Cluster, facts: Facts) -> Mapping[Ref, str]:
    """What the roll-out wrote down of the expected components that others do not keep; nothing without a roll-out."""
    if facts.get(NAMESPACES, "", APPLIED_OBJECTS.namespace) is None:
        return {}
    live = cluster.get(APPLIED_OBJECTS) or {}
    written: dict[Ref, str] = {}
    for component, text in (live.get("data") or {}).items():
        if component in facts.expectations.components - facts.expectations.existing:
            with contextlib.suppress(ValueError):  # somebody edited it; the catalog still names the most of it
                written |= dict.fromkeys(parse(text).objects, component)
    return written


def _absent(cluster: Cluster, facts: Facts, refs: Sequence[Ref]) -> set[Ref] | Rule | None:
    """The objects of one lot that do not exist; the right that is missing to tell; None when it is not served."""
    first = refs[0]
    try:
        served = cluster.resource(first.api_version, first.kind)
    except NotServed:
        return None
    # A manifest may give a namespace to what lives in none, or none to what then goes to the default one.
    spaces = {ref: (ref.namespace or _DEFAULT) if served.namespaced else "" for ref in refs}
    rule = Rule("list", first.group, served.plural)
    resource = rule.plural_group
    if resource in facts.objects and resource not in _PARTLY_READ:
        return {ref for ref in refs if facts.get(resource, spaces[ref], ref.name) is None}
    try:
        live = {
            (item["metadata"].get("namespace", ""), item["metadata"]["name"])
            for space in sorted({*spaces.values()})
            for item in cluster.list(first.api_version, first.kind, namespace=space, brief=True).items
        }
    except ApiError as error:
        if error.status in _REFUSED:
            return rule
        raise
    return {ref for ref in refs if (spaces[ref], ref.name) not in live}


HELD = Fact[Holdings | None](
    "holdings",
    _holdings,
    None,
    reads=(
        *workloads.RESOURCE_OF_KIND.values(),
        *crds.READS,
        MUTATING_WEBHOOKS,
        VALIDATING_WEBHOOKS,
        STORAGE_CLASSES,
        SERVICES,
    ),
    needs=_NEEDS,
    needs_with=_NEEDS_WITH,
)
"""What the release is to hold, and what of it is absent."""


@check("C1", "inventory-complete", severity=Severity.MAJOR, reads=(*workloads.READS, *crds.READS, HELD))
def inventory_complete(facts: Facts) -> Outcome:
    """Every object of the release's manifests exists.

    The list comes from the manifests themselves (a validation by inventory, or `--expected objects.json`, which
    `playbooks/plan.yml` writes), else from what the roll-out wrote down on the cluster, else from the catalog; the
    finding says which. Only names are read, and Secrets are left out. Apply the release again: what is there stays as
    it is.
    """
    holdings = facts.read(HELD)
    if holdings is None or not holdings.expected:
        todo = "choose a profile that has components (--profile)."
        return failed("NothingExpected", "the expectations name no object.", todo=todo)
    absent = sorted(ref for ref in holdings.absent if ref.namespace not in facts.ignored_namespaces)
    if absent:
        return _missing(holdings, absent, facts)
    if holdings.refused:
        return _refused(holdings)
    counted = _by_component(holdings, holdings.expected)
    return passed(
        f"all {len(holdings.expected)} objects of {len(counted)} components exist; the list is {holdings.source}.",
        objects=sorted(holdings.expected),
        observed={"source": holdings.source, "objects": counted},
    )


def _missing(holdings: Holdings, absent: list[Ref], facts: Facts) -> Outcome:
    counted = _by_component(holdings, absent)
    causes = [_cause(ref, holdings, facts) for ref in absent]
    return failed(
        "Absent",
        f"{len(absent)} of {len(holdings.expected)} objects do not exist: {few(list(map(str, absent)), _MOST_SHOWN)}. "
        f"The list is {holdings.source}.",
        expected="every object of the release's manifests",
        observed={"source": holdings.source, "absent": counted},
        objects=absent,
        todo=f"install {', '.join(counted)} again (playbooks/install.yml); what is there stays as it is.",
        evidence={"absent.txt": "\n".join(f"{holdings.expected[ref]}: {ref.api_version} {ref}" for ref in absent)},
        because=tuple(dict.fromkeys(causes)),
    )


def _cause(ref: Ref, holdings: Holdings, facts: Facts) -> Cause:
    """Any other check that names the absent object, or that its kind is not served."""
    if ref in holdings.unserved and any(name.partition(".")[2] == ref.group for name in facts.expectations.crds):
        return "B1"
    return frozenset({ref})


def _refused(holdings: Holdings) -> Outcome:
    names = ", ".join(rule.plural_group for rule in holdings.refused)
    return errored(
        "Forbidden",
        f"whether all {len(holdings.expected)} objects exist could not be seen: you may not look for {names}.",
        expected="the right to see each kind that the release holds; metadata alone is read",
        observed={"source": holdings.source},
        todo=f"grant these rules:\n{as_yaml(holdings.refused)}",
    )


def _by_component(holdings: Holdings, refs: Iterable[Ref]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for component in sorted(holdings.expected[ref] for ref in refs):
        counted[component] = counted.get(component, 0) + 1
    return counted
