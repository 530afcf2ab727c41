"""What objects to install use of a component of others by its name: Services, Gateways, issuers, accounts."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kubeflow_volcano.catalog.existing.modes import Mode, Unless, modes
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import few

_CRD = "CustomResourceDefinition"
_EXAMPLE = "_example"
"""Key of ConfigMaps of Knative and KServe that documents the others."""
_SPOKEN_OF = {
    "Gateway": r"(?<![\w./-]){namespace}/{name}(?![\w/-])",
    "Service": r"(?<![\w.-]){name}\.{namespace}(?:\.svc\b|(?=[:/\s\"']|$))",
    "ServiceAccount": r"/ns/{namespace}/sa/{name}(?![\w.-])",
}
"""How manifests name an object of another component, by its kind."""
_WAYS = {
    "Service": "let its owner call the Service so, or add a Service of this name with the same selector and ports",
    "ServiceAccount": "let its owner run the pods as this ServiceAccount: policies admit requests by it",
}
_ISSUERS = frozenset({"ClusterIssuer", "Issuer"})


def missing_uses(
    cluster: Cluster,
    part: Component,
    manifests: Sequence[Object],
    objects: Sequence[Object],
    accounts: frozenset[tuple[str, str]],
) -> Iterator[Problem]:
    """What `objects` name of the release's `manifests` of a component of others, and the cluster does not have.

    `accounts` are namespaces and names of the ServiceAccounts as which pods run: a policy that names one admits only
    these pods.

    Raises:
        ApiError: something cannot be read.
    """
    texts = [(Ref.of(obj), _text(obj)) for obj in objects if obj["kind"] != _CRD]
    own = {Ref.of(obj) for obj in objects}
    users: dict[Ref, list[str]] = defaultdict(list)
    for obj in manifests:
        ref = Ref.of(obj)
        found = [*_users(ref, texts, objects)] if ref not in own else []
        if found and not _is_there(cluster, ref, accounts):
            users[ref] += found
    for ref, found in sorted(users.items()):
        what = "no pod runs as" if ref.kind == "ServiceAccount" else "there is no"
        way = _WAYS.get(ref.kind, "let its owner make one of this name")
        yield Problem(
            f"{part.title}, which kubeflow_existing names, does not fit: {what} {ref}.",
            f"it, because {few(found, 3)} name{'s' if len(found) == 1 else ''} it.",
            f"{way}; or take the component over with kubeflow_adopt: [{part.name}].",
        )


def _users(ref: Ref, texts: Sequence[tuple[Ref, str]], objects: Sequence[Object]) -> Iterator[str]:
    if pattern := _SPOKEN_OF.get(ref.kind):
        spoken = re.compile(pattern.format(namespace=re.escape(ref.namespace), name=re.escape(ref.name)))
        yield from (str(user) for user, text in texts if ref.name in text and spoken.search(text))
    if ref.kind in _ISSUERS:
        for obj in objects:
            issuer = (obj.get("spec") or {}).get("issuerRef") if obj["kind"] == "Certificate" else None
            if issuer and (issuer.get("kind", "Issuer"), issuer["name"]) == (ref.kind, ref.name):
                yield str(Ref.of(obj))


def _is_there(cluster: Cluster, ref: Ref, accounts: frozenset[tuple[str, str]]) -> bool:
    if ref.kind == "ServiceAccount":
        return (ref.namespace, ref.name) in accounts
    try:
        return cluster.get(ref) is not None
    except NotServed:
        return False


def _text(obj: Object) -> str:
    """The object as a text without what only documents it."""
    data = obj.get("data")
    if obj["kind"] == "ConfigMap" and isinstance(data, dict):
        obj = {**obj, "data": {key: value for key, value in data.items() if key != _EXAMPLE}}
    return json.dumps({key: value for key, value in obj.items() if key != "metadata"}).replace("\\n", "\n")


def wrong_modes(
    cluster: Cluster, existing: Sequence[Component], parts: Mapping[str, Sequence[Object]]
) -> Iterator[Problem]:
    """Settings of components of others with which the components in `parts` do not work.

    Raises:
        ApiError: a setting cannot be read.
    """
    names = {part.name: part for part in existing}
    for mode in modes():
        users = [user for user in mode.users if user in parts and not _is_spared(mode.unless, parts[user])]
        if mode.component in names and users:
            setting = _setting(cluster, mode)
            if setting != mode.value:
                yield Problem(
                    f"{names[mode.component].title}, which kubeflow_existing names, has {mode.keys[0]}: {setting} in "
                    f"{mode.config_map}.",
                    f"{mode.value}: {mode.why} ({', '.join(users)}).",
                    f"set {mode.keys[0]} there to {mode.value} as its owner does, or leave out {', '.join(users)} with "
                    f"kubeflow_exclude: [{', '.join(users)}].",
                )


def _setting(cluster: Cluster, mode: Mode) -> str:
    data = (cluster.get(mode.config_map) or {}).get("data") or {}
    return str(next((data[key] for key in mode.keys if key in data), mode.default))


def _is_spared(unless: Unless | None, objects: Sequence[Object]) -> bool:
    """Whether the manifests of a user choose a mode that needs nothing."""
    own = next((obj for obj in objects if unless and Ref.of(obj) == unless.config_map), None)
    if own is None or unless is None:
        return False
    try:
        chosen = read_json((own.get("data") or {}).get(unless.key, "{}"))
    except ValueError:
        return False
    return isinstance(chosen, dict) and chosen.get(unless.has) in unless.values
