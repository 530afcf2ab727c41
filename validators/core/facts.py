"""What checks evaluate: one frozen snapshot of a cluster, further facts, and the evidence of probes."""

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
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.inventory import Inventory
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Cause, Outcome, errored
from kubeflow_volcano.validators.core.resources import NAMESPACES, NODES, PODS, Resource
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.core.timing import Timing

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Unread:
    """Why something is unknown. Checks that read it end in an error with this reason."""

    reason: str
    message: str
    todo: str
    because: tuple[Cause, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """That of a check that needs it."""
        return errored(self.reason, self.message, todo=self.todo, because=self.because)


@dataclass(frozen=True, eq=False)
class Fact(Generic[_T]):
    """Something about a cluster beyond lists of objects. It is fetched if a chosen check reads it.

    Args:
        name: its name in messages.
        fetch: reads it, given the facts in `reads`; may raise ApiError and CannotJudgeError.
        default: its value if it was not fetched.
        reads: what `fetch` reads of the facts.
        needs: further rules that the caller must be granted.
        needs_with: rules for releases that expect a CRD, each with the CRD's name.
        lists_kinds: whether it lists the objects of each expected CRD.
        dry_run: whether it takes dry runs, which a read-only run does not make.
        enriches: whether it only adds detail to messages, so that a check may pass without it.
    """

    name: str
    fetch: Callable[[Cluster, Facts], _T]
    default: _T
    reads: tuple[Read, ...] = ()
    needs: tuple[Rule, ...] = ()
    needs_with: tuple[tuple[str, Rule], ...] = ()
    lists_kinds: bool = False
    dry_run: bool = False
    enriches: bool = False


Read = Resource | Fact[Any]
"""What a check, a fact or a probe may read."""


@dataclass(frozen=True, eq=False)
class Evidence(Generic[_T]):
    """What is found out after the static checks: by a probe, or about the run itself."""

    name: str


@dataclass(frozen=True, eq=False)
class Probe(Evidence[_T]):
    """An experiment with objects of its own.

    Args:
        name: its name in progress lines and in the manual.
        run: acts, and returns what it saw. It does not judge.
        room: name of the namespaces in which it acts. Probes of one room run one after the other, probes of different
            rooms run at the same time, so a room holds what must not disturb each other.
        reads: what `run` reads of the facts.
        needs: rules that the caller must be granted where it acts.
        asks_first: whether it makes objects only where it learns nothing without them.
    """

    run: Callable[[Session, Facts, Progress], _T]
    room: str
    reads: tuple[Read, ...] = ()
    needs: tuple[Rule, ...] = ()
    asks_first: bool = False


@dataclass(frozen=True, eq=False)
class Facts:
    """One snapshot. `all`, `get`, `read` and `evidence` end the evaluation of a check if something is unknown."""

    expectations: Expectations
    taken: float
    """Seconds since the epoch; ages are relative to it."""
    server_version: str = ""
    """gitVersion of the API server, such as v1.30.2."""
    cluster_uid: str = ""
    objects: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)
    """By Resource; a kind that is not served has no objects."""
    unread: Mapping[str, Unread] = field(default_factory=dict)
    """By Resource, by rule (`get secrets in auth`), or 'cluster' for everything."""
    found: Mapping[Fact[Any], Any] = field(default_factory=dict)
    """Further facts: the value, or Unread."""
    evidences: Mapping[Evidence[Any], Any] = field(default_factory=dict)
    """Evidence: the value, or Unread."""
    rights: Mapping[str, AbstractSet[Rule]] = field(default_factory=dict)
    """Rules that the run needs, by namespace; '' is cluster-wide."""
    probe_namespace: str = ""
    """An existing namespace for probes and dry runs; empty if the run creates its own."""
    inventory: Inventory | None = None
    """Hosts of a preflight; None in a validation."""
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
            raise CannotJudgeError(value.outcome)
        return cast("_T", value)

    def known(self, fact: Fact[_T]) -> _T:
        """The value of a further fact, or its default where it could not be fetched."""
        value = self.found.get(fact, fact.default)
        return fact.default if isinstance(value, Unread) else cast("_T", value)

    def evidence(self, of: Evidence[_T]) -> _T:
        """The evidence of a probe, or about the run.

        Raises:
            CannotJudgeError: the probe failed, or was not run.
        """
        value = self.evidences.get(of, _NOT_RUN)
        if isinstance(value, Unread):
            raise CannotJudgeError(value.outcome)
        return cast("_T", value)

    def demand(self, name: str) -> None:
        """End the evaluation if `name` (a key of `unread`) could not be read.

        Raises:
            CannotJudgeError: it could not.
        """
        if missing := self.unread.get(name):
            raise CannotJudgeError(missing.outcome)

    @cached_property
    def _index(self) -> Mapping[tuple[str, str, str], Object]:
        return {
            (resource, item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
            for resource, items in self.objects.items()
            for item in items
        }

    @cached_property
    def ignored_namespaces(self) -> frozenset[str]:
        """Namespaces that are not judged: those of probes, and those that the caller excludes."""
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


_NOT_RUN = Unread("ProbeNotRun", "the probe was not run.", "run without --read-only.")
