"""Whether the Kubernetes that is planned for serves the API versions that the manifests use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeflow_volcano.catalog.served_apis import served_apis
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.text import counted

__all__ = ["judge_apis"]


def judge_apis(parts: Mapping[str, Sequence[Object]], kubernetes: str) -> Finding:
    """Every object whose API version is not served by that Kubernetes ("1.30.2"); it could never be applied."""
    details = tuple(
        f"{component}: {text}" for component, objects in parts.items() for text in _unserved(objects, kubernetes)
    )
    title = f"APIs that Kubernetes {kubernetes} serves"
    if not details:
        return Finding("apis", title, Verdict.PASS, "all API versions are served.")
    return Finding(
        "apis",
        title,
        Verdict.FAIL,
        f"{counted(len(details), 'object')} in API versions that Kubernetes {kubernetes} does not serve.",
        details,
        "manifests for that Kubernetes.",
        "choose a release whose Kubernetes range has that version, or give kubeflow_sources with mended manifests.",
    )


def _unserved(objects: Sequence[Object], kubernetes: str) -> Iterator[str]:
    for obj in objects:
        for api in served_apis():
            if api.is_about(obj["apiVersion"], obj["kind"]) and not api.kubernetes.covers(kubernetes):
                after = f"; {api.successor} takes its place" if api.successor else ""
                yield f"{Ref.of(obj)}: {obj['apiVersion']} is served by {api.kubernetes}{after}"
