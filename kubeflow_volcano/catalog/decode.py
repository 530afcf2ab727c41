"""Documents of the data files, already checked against their schemas, become values of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.catalog.model import (
    Claim,
    Component,
    Defect,
    JointValue,
    Marker,
    MinorRange,
    Operator,
    Release,
    RemoteBase,
    Source,
)
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.ref import Ref

__all__ = ["OUTSIDE", "OWN_FILES", "component", "named", "release"]

OUTSIDE = ("local-path", "volcano")
"""Components that are no part of any release, and come with the profile full."""

OWN_FILES = (*OUTSIDE, "scheduler-plugins")
"""Components with data files of their own, and variables <name>_version and <name>_source."""

_GROUPS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}


def component(data: Mapping[str, Any]) -> Component:
    """One component; lists that are absent are empty."""
    limits = data.get("kubernetes")
    return Component(
        name=data["name"],
        title=data["title"],
        version=data["version"],
        kubernetes=MinorRange(limits["lowest"], limits["highest"]) if limits else None,
        manifests=data["manifests"],
        address=data.get("address"),
        path=data["path"],
        example=data.get("example", True),
        objects=data["objects"],
        requires=tuple(data.get("requires", ())),
        namespaces=tuple(data.get("namespaces", ())),
        workloads=tuple(named(text) for text in data.get("workloads", ())),
        crds=tuple(data.get("crds", ())),
        webhooks=tuple(named(text) for text in data.get("webhooks", ())),
        claims=tuple(Claim(**{**item, "consumer": named(item["consumer"])}) for item in data.get("claims", ())),
    )


def release(data: Mapping[str, Any]) -> Release:
    """One release; the profile `full` is upstream's example with storage and Volcano.

    Raises:
        InvalidInput: its parts do not fit together; everything at once.
    """
    version, origin = data["version"], data["source"]["title"]
    parts = tuple(
        component({"version": version, "manifests": f"{item['path']} of {origin}", **item})
        for item in data["components"]
    )
    found = Release(
        version=version,
        source=_source(data["source"]),
        remote_sources=tuple(_source(item) for item in data.get("remote_sources", ())),
        remote_bases=tuple(RemoteBase(**item) for item in data.get("remote_bases", ())),
        kubernetes=MinorRange(data["kubernetes"]["lowest"], data["kubernetes"]["highest"]),
        kubernetes_targeted=data.get("kubernetes_targeted", data["kubernetes"]["lowest"]),
        kubernetes_tested=data["kubernetes_tested"],
        replaced_apis=data.get("replaced_apis", {}),
        joint_values=tuple(JointValue(**item) for item in data.get("joint_values", ())),
        kustomize_version=data["kustomize_version"],
        operator=Operator(**data["operator"]),
        volcano_versions=tuple(data["volcano_versions"]),
        local_path_version=data["local_path_version"],
        profiles={
            **{name: tuple(names) for name, names in data["profiles"].items()},
            "full": (*OUTSIDE, *(part.name for part in parts if part.example)),
        },
        components={part.name: part for part in parts},
        defects=tuple(
            Defect(**{**item, "applies_to": tuple(item.get("applies_to", ()))}) for item in data.get("defects", ())
        ),
        refused=data.get("refused", {}),
    )
    if wrong := [*_strange(found, [part.name for part in parts])]:
        raise InvalidInput(
            Problem(f"catalog/releases/{version}.yaml: {text}.", "a consistent release.", "correct the data file.")
            for text in wrong
        )
    return found


def _source(data: Mapping[str, Any]) -> Source:
    marker = data.get("marker")
    return Source(**{**data, "marker": Marker(**marker) if marker else None})


def named(text: str) -> Ref:
    """The object of "Deployment kubeflow/minio" or "MutatingWebhookConfiguration katib.kubeflow.org"."""
    kind, _, place = text.partition(" ")
    namespace, _, name = place.rpartition("/")
    return Ref(_GROUPS.get(kind, "admissionregistration.k8s.io/v1"), kind, namespace, name)


def _strange(found: Release, names: Sequence[str]) -> Iterator[str]:
    """Names that stand twice or are used and do not exist, and requirements that go in a circle."""
    known = {*names, *OUTSIDE}
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"component {name} stands twice"
    for part in found.components.values():
        yield from (f"{part.name} requires unknown {need}" for need in part.requires if need not in known)
    for profile, used in found.profiles.items():
        yield from (f"profile {profile} names unknown {name}" for name in used if name not in known)
    for defect in found.defects:
        yield from (f"defect {defect.id} names unknown {name}" for name in defect.applies_to if name not in known)
    for value in found.joint_values:
        yield from (
            f"a joint value names unknown {name}" for name in (value.component, value.provider) if name not in known
        )
    if found.operator.component not in known:
        yield f"operator is unknown {found.operator.component}"
    sources = {source.name for source in found.remote_sources}
    yield from (
        f"{base.prefix} is in unknown {base.source}" for base in found.remote_bases if base.source not in sources
    )
    left = {part.name: {need for need in part.requires if need in names} for part in found.components.values()}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    if left:
        yield f"a circle of requirements among {', '.join(sorted(left))}"
