"""What the variables for pods make of a component's manifests, in their order."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.pods.claims import with_claims
from kubeflow_volcano.rollout.patches.pods.placement import with_placement
from kubeflow_volcano.rollout.patches.pods.proxy import with_proxy
from kubeflow_volcano.rollout.patches.pods.pull_secrets import with_pull_secrets
from kubeflow_volcano.rollout.patches.pods.tag_resolution import with_skipped_registries
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["for_environment"]


def for_environment(component: str, objects: Iterable[Object], settings: Settings) -> tuple[Object, ...]:
    """The objects of a component as this environment needs them; objects that change are copies.

    kubeflow_patches are merged into the result, so they win.

    Raises:
        InvalidInput: a name of kubeflow_claims fits no claim.
    """
    found = with_pull_secrets(component, objects, settings)
    found = with_proxy(component, found, settings)
    found = with_placement(component, found, settings)
    found = with_claims(component, found, settings)
    return with_skipped_registries(found, settings)
