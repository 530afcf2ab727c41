"""Stores outside of the cluster for those that manifests bring: `kubeflow_database`, `kubeflow_object_store`."""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urlsplit

from kubeflow_volcano.catalog.model import Release
from kubeflow_volcano.problems import Problem

PIPELINES, KATIB = "pipelines", "katib"
"""The components with a MySQL of their own; the catalogs and registries of models have PostgreSQL, which stays."""


@dataclass(frozen=True, slots=True)
class DatabaseNames:
    """Names of databases on the server, at first those of upstream: of runs, of the cache, of metadata, of Katib."""

    pipelines: str = "mlpipeline"
    cache: str = "cachedb"
    metadata: str = "metadb"
    katib: str = "katib"


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """A MySQL server for Pipelines and Katib; empty for those in the cluster.

    `moved` says that what those of an existing installation hold was moved, or is not needed.
    """

    host: str = ""
    port: int = 3306
    user: str = ""
    password: str = field(default="", repr=False)
    names: DatabaseNames = field(default_factory=DatabaseNames)
    ca: str = ""
    moved: bool = False

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.host)

    @property
    def place(self) -> str:
        """Where the data goes, for people."""
        return f"{self.host}:{self.port}"

    @property
    def claims(self) -> Mapping[str, frozenset[str]]:
        """The claims of the MySQL that each component has no use for then; empty without a server."""
        return {PIPELINES: frozenset({"mysql-pv-claim"}), KATIB: frozenset({"katib-mysql"})} if self else {}


@dataclass(frozen=True, slots=True)
class ObjectStoreSettings:
    """A store with the API of S3 for Pipelines; empty for the one in the cluster. `moved` as for databases."""

    endpoint: str = ""
    bucket: str = "mlpipeline"
    region: str = "us-east-1"
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    ca: str = ""
    """Certificates of the authority that signed the store's, in PEM."""
    moved: bool = False

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.endpoint)

    @property
    def place(self) -> str:
        """Where the data goes, for people."""
        return f"{self.endpoint}/{self.bucket}"

    @property
    def address(self) -> tuple[bool, str, int]:
        """Whether it is encrypted, host and port."""
        parts = urlsplit(self.endpoint)
        secure = parts.scheme == "https"
        return secure, parts.hostname or "", parts.port or (443 if secure else 80)

    @property
    def claims(self) -> Mapping[str, frozenset[str]]:
        """The claims of the stores of all releases; empty without a store."""
        return {PIPELINES: frozenset({"minio-pvc", "seaweedfs-pvc"})} if self else {}


Store: TypeAlias = DatabaseSettings | ObjectStoreSettings
"""One of the two."""


def is_gateway(release: Release) -> bool:
    """Whether MinIO of this release stays, and passes requests on; from 1.11 on each program asks the store itself."""
    pipelines = release.components.get(PIPELINES)
    return any(claim.name == "minio-pvc" for claim in pipelines.claims) if pipelines else False


def validate_stores(
    given: DatabaseSettings, object_store: ObjectStoreSettings, chosen: Collection[str], *, gateway: bool
) -> Iterator[Problem]:
    """Problems of stores that none of these components uses, or with an authority that these programs do not take."""
    if given.ca:
        yield Problem(
            "kubeflow_database.ca is set.",
            "a server that admits logins without TLS: Katib and the cache of Pipelines have no setting for it.",
            "remove ca, and let a network policy, a tunnel or a proxy beside the server protect the connection.",
        )
    if object_store.ca and not (gateway and object_store.address[0]):
        yield Problem(
            "kubeflow_object_store.ca is set, "
            + ("and the endpoint is http://." if gateway else "and this release has no setting for it."),
            "https:// and a release up to 1.10, in which MinIO alone speaks to the store: from 1.11 on launchers in "
            "the namespaces of profiles do, with the authorities of their images.",
            "remove ca; from 1.11 on give the store a certificate that those know, or http:// within the network.",
        )
    if object_store.ca:
        try:
            ssl.create_default_context(cadata=object_store.ca)
        except ssl.SSLError as error:
            yield Problem(
                f"kubeflow_object_store.ca cannot be read: {error.reason or error}.",
                "certificates in PEM.",
                "correct it, as in \"{{ lookup('file', 'ca.crt') }}\".",
            )
    if object_store and PIPELINES not in chosen:
        yield Problem(
            f"kubeflow_object_store is set, and {PIPELINES} is not installed by this inventory.",
            f"{PIPELINES}, which keeps artifacts and logs there.",
            f"choose {PIPELINES}, or remove kubeflow_object_store.",
        )
    if given and not {PIPELINES, KATIB} & {*chosen}:
        yield Problem(
            f"kubeflow_database is set, and neither {PIPELINES} nor {KATIB} is installed by this inventory.",
            "one of them, which keep their data there.",
            "choose one, or remove kubeflow_database.",
        )
