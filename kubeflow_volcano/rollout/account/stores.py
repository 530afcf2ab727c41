"""Passwords of the servers that manifests bring: random ones in place of those that upstream publishes.

A server takes the password of its first start for good, so only a new one gets another: neither its Secret nor a claim
or volume with its data is there yet. From then on the Secret that all its clients read says what the password is, also
after a change by hand; the project's namespace has a copy, which outlives an uninstallation, as the data does.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, named
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.account.sign_in import decoded, encoded
from kubeflow_volcano.rollout.account.stored import SECRET
from kubeflow_volcano.rollout.settings.user import MODEL_REGISTRY, UPSTREAM_NAMESPACE
from kubeflow_volcano.rollout.state.store import NAMESPACE, create_once, own_secret

KEPT = Ref("v1", "Secret", NAMESPACE, "store-passwords")
"""Has the password of each Secret under its name."""

OUTSIDE = "kubeflow-volcano/outside"
"""Annotation of a Secret whose login is for a store outside of the cluster, not for the server of the manifests."""

PLACEHOLDER = "random on a new installation"

_RANDOM_BYTES = 18


@dataclass(frozen=True, slots=True)
class _Server:
    """The Secret with the password, its key and what upstream publishes; one of the claims has the server's data."""

    component: str
    secret: Ref
    key: str
    published: str
    claims: tuple[str, ...]


def _server(component: str, name: str, key: str, published: str, *claims: str, namespace: str = "kubeflow") -> _Server:
    return _Server(component, Ref("v1", "Secret", namespace, name), key, published, claims)


_SERVERS = (
    _server("pipelines", "mysql-secret", "password", "", "mysql-pv-claim"),
    _server("pipelines", "mlpipeline-minio-artifact", "secretkey", "minio123", "minio-pvc", "seaweedfs-pvc"),
    _server("katib", "katib-mysql-secrets", "MYSQL_ROOT_PASSWORD", "test", "katib-mysql"),
    _server("model-catalog", "model-catalog-postgres", "POSTGRES_PASSWORD", "postgres", "model-catalog-postgres"),
    _server(
        MODEL_REGISTRY,
        "model-registry-db-secrets",
        "MYSQL_ROOT_PASSWORD",
        "test",
        "metadata-mysql",
        namespace=UPSTREAM_NAMESPACE,
    ),
)
"""Of all releases, 1.6.1 to 26.03.1."""

SECRETS = {
    SECRET: ("the first user's password", frozenset({"email", "password", "password-hash"})),
    KEPT: ("the passwords of databases and stores", frozenset(item.secret.name for item in _SERVERS)),
}
"""Those of the project's namespace, each with what it keeps, and its keys."""

Passwords = Mapping[str, str]
"""By the name of the Secret."""


def passwords_of_cluster(cluster: Cluster, components: Iterable[Component]) -> Passwords:
    """The password of each server: what its Secret or the copy has, upstream's where its data is older, else random.

    Changes nothing: `keep_passwords` does.

    Raises:
        ApiError: the API server refuses a question.
    """
    live = cluster.get(KEPT)
    copies = decoded(live) if live else {}
    chosen = {part.name for part in components}
    return {item.secret.name: _password(cluster, item, copies) for item in _SERVERS if item.component in chosen}


def put_passwords(objects: Iterable[Object], component: str, passwords: Passwords | None) -> None:
    """Set the passwords where upstream's are; None for placeholders. Values of other manifests and patches stay."""
    given = list(objects)
    for item in (item for item in _SERVERS if item.component == component):
        password = PLACEHOLDER if passwords is None else passwords.get(item.secret.name, item.published)
        secret = named(given, "Secret", item.secret.name)
        texts = decoded(secret) if secret else {}
        if secret is None or texts.get(item.key) != item.published or password == item.published or _is_outside(secret):
            continue
        secret.pop("stringData", None)
        secret["data"] = encoded(texts | {item.key: password})
        _require_password(named(given, "Deployment", "mysql") if item.key == "password" else None, item)


def keep_passwords(cluster: Cluster, passwords: Passwords | None, objects: Iterable[Object]) -> None:
    """Keep a copy of those that are in these objects and that upstream does not publish, before a server gets them.

    Raises:
        InvalidInput: another roll-out has made others meanwhile.
        ApiError: the copy may not be written.
    """
    own = {Ref.of(obj): decoded(obj) for obj in objects if obj["kind"] == "Secret"}
    known = {item.secret.name: item for item in _SERVERS}
    wanted = {
        name: text
        for name, text in (passwords or {}).items()
        if text != known[name].published and own.get(known[name].secret, {}).get(known[name].key) == text
    }
    if not wanted:
        return
    data = encoded(wanted)
    live = cluster.get(KEPT)
    if live is None and create_once(cluster, own_secret(KEPT, data)) is not None:
        return
    copies = decoded(live or cluster.get(KEPT) or {})
    for name in sorted(wanted):
        if copies.get(name, wanted[name]) != wanted[name] != _live(cluster, known[name]):
            raise InvalidInput.problem(
                f"another roll-out has made a password for {known[name].secret} meanwhile.",
                "one password of each server.",
                "run again.",
            )
    if copies | wanted != copies:
        cluster.patch(KEPT, {"data": data})


def with_passwords(objects: Iterable[Object], *, published: bool) -> tuple[str, ...]:
    """The Secrets of servers in these objects with upstream's password, or with another one."""
    given = {Ref.of(obj): obj for obj in objects if obj["kind"] == "Secret"}
    return tuple(
        str(item.secret)
        for item in _SERVERS
        if (obj := given.get(item.secret)) and not _is_outside(obj)
        if (decoded(obj).get(item.key) == item.published) is published
    )


def _password(cluster: Cluster, item: _Server, copies: Mapping[str, str]) -> str:
    if (known := _live(cluster, item)) is not None:
        return known
    if item.secret.name in copies:
        return copies[item.secret.name]
    return item.published if _has_data(cluster, item) else secrets.token_urlsafe(_RANDOM_BYTES)


def _live(cluster: Cluster, item: _Server) -> str | None:
    live = cluster.get(item.secret)
    return decoded(live).get(item.key, item.published) if live and not _is_outside(live) else None


def _has_data(cluster: Cluster, item: _Server) -> bool:
    """Whether a claim of it exists, or a volume that once belonged to one; a static volume without a past is new."""
    claims = [Ref("v1", "PersistentVolumeClaim", item.secret.namespace, name) for name in item.claims]
    if any(map(cluster.get, claims)):
        return True
    places = {(ref.namespace, ref.name) for ref in claims}
    for volume in cluster.list("v1", "PersistentVolume").items:
        bound = volume["spec"].get("claimRef") or {}
        phase = (volume.get("status") or {}).get("phase")
        if (bound.get("namespace"), bound.get("name")) in places and phase not in {"Available", "Pending"}:
            return True
    return False


def _is_outside(secret: Object) -> bool:
    return OUTSIDE in (secret["metadata"].get("annotations") or {})


def _require_password(server: Object | None, item: _Server) -> None:
    """Let the MySQL of Pipelines start with the password; upstream's has none, and allows that in so many words."""
    for container in server["spec"]["template"]["spec"]["containers"] if server else ():
        reference = {"secretKeyRef": {"name": item.secret.name, "key": item.key}}
        container["env"] = [
            {"name": "MYSQL_ROOT_PASSWORD", "valueFrom": reference}
            if entry["name"] == "MYSQL_ALLOW_EMPTY_PASSWORD"
            else entry
            for entry in container.get("env") or ()
        ]
