"""Does every object of the release exist: by what the caller, the last roll-out or the catalog says it holds."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.connection import BRIEF
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, parse
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.parallel import in_parallel
from validators.core.facts import Facts, Holdings
from validators.core.rights import Rule

__all__ = ["holdings"]

_PARALLEL = 6
_REFUSED = {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}
_SECRET = "Secret"  # noqa: S105  a kind
"""Whoever may list these may read them all; so each is asked for by its name, and only for its metadata."""
_DEFAULT = "default"
_PARTLY_READ = frozenset({"configmaps"})
"""The snapshot has only some of these."""

_Lot = tuple[str, str, str]
"""What is looked for together: apiVersion, kind, and of Secrets the namespace, as rights to them are given by that."""


def holdings(cluster: Cluster, facts: Facts) -> Holdings:
    """See which objects the release is to hold, and which of them are absent.

    Raises:
        ApiError: the server does not answer.
    """
    source, expected, unknown = _expected(cluster, facts)
    lots: dict[_Lot, list[Ref]] = defaultdict(list)
    for ref in expected:
        lots[ref.api_version, ref.kind, ref.namespace if ref.kind == _SECRET else ""].append(ref)
    found = in_parallel(lambda refs: _absent(cluster, facts, refs), lots.values(), _PARALLEL)
    answers = dict(zip(lots, found, strict=True))
    unserved = {ref for lot, answer in answers.items() if answer is None for ref in lots[lot]}
    absent = {ref for answer in answers.values() if isinstance(answer, set) for ref in answer}
    refused = {answer for answer in answers.values() if isinstance(answer, Rule)} | unknown
    return Holdings(
        source, expected, frozenset(absent | unserved), frozenset(unserved), tuple(sorted(refused, key=str))
    )


def _expected(cluster: Cluster, facts: Facts) -> tuple[str, Mapping[Ref, str], set[Rule]]:
    """How the list came about, component by object, and what was refused of it. What the catalog names is in it."""
    known = facts.expectations
    crds = {
        Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name): part for name, part in known.crds.items()
    }
    named = {**known.workloads, **crds, **known.webhooks}
    if known.objects:
        return known.objects_from, {**named, **known.objects}, set()
    refused: set[Rule] = set()
    try:
        if written := _written(cluster, facts):
            return f"what the last roll-out wrote down in {APPLIED_OBJECTS}", {**named, **written}, refused
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
        refused.add(Rule("get", "", "configmaps", APPLIED_OBJECTS.namespace))
    text = f"the catalog of release {known.release}, which names workloads, CRDs and webhook configurations only"
    return text, named, refused


def _written(cluster: Cluster, facts: Facts) -> Mapping[Ref, str]:
    """What the roll-out wrote down of the components that are expected; nothing where it was not this project's."""
    if facts.get("namespaces", "", APPLIED_OBJECTS.namespace) is None:
        return {}
    live = cluster.get(APPLIED_OBJECTS) or {}
    found: dict[Ref, str] = {}
    for component, text in (live.get("data") or {}).items():
        if component in facts.expectations.components:
            with contextlib.suppress(ValueError):  # somebody edited it; the catalog still names the most of it
                found |= dict.fromkeys(parse(text), component)
    return found


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
    if first.kind == _SECRET:
        rule = replace(rule, verb="get", namespace=first.namespace)
    try:
        if first.kind == _SECRET:
            return {ref for ref in refs if not _exists(cluster, served.path(spaces[ref], ref.name))}
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


def _exists(cluster: Cluster, path: str) -> bool:
    try:
        cluster.request("GET", path, accept=BRIEF)
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return False
        raise
    return True
