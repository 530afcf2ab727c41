"""Whether claims that exist already can become what the manifests and `kubeflow_claims` declare.

The API server refuses a change of a claim's class, and a smaller size; a larger one is for claims that are bound, and
whose class has allowVolumeExpansion (pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate, and the admission
plugin PersistentVolumeClaimResize). Templates of StatefulSets never change. It would say so in mid-run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeflow_volcano.apply.fields.ceded import without
from kubeflow_volcano.apply.replace import way_out
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import quantity
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.patches.pods.claims import claims_in
from kubeflow_volcano.rollout.settings.ceded import CededFields, ceded_of
from kubeflow_volcano.rollout.settings.pods.claims import ClaimSettings

_CLASS = ("storage.k8s.io/v1", "StorageClass")

Parts = Mapping[str, Sequence[Object]]


def unmet_claims(
    cluster: Cluster, asked: Mapping[str, Mapping[str, ClaimSettings]], ceded: Iterable[CededFields], parts: Parts
) -> Iterator[Problem]:
    """Problems of claims and templates that exist otherwise, and of classes that are `asked` for and do not exist.

    Raises:
        ApiError: claims, StatefulSets or classes cannot be read.
    """
    declared = [obj for objects in parts.values() for obj in objects if any(claims_in(obj))]
    if not declared:
        return
    classes = {item["metadata"]["name"]: item for item in cluster.list(*_CLASS).items}
    own = {obj["metadata"]["name"] for objects in parts.values() for obj in objects if obj["kind"] == "StorageClass"}
    for name in asked:
        for claim, wanted in asked[name].items():
            if parts.get(name) and wanted.storage_class and wanted.storage_class not in {*classes, *own}:
                yield Problem(
                    f"kubeflow_claims.{name}.{claim} names the StorageClass {wanted.storage_class}, which is absent.",
                    f"one of: {', '.join(sorted({*classes, *own})) or 'the cluster has none'}.",
                    "correct the name, or create the class.",
                )
    refs = [Ref.of(obj) for obj in declared]
    for obj, ref, live in zip(declared, refs, in_parallel(cluster.get, refs), strict=True):
        if live is None:
            continue
        kept = without(obj, ceded_of(ceded, obj))
        if obj["kind"] == "StatefulSet":
            yield from _templates(ref, kept, live)
        else:
            yield from _claim(ref, kept, live, classes)


def _claim(ref: Ref, declared: Object, live: Object, classes: Mapping[str, Object]) -> Iterator[Problem]:
    wanted, present = _class(declared), _class(live)
    bound = live.get("status", {}).get("phase") == "Bound"
    if wanted and present and wanted != present:
        yield Problem(
            f"{ref} has the StorageClass {present}, and {wanted} is declared.",
            "the class that it has: no claim changes its class.",
            f"set storage_class: {present} in kubeflow_claims to {way_out(ref)}, and run again.",
        )
        return
    size, before = _size(declared), _size(live)
    if not size or not before or quantity(size) == quantity(before):
        return
    if quantity(size) < quantity(before):
        yield Problem(
            f"{ref} has {before}, and {size} is declared.",
            "at least the size that it has: no claim shrinks.",
            f"set size: {before} in kubeflow_claims to {way_out(ref)}, and run again.",
        )
    elif not bound:
        yield Problem(
            f"{ref} has {before} and no volume yet, and {size} is declared.",
            "a claim with a volume: no other grows.",
            f"kubectl delete {ref.for_kubectl()}, as there is no data yet, and run again.",
        )
    elif not (classes.get(present or "") or {}).get("allowVolumeExpansion"):
        yield Problem(
            f"{ref} has {before}, and {size} is declared; its StorageClass {present or 'none'} cannot expand volumes.",
            "a class with allowVolumeExpansion: true, whose provisioner can resize.",
            f"set size: {before} in kubeflow_claims to {way_out(ref)}, and run again.",
        )


def _templates(ref: Ref, declared: Object, live: Object) -> Iterator[Problem]:
    present = {claim["metadata"]["name"]: claim for claim in claims_in(live)}
    for claim in claims_in(declared):
        before = present.get(claim["metadata"]["name"])
        if before is None:
            continue
        said = [
            f"{name} {old or 'of the default'}, and {new} is declared"
            for name, new, old in (("class", _class(claim), _class(before)), ("size", _size(claim), _size(before)))
            if new and (old is None or not _is_same(name, new, old))
        ]
        if said:
            yield Problem(
                f"{ref} creates claims {claim['metadata']['name']} with {'; '.join(said)}.",
                "the template that it has: templates of a StatefulSet do not change, and neither do claims from them.",
                f"undo the change; or {way_out(ref)}, and run again.",
            )


def _is_same(name: str, new: str, old: str) -> bool:
    return quantity(new) == quantity(old) if name == "size" else new == old


def _class(claim: Object) -> str | None:
    name: str | None = (claim.get("spec") or {}).get("storageClassName")
    return name


def _size(claim: Object) -> str | None:
    size: str | None = (((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage")
    return size
