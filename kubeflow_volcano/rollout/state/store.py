"""The project's namespace, which holds the lock, ConfigMaps of roll-outs and the Secret of the first user."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS
from kubeflow_volcano.cluster.objects import Object, Ref, new_object

NAMESPACE = APPLIED_OBJECTS.namespace

LABELS = {"app.kubernetes.io/managed-by": "kubeflow-volcano"}


def ensure_namespace(cluster: Cluster, labels: Mapping[str, str] | None = None) -> None:
    """Create the namespace if it is missing, with the inventory's `labels` for namespaces.

    Raises:
        ApiError: it cannot be created.
    """
    if cluster.get(Ref("v1", "Namespace", "", NAMESPACE)) is None:
        create_once(cluster, new_object("v1", "Namespace", NAMESPACE, meta={"labels": {**LABELS, **(labels or {})}}))


def own_secret(ref: Ref, data: Mapping[str, str]) -> Object:
    """A Secret of the namespace; values are in base64."""
    return new_object("v1", "Secret", ref.name, ref.namespace, meta={"labels": LABELS}, type="Opaque", data=data)


def create_once(cluster: Cluster, obj: Object) -> Object | None:
    """Create an object; None if it exists, perhaps from this call before a retry.

    Raises:
        ApiError: it cannot be created.
    """
    try:
        return cluster.create(obj)
    except ApiError as error:
        if error.status == HTTPStatus.CONFLICT and error.reason == "AlreadyExists":
            return None
        raise


def write_keys(cluster: Cluster, config_map: Ref, data: Mapping[str, str | None]) -> None:
    """Set these keys of a ConfigMap, or remove those that are None, and create it if it is missing; other keys stay.

    Raises:
        ApiError: it cannot be written.
    """
    texts = {key: text for key, text in data.items() if text is not None}
    obj: Object = new_object(config_map.api_version, config_map.kind, config_map.name, config_map.namespace, data=texts)
    if create_once(cluster, obj) is None:
        cluster.patch(config_map, {"data": data})
