"""What the variables for pods, stores and notebooks make of a component's manifests, in their order."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.pods.claims import with_claims
from kubeflow_volcano.rollout.patches.pods.database import with_database
from kubeflow_volcano.rollout.patches.pods.object_store import with_object_store
from kubeflow_volcano.rollout.patches.pods.placement import with_placement
from kubeflow_volcano.rollout.patches.pods.proxy import with_proxy
from kubeflow_volcano.rollout.patches.pods.pull_secrets import with_pull_secrets
from kubeflow_volcano.rollout.patches.pods.tag_resolution import skipped_registries, with_skipped_registries
from kubeflow_volcano.rollout.people.notebooks import with_notebooks
from kubeflow_volcano.rollout.settings.settings import Settings


def for_environment(component: str, objects: Iterable[Object], settings: Settings) -> tuple[Object, ...]:
    """The objects of a component as this environment needs them; objects that change are copies.

    kubeflow_patches are merged into the result, so they win.

    Raises:
        InvalidInput: a name of kubeflow_claims fits no claim.
    """
    changed = with_database(component, objects, settings.database)
    changed = with_object_store(component, changed, settings.object_store)
    changed = with_pull_secrets(component, changed, settings.credentials)
    changed = with_proxy(
        component, changed, settings.proxy, (*settings.cluster_addresses, *_domains(settings.components))
    )
    changed = with_placement(component, changed, settings.placement)
    changed = with_claims(component, changed, settings.claims)
    changed = with_notebooks(component, changed, settings.notebooks)
    return with_skipped_registries(changed, skipped_registries(settings.mirror, settings.registry))


def _domains(components: Iterable[Component]) -> list[str]:
    """Where Services have short names with a namespace, such as minio-service.kubeflow."""
    return sorted({f".{name}" for part in components for name in part.namespaces})
