"""Reference identities of the workloads that write to volumes; they drive the storage probe where none of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.read import load

__all__ = ["Identity", "identities"]


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom a workload runs, in releases `lowest` to `highest` (None: open); None elsewhere: left to the image."""

    workload: str
    lowest: str
    highest: str | None
    run_as_user: int | None
    run_as_group: int | None
    fs_group: int | None
    fs_group_change_policy: str | None

    def belongs_to(self, release: str) -> bool:
        """Whether that Kubeflow release runs it so."""
        key = version_key(release)
        return version_key(self.lowest) <= key and (self.highest is None or key <= version_key(self.highest))


@cache
def identities() -> tuple[Identity, ...]:
    """All that the catalog knows."""
    return tuple(
        Identity(
            workload=item["workload"],
            lowest=item["releases"]["lowest"],
            highest=item["releases"]["highest"],
            run_as_user=item["run_as_user"],
            run_as_group=item["run_as_group"],
            fs_group=item["fs_group"],
            fs_group_change_policy=item["fs_group_change_policy"],
        )
        for item in load("identities.yaml", "identities")["identities"]
    )
