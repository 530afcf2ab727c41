"""A last look at the cluster when the probes are over: is anything of them still there, was anything else touched.

The session's own account says what it removed. This module lists the objects again, by kind and not by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.acting import USER_AGENT, Acting, Write
from kubeflow_volcano.experiment.remains import Cleanup, Tracked
from kubeflow_volcano.validators.core.facts import Evidence

CLEANUP = Evidence[Cleanup]("cleanup")
"""The session's own account of what it removed."""

_VOLUME = "PersistentVolume"


@dataclass(frozen=True, slots=True)
class Audit:
    """What the look found. `kinds` are those of which the probes made something, `seen` the objects of these kinds.

    `present` are objects of this run that still exist. `foreign_writes` are requests that changed an object
    which is not of this run, `touched` the objects of no run with fields that this tool wrote.
    """

    kinds: tuple[str, ...] = ()
    seen: int = 0
    writes: int = 0
    present: tuple[Tracked, ...] = ()
    foreign_writes: tuple[str, ...] = ()
    touched: tuple[Ref, ...] = ()


def audit(cluster: Acting, account: Cleanup, runs: Collection[str], namespace: str) -> Audit:
    """Look at every kind of which these runs made something; in `namespace` alone, where they stayed in one.

    Raises:
        ApiError: one of the kinds may not be listed.
    """
    kinds = sorted({(item.ref.api_version, item.ref.kind, bool(item.ref.namespace)) for item in account.created})
    own = {item.uid for item in (*account.created, *account.swept, *account.left)}
    present: list[Tracked] = []
    touched: list[Ref] = []
    seen = 0
    for api_version, kind, namespaced in kinds:
        brief = kind != _VOLUME  # of which the claim matters, too
        for page in cluster.pages(api_version, kind, namespace=namespace if namespaced else "", brief=brief):
            seen += len(page.items)
            for item in page.items:
                if item["metadata"]["uid"] in own or _label(item) in runs:
                    present.append(Tracked.of(item))
                elif not _label(item) and _is_marked(item) and not _is_volume_of_a_probe(item):
                    touched.append(Ref.of(item))
    return Audit(
        kinds=tuple(kind for _, kind, _ in kinds),
        seen=seen,
        writes=len(cluster.writes),
        present=tuple(present),
        foreign_writes=tuple(map(str, _foreign_writes(cluster.writes, own, runs))),
        touched=tuple(touched),
    )


def _foreign_writes(writes: Collection[Write], own: Collection[str], runs: Collection[str]) -> Iterator[Write]:
    """Those that neither made something under the label of a run, nor changed what is known to be a run's."""
    for item in writes:
        created = item.method == "POST" and item.run in runs
        if not created and item.uid not in own:
            yield item


def _label(item: Object) -> str:
    label: str = (item["metadata"].get("labels") or {}).get(RUN_LABEL, "")
    return label


def _is_marked(item: Object) -> bool:
    return any(entry.get("manager") == USER_AGENT for entry in item["metadata"].get("managedFields") or ())


def _is_volume_of_a_probe(item: Object) -> bool:
    """Whether a provisioner made the volume for a probe of another run: such volumes bear no label of a run."""
    claim: str = (item.get("spec", {}).get("claimRef") or {}).get("name", "")
    return item["kind"] == _VOLUME and claim.startswith("kfv-")
