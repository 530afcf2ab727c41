"""`kubeflow_object_store` in the manifests of Pipelines.

| release | store that upstream brings | in its place |
|---|---|---|
| to 1.10 | MinIO, whose address Pipelines 2.0 has in its launcher | the same program as a gateway to the store |
| from 1.11 | SeaweedFS | nothing: each program reads the store's address |

The gateway is upstream's own way to the stores of clouds (env/gcp/minio-gcs-gateway). From 1.11 on the profile
controller makes a user in SeaweedFS for each namespace, which other stores do not have: `profile_store.py` lets it give
each namespace the key of the inventory, as it does up to 1.10.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.objects import Object, named, new_object
from kubeflow_volcano.cluster.pods.environment import entries
from kubeflow_volcano.rollout.account.sign_in import annotate, encoded
from kubeflow_volcano.rollout.account.stores import OUTSIDE
from kubeflow_volcano.rollout.patches.pods.store_parts import needed, restart_on_change, set_variables
from kubeflow_volcano.rollout.settings.pods.stores import PIPELINES, ObjectStoreSettings

_SUM = "kubeflow-volcano/object-store"
"""Annotation of pod templates: its change restarts the programs, which read all of it only at their start."""

_SECRET = "mlpipeline-minio-artifact"  # noqa: S105  a name
_OF_SEAWEEDFS = frozenset({"seaweedfs", "seaweedfs-service", "ml-pipeline-seaweedfs", "minio-service"})
_KINDS = frozenset(
    {"AuthorizationPolicy", "Deployment", "DestinationRule", "NetworkPolicy", "Service", "ServiceAccount"}
)
_AUTHORITY = "object-store-authority"
_CONTROLLER = "kubeflow-pipelines-profile-controller"
_PROGRAM = "profile_store.py"


def put_object_store(objects: list[Object], component: str, given: ObjectStoreSettings) -> None:
    """Let Pipelines use the store, and remove its own.

    The claim of an installation whose data was moved stays declared, so that no pruning removes it.

    Raises:
        InvalidInput: the manifests lack what is changed.
    """
    if component != PIPELINES or not given:
        return
    gateway = named(objects, "Deployment", "minio") is not None
    objects[:] = [obj for obj in objects if not _is_unused(obj, given, gateway=gateway)]
    secret = _needed(objects, "Secret", _SECRET)
    secret.pop("stringData", None)
    secret["data"] = encoded({"accesskey": given.access_key, "secretkey": given.secret_key})
    annotate(secret["metadata"], OUTSIDE, "true")
    names = _needed(objects, "ConfigMap", "pipeline-install-config")["data"]
    names["bucketName"] = given.bucket
    if gateway:
        server = _needed(objects, "Deployment", "minio")
        _make_gateway(server, given)
        if given.ca:
            objects.insert(objects.index(server), _authority(server, given.ca))
        names["defaultPipelineRoot"] = names.get("defaultPipelineRoot") or f"minio://{given.bucket}/v2/artifacts"
        _configure_workflows(objects, {"bucket": given.bucket})
    else:
        _configure_programs(objects, given)
    _set_variables(objects, "ml-pipeline-ui", {"ARGO_ARCHIVE_BUCKETNAME": given.bucket})
    _update_namespaces(objects)
    plain = f"{given.endpoint} {given.bucket} {given.region} {given.access_key}{given.ca}"
    restart_on_change(objects, _SECRET, _SUM, plain, given.secret_key)


def _is_unused(obj: Object, given: ObjectStoreSettings, *, gateway: bool) -> bool:
    kind, name = obj["kind"], obj["metadata"]["name"]
    if kind == "PersistentVolumeClaim":
        return name in given.claims[PIPELINES] and not given.moved
    return not gateway and kind in _KINDS and name in _OF_SEAWEEDFS


def _needed(objects: Iterable[Object], kind: str, name: str) -> Object:
    return needed(PIPELINES, objects, kind, name, "kubeflow_object_store")


def _make_gateway(deployment: Object, given: ObjectStoreSettings) -> None:
    """MinIO asks AWS_* first, and then whether the node has a role in AWS, before it takes its own key."""
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    container["args"] = ["gateway", "s3", given.endpoint]
    volumes = {item["name"] for item in pod.pop("volumes", ())}
    container["volumeMounts"] = [item for item in container.get("volumeMounts", ()) if item["name"] not in volumes]
    keys = {"AWS_ACCESS_KEY_ID": "accesskey", "AWS_SECRET_ACCESS_KEY": "secretkey"}
    container["env"] += [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": _SECRET, "key": key}}} for name, key in keys.items()
    ]


def _authority(deployment: Object, ca: str) -> Object:
    """The ConfigMap with the authority, mounted. MinIO trusts what crypto/x509 does, which reads SSL_CERT_FILE."""
    found = new_object("v1", "ConfigMap", _AUTHORITY, deployment["metadata"]["namespace"], data={"ca.crt": ca})
    pod = deployment["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": _AUTHORITY, "configMap": {"name": _AUTHORITY}}]
    container = pod["containers"][0]
    container["volumeMounts"].append({"name": _AUTHORITY, "mountPath": "/etc/kubeflow-volcano", "readOnly": True})
    container["env"].append({"name": "SSL_CERT_FILE", "value": "/etc/kubeflow-volcano/ca.crt"})
    return found


def _configure_workflows(objects: Iterable[Object], store: Mapping[str, Any]) -> None:
    """Argo keeps logs and, in pipelines of version 1, artifacts there."""
    data = _needed(objects, "ConfigMap", "workflow-controller-configmap")["data"]
    repository = next(iter(foreign.parse(data["artifactRepository"].encode(), "artifactRepository of Argo")))
    repository["s3"] |= store
    data["artifactRepository"] = yaml.dump(repository, Dumper=foreign.Dumper, sort_keys=False)


def _configure_programs(objects: Sequence[Object], given: ObjectStoreSettings) -> None:
    secure, host, port = given.address
    _configure_workflows(
        objects,
        {"endpoint": f"{host}:{port}", "bucket": given.bucket, "region": given.region, "insecure": not secure},
    )
    of_api = {"HOST": host, "PORT": str(port), "REGION": given.region, "SECURE": str(secure).lower()}
    _set_variables(objects, "ml-pipeline", {f"OBJECTSTORECONFIG_{key}": text for key, text in of_api.items()})
    # The page appends the namespace to the host, unless it is empty.
    of_ui = {"HOST": host, "PORT": str(port), "NAMESPACE": "", "SSL": str(secure).lower()}
    _set_variables(objects, "ml-pipeline-ui", {f"MINIO_{key}": text for key, text in of_ui.items()})
    _set_variables(objects, _CONTROLLER, {"KUBEFLOW_STORE": json.dumps(_for_namespaces(given))})
    for code in (obj for obj in objects if obj["kind"] == "ConfigMap" and "sync.py" in (obj.get("data") or {})):
        code["data"][_PROGRAM] = (
            files("kubeflow_volcano.rollout.patches.pods").joinpath(_PROGRAM).read_text(encoding="utf-8")
        )
    program = _needed(objects, "Deployment", _CONTROLLER)["spec"]["template"]["spec"]["containers"][0]
    program["command"] = ["python", f"/hooks/{_PROGRAM}"]


def _for_namespaces(given: ObjectStoreSettings) -> Mapping[str, Any]:
    secure, host, port = given.address
    return {
        "bucket": given.bucket,
        "s3": {"endpoint": f"{host}:{port}", "bucket": given.bucket, "region": given.region, "insecure": not secure},
        "provider": {"endpoint": f"{host}:{port}", "region": given.region, "disableSSL": not secure},
    }


def _update_namespaces(objects: Iterable[Object]) -> None:
    """Let the profile controller change what namespaces have; upstream's leaves Secrets and ConfigMaps as they are."""
    for obj in (obj for obj in objects if obj["kind"] in {"CompositeController", "DecoratorController"}):
        for item in obj["spec"].get("attachments") or obj["spec"].get("childResources") or ():
            if item["resource"] in {"secrets", "configmaps"}:
                item["updateStrategy"] = {"method": "InPlace"}


def _set_variables(objects: Iterable[Object], deployment: str, values: Mapping[str, str]) -> None:
    set_variables(_needed(objects, "Deployment", deployment), entries(values))
