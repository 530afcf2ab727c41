"""The full names by which objects name Services, and the cluster domains in them: what follows `.svc.`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref

_CRD = "CustomResourceDefinition"
_EXAMPLE = "_example"
"""Key of ConfigMaps of Knative and KServe that documents the others."""
_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_SERVICE = re.compile(rf"(?<![\w.-])(?:{_LABEL}|\*)\.({_LABEL})\.svc\.{_LABEL}(?:\.{_LABEL})*(?![\w-])")


def full_names(objects: Iterable[Object], namespaces: Collection[str]) -> Mapping[str, Sequence[Ref]]:
    """The objects that name a Service of these namespaces with the cluster's domain, by what they call it.

    Names in other namespaces may be of hosts outside of the cluster. What only documents is left out.
    """
    by_name: dict[str, dict[Ref, None]] = defaultdict(dict)
    for obj in objects:
        if obj["kind"] != _CRD:
            for text in _texts({key: value for key, value in obj.items() if key != "metadata"}):
                for match in _SERVICE.finditer(text):
                    if match[1] in namespaces:
                        by_name[match[0]][Ref.of(obj)] = None
    return {name: [*refs] for name, refs in by_name.items()}


def domain_of(name: str) -> str:
    """The domain in the full name of a Service."""
    return name.split(".svc.", 1)[1]


def named_domains(objects: Iterable[Object], namespaces: Collection[str]) -> Mapping[str, Sequence[Ref]]:
    """The objects that name Services in full, by the domain that they give them."""
    by_domain: dict[str, dict[Ref, None]] = defaultdict(dict)
    for name, refs in full_names(objects, namespaces).items():
        by_domain[domain_of(name)].update(dict.fromkeys(refs))
    return {domain: [*refs] for domain, refs in by_domain.items()}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != _EXAMPLE:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value
