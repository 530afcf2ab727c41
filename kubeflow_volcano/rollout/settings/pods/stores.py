"""Stores outside of the cluster in place of those that the manifests bring: `kubeflow_database`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

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
    moved: bool = False

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.host)

    @property
    def claims(self) -> Mapping[str, str]:
        """The claim of the MySQL that each component has no use for then; empty without a server."""
        return {PIPELINES: "mysql-pv-claim", KATIB: "katib-mysql"} if self else {}


def validate_database(given: DatabaseSettings, chosen: Collection[str]) -> Iterator[Problem]:
    """The problem of a database that none of these components uses."""
    if given and not {PIPELINES, KATIB} & {*chosen}:
        yield Problem(
            f"kubeflow_database is set, and neither {PIPELINES} nor {KATIB} is installed by this inventory.",
            "one of them, which keep their data there.",
            "choose one, or remove kubeflow_database.",
        )
