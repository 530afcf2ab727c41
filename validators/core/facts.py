"""What is known about a cluster when it is judged: one frozen snapshot, further facts, and what probes found out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import RUN_LABEL, SIMULATED_NODE, SIMULATED_POD
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.progress import Progress
from validators.core.expectations import Expectations
from validators.core.inventory import Inventory
from validators.core.outcome import CannotJudgeError, errored
from validators.core.resources import NAMESPACES, NODES, PODS, Resource
from validators.core.rights import Rule
from validators.core.timing import Timing

__all__ = ["Evidence", "Fact", "Facts", "Probe", "Read", "Unread"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Unread:
    """Why something is not known. `reason` is the reason of the error that the checks which read it end with."""

    reason: str
    message: str
    todo: str


@dataclass(frozen=True, eq=False)
class Fact(Generic[_T]):
    """Something about a cluster that is more than a list of objects. It is fetched where a chosen check reads it.

    Args:
        name: what it is called where it cannot be read, such as "the clocks".
        fetch: reads it, given the facts that it names in `reads`; may raise ApiError and CannotJudgeError.
        default: its value where it was not fetched.
        reads: what `fetch` reads of the facts.
        needs: what the caller must be allowed to do besides.
        needs_with: the same where the release expects a CRD, each with the CRD's name.
        dry_run: whether it is found out by dry runs, which a read-only run does not make.
        enriches: whether it only enriches messages, so that a check may pass without it.
    """

    name: str
    fetch: Callable[[Cluster, Facts], _T]
    default: _T
    reads: tuple[Read, ...] = ()
    needs: tuple[Rule, ...] = ()
    needs_with: tuple[tuple[str, Rule], ...] = ()
    dry_run: bool = False
    enriches: bool = False


Read = Resource | Fact[Any]
"""What a check, a fact or a probe may read."""


@dataclass(frozen=True, eq=False)
class Evidence(Generic[_T]):
    """Something that is found out by acting, after all else was judged."""

    name: str


@dataclass(frozen=True, eq=False)
class Probe(Evidence[_T]):
    """An experiment in namespaces of the run's own.

    Args:
        name: as it stands in progress lines and in the manual.
        run: acts, and returns what it saw. Never judges.
        room: the namespaces in which it acts. Probes of one room run one after the other, those of different rooms
            side by side.
        reads: what `run` reads of the facts.
        needs: what the caller must be allowed to do where it acts.
    """

    run: Callable[[Session, Facts, Progress], _T]
    room: str
    reads: tuple[Read, ...] = ()
    needs: tuple[Rule, ...] = ()


@dataclass(frozen=True, eq=False)
class Facts:
    """One snapshot. What a judge reads through `all`, `get`, `read` and `evidence` ends its judgement if not known."""

    expectations: Expectations
    taken: float
    """Seconds since the epoch; ages are counted from here."""
    server_version: str = ""
    """gitVersion of the API server, such as v1.30.2."""
    cluster_uid: str = ""
    objects: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)
    """By the name of their Resource; a kind that is not served has no objects."""
    unread: Mapping[str, Unread] = field(default_factory=dict)
    """By the name of a Resource, by a rule in words (`get secrets in auth`), or 'cluster' for all of it."""
    found: Mapping[Fact[Any], Any] = field(default_factory=dict)
    """Further facts, each as its value or as Unread."""
    evidences: Mapping[Evidence[Any], Any] = field(default_factory=dict)
    """What was found out by acting, each as its value or as Unread."""
    rights: Mapping[str, AbstractSet[Rule]] = field(default_factory=dict)
    """What the run needs to be allowed, by the namespace in which it must hold; '' is all of them."""
    probe_namespace: str = ""
    """An existing namespace for whatever is tried out; empty where the run makes its own."""
    inventory: Inventory | None = None
    """Hosts that were looked at over SSH; None where only the cluster was."""
    timing: Timing = Timing()  # noqa: RUF009  it is frozen
    """How long things may take."""

    def all(self, resource: str) -> tuple[Object, ...]:
        """Every object of a Resource.

        Raises:
            CannotJudgeError: it could not be read.
        """
        self.demand(resource)
        return self.objects[resource]

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """One object of the snapshot; `namespace` is empty for cluster-scoped ones.

        Raises:
            CannotJudgeError: the kind could not be read.
        """
        self.demand(resource)
        return self._index.get((resource, namespace, name))

    def read(self, fact: Fact[_T]) -> _T:
        """The value of a further fact.

        Raises:
            CannotJudgeError: it could not be fetched.
        """
        value = self.found.get(fact, fact.default)
        if isinstance(value, Unread):
            raise _unknown(value)
        return cast("_T", value)

    def known(self, fact: Fact[_T]) -> _T:
        """The value of a further fact, or its default where it could not be fetched."""
        value = self.found.get(fact, fact.default)
        return fact.default if isinstance(value, Unread) else cast("_T", value)

    def evidence(self, of: Evidence[_T]) -> _T:
        """What was found out by acting.

        Raises:
            CannotJudgeError: the probe did not come to an end, or was not run.
        """
        value = self.evidences.get(of, _NOT_RUN)
        if isinstance(value, Unread):
            raise _unknown(value)
        return cast("_T", value)

    def demand(self, name: str) -> None:
        """End the judgement when `name` (a key of `unread`) could not be read.

        Raises:
            CannotJudgeError: it could not.
        """
        if missing := self.unread.get(name):
            raise _unknown(missing)

    @cached_property
    def _index(self) -> Mapping[tuple[str, str, str], Object]:
        return {
            (resource, item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
            for resource, items in self.objects.items()
            for item in items
        }

    @cached_property
    def ignored_namespaces(self) -> frozenset[str]:
        """Namespaces that are not judged: those of probes, and those that the caller left out."""
        probes = {
            item["metadata"]["name"]
            for item in self.objects.get(NAMESPACES, ())
            if RUN_LABEL in (item["metadata"].get("labels") or {})
        }
        return frozenset(probes) | self.expectations.ignored_namespaces

    @cached_property
    def simulated_nodes(self) -> frozenset[str]:
        """Names of nodes without a machine (KWOK)."""
        return frozenset(
            item["metadata"]["name"]
            for item in self.objects.get(NODES, ())
            if SIMULATED_NODE in (item["metadata"].get("annotations") or {})
        )

    @cached_property
    def simulated_pods(self) -> tuple[Object, ...]:
        """Pods whose status is written by a simulator: nothing runs in them."""
        return tuple(
            item
            for item in self.objects.get(PODS, ())
            if SIMULATED_POD in (item["metadata"].get("labels") or {})
            or item["spec"].get("nodeName") in self.simulated_nodes
        )


def _unknown(why: Unread) -> CannotJudgeError:
    return CannotJudgeError(errored(why.reason, why.message, todo=why.todo))


_NOT_RUN = Unread("ProbeNotRun", "the probe was not run.", "run without --read-only.")
