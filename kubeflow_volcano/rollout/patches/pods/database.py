"""`kubeflow_database` in the manifests of Pipelines and Katib.

Upstream has an overlay of Katib for it in every release (installs/katib-external-db), which is not the one that
upstream installs with Kubeflow, and of Pipelines only for single clouds, up to 1.10. So the objects are changed: those
of Pipelines read address and names from `pipeline-install-config` and the login from `mysql-secret` in every release,
and Katib gets the variables of its overlay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.account.sign_in import annotate, encoded
from kubeflow_volcano.rollout.account.stores import OUTSIDE
from kubeflow_volcano.rollout.patches.pods.store_parts import needed, restart_on_change, set_variables
from kubeflow_volcano.rollout.settings.pods.stores import KATIB, PIPELINES, DatabaseSettings

_SUM = "kubeflow-volcano/database"
"""Annotation of pod templates: its change restarts the programs, which read all of it only at their start."""

_SECRETS = {PIPELINES: "mysql-secret", KATIB: "katib-mysql-secrets"}
_OWN = {PIPELINES: ("mysql", "ml-pipeline-mysql"), KATIB: ("katib-mysql",)}
"""Names of the objects of the MySQL in the cluster beside its claim."""
_KINDS = frozenset({"AuthorizationPolicy", "Deployment", "DestinationRule", "Service", "ServiceAccount"})


def put_database(objects: list[Object], component: str, given: DatabaseSettings) -> None:
    """Let a component that uses the server know it, and remove its own MySQL.

    The claim of an installation whose data was moved stays declared, so that no pruning removes it.

    Raises:
        InvalidInput: the manifests lack what is changed.
    """
    if component not in given.claims:
        return
    objects[:] = [obj for obj in objects if not _is_unused(component, obj, given)]
    secret = _needed(component, objects, "Secret", _SECRETS[component])
    if component == PIPELINES:
        _needed(component, objects, "ConfigMap", "pipeline-install-config").setdefault("data", {}).update(
            _addresses(given)
        )
        texts: Mapping[str, str] = {"username": given.user, "password": given.password}
    else:
        texts = _of_katib(given)
        set_variables(_needed(component, objects, "Deployment", "katib-db-manager"), _reading(texts))
    secret.pop("stringData", None)
    secret["data"] = encoded(texts)
    annotate(secret["metadata"], OUTSIDE, "true")
    plain = f"{given.host} {given.port} {given.names} {given.user}"
    restart_on_change(objects, _SECRETS[component], _SUM, plain, given.password)


def _is_unused(component: str, obj: Object, given: DatabaseSettings) -> bool:
    kind, name = obj["kind"], obj["metadata"]["name"]
    if kind == "PersistentVolumeClaim":
        return name in given.claims[component] and not given.moved
    return kind in _KINDS and name in _OWN[component]


def _needed(component: str, objects: Iterable[Object], kind: str, name: str) -> Object:
    return needed(component, objects, kind, name, "kubeflow_database")


def _addresses(given: DatabaseSettings) -> Mapping[str, str]:
    """From 1.8 on, the API server reads a second pair, for MySQL beside PostgreSQL."""
    names = {"pipelineDb": given.names.pipelines, "cacheDb": given.names.cache, "mlmdDb": given.names.metadata}
    return names | {f"{of}{what}": text for of in ("db", "mysql") for what, text in _place(given)}


def _place(given: DatabaseSettings) -> Iterable[tuple[str, str]]:
    return ("Host", given.host), ("Port", str(given.port))


def _of_katib(given: DatabaseSettings) -> Mapping[str, str]:
    """Of installs/katib-external-db, v0.14.0 to v0.19.0."""
    return {
        "KATIB_MYSQL_DB_DATABASE": given.names.katib,
        "KATIB_MYSQL_DB_HOST": given.host,
        "KATIB_MYSQL_DB_PORT": str(given.port),
        "DB_USER": given.user,
        "DB_PASSWORD": given.password,
    }


def _reading(texts: Iterable[str]) -> list[Object]:
    return [{"name": key, "valueFrom": {"secretKeyRef": {"name": _SECRETS[KATIB], "key": key}}} for key in texts]
