"""What the variables for pods, stores and notebooks make of a component's manifests, in their order."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.pods.claims import set_claims
from kubeflow_volcano.rollout.patches.pods.database import put_database
from kubeflow_volcano.rollout.patches.pods.object_store import put_object_store
from kubeflow_volcano.rollout.patches.pods.placement import place_pods
from kubeflow_volcano.rollout.patches.pods.proxy import set_proxy
from kubeflow_volcano.rollout.patches.pods.pull_secrets import add_pull_secrets
from kubeflow_volcano.rollout.patches.pods.tag_resolution import skip_registries, skipped_registries
from kubeflow_volcano.rollout.people.notebooks import configure_notebooks
from kubeflow_volcano.rollout.settings.settings import Settings


def for_environment(component: str, objects: Iterable[Object], settings: Settings) -> tuple[Object, ...]:
    """The objects of a component as this environment needs them, changed on copies.

    Images get new names afterwards, so that those of notebooks are listed, copied and renamed as all others. Then
    kubeflow_patches are merged into the result, so they win.

    Raises:
        InvalidInput: a name of kubeflow_claims fits no claim, or the manifests lack what is changed.
    """
    # As in `patched`, none of them changes a CRD.
    changed = [obj if obj["kind"] == CRD_KIND else copy.deepcopy(obj) for obj in objects]
    if changed:
        put_database(changed, component, settings.database)
        put_object_store(changed, component, settings.object_store)
        add_pull_secrets(changed, component, settings.credentials)
        inside = (*settings.cluster_addresses, *_domains(settings.components))
        set_proxy(changed, component, settings.proxy, inside)
        place_pods(changed, component, settings.placement)
        set_claims(changed, component, settings.claims)
        configure_notebooks(changed, component, settings.notebooks)
        skip_registries(changed, skipped_registries(settings.mirror, settings.registry))
    return tuple(changed)


def _domains(components: Iterable[Component]) -> list[str]:
    """Where Services have short names with a namespace, such as minio-service.kubeflow."""
    return sorted({f".{name}" for part in components for name in part.namespaces})
