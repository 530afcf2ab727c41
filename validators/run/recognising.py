"""The release of a cluster, by its operators of training jobs and the images beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, parse
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.reach.recognition import image_marks, recognise
from kubeflow_volcano.validators.core.expectations import newest_for, releases_of
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of
from kubeflow_volcano.validators.subjects.gang.operators import OPERATORS


def beside_operators(cluster: Cluster) -> Iterator[Object]:
    """Deployments in the namespaces of operators of training jobs."""
    for where in sorted({item.ref.namespace for item in OPERATORS.values()}):
        try:  # as the checks do, who need no other right
            yield from cluster.list("apps/v1", "Deployment", namespace=where).items
        except ApiError:  # the checks that want to read it say why
            continue


def release_of(cluster: Cluster, running: Mapping[Ref, Object]) -> tuple[str, str]:
    """The release of these Deployments, and how it is known."""
    images = [container_of(running[item.ref])["image"] for item in OPERATORS.values() if item.ref in running]
    if by_operator := releases_of(images):
        alike = recognise(image_marks(running.get), among=by_operator)
        return (alike.releases if alike else by_operator)[-1], "of the running operator"
    if recognised := recognise(image_marks(running.get)):
        return recognised.releases[-1], "of the running images; no operator tells"
    if recorded := _recorded(cluster):
        return recorded, "of the last roll-out; no operator tells"
    return newest_for(cluster.version.get("gitVersion", "")), "newest for this Kubernetes; no operator tells"


def _recorded(cluster: Cluster) -> str:
    """The release that roll-outs recorded for their components; empty where they recorded none, or several."""
    try:
        texts = ((cluster.get(APPLIED_OBJECTS) or {}).get("data") or {}).values()
        versions = {parse(text).version for text in texts}
    except (ApiError, ValueError):  # C1 says why
        return ""
    releases = versions & {*read.releases()}
    return releases.pop() if len(releases) == 1 else ""
