"""The pods of a component with everything that the inventory says about pods of every component."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.pods.pull_secrets import add_pull_secrets
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["with_pod_settings"]

_Change = Callable[[list[Object], str, Settings], None]

_CHANGES: tuple[_Change, ...] = (add_pull_secrets,)


def with_pod_settings(name: str, objects: Iterable[Object], settings: Settings) -> tuple[Object, ...]:
    """The objects of a component, changed on copies. kubeflow_patches are merged into the result, so they win.

    Raises:
        InvalidInput: the objects lack what a variable changes.
    """
    found = tuple(objects)
    if not settings.credentials:
        return found
    changed = [obj if obj["kind"] == "CustomResourceDefinition" else copy.deepcopy(obj) for obj in found]
    for change in _CHANGES:
        change(changed, name, settings)
    return tuple(changed)
