"""A case of a scenario, and the stand where it is played: its namespaces, its objects, and the history of both."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS, VOLCANO, GangScheduler
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.gang_demo.jobs.gangs import LONGEST_IN_PART
from kubeflow_volcano.gang_demo.jobs.native import as_native
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.history import History, short
from kubeflow_volcano.progress import Progress

NO_GANG = "none"
"""The wiring of a control whose training jobs are no gangs."""
BY_ANY = frozenset(GANG_SCHEDULERS)
"""The schedulers of cases that need nothing but gangs, and priorities."""
BY_OPERATORS = frozenset(item.name for item in GANG_SCHEDULERS.values() if item.has_makers)
"""The schedulers of cases about PodGroups that operators make."""

_TICK = 0.1
_ACCOUNT_SECONDS = 24.0
_REPORT_SECONDS = 5.0
_HEADS = ("POD", "STATUS", "NODE")


@dataclass(frozen=True)
class Stand:
    """One case while it runs. Its objects are deleted afterwards, by UID. `histories` are all that it has watched.

    `gang` is the scheduler of its gangs; jobs that nothing makes for it are Jobs with a PodGroup.
    """

    cluster: Cluster
    case: Case
    session: Session
    deadline: Deadline
    progress: Progress
    histories: list[History] = field(default_factory=list)
    gang: GangScheduler = VOLCANO

    def namespace(self, suffix: str = "") -> str:
        """Create a namespace without a quota and wait for its ServiceAccount; `suffix` ends its name ("-team-a").

        Raises:
            ProbeRefused: it may not be created, or no controller created its ServiceAccount.
        """
        name = f"kfv-demo-{self.session.run}{suffix}"
        labels = {"pod-security.kubernetes.io/enforce": "baseline", "istio-injection": "disabled"}
        self.session.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        account = Subject("v1", "ServiceAccount", name, fields="metadata.name=default")
        with Observer(self.cluster, [account], Deadline(_ACCOUNT_SECONDS, self.deadline)) as observer:
            if any(change and change.objects for change in observer.changes(_TICK)):
                return name
        raise ProbeRefused(f"namespace {name} has no default ServiceAccount after {_ACCOUNT_SECONDS:.0f} s")

    def create(self, *objects: Object) -> tuple[Object, ...]:
        """Create objects one after the other.

        Raises:
            ProbeRefused: one was not admitted; the text is the server's.
            ApiError: the server does not answer.
        """
        return tuple(self.session.create(item) for item in self.translated(*objects))

    def translated(self, *objects: Object) -> tuple[Object, ...]:
        """The objects as the case's gang scheduler has them."""
        if self.gang is VOLCANO:
            return objects
        grouped = self.case.wiring != NO_GANG
        return tuple(made for item in objects for made in as_native(item, self.gang, grouped=grouped))

    @contextlib.contextmanager
    def watching(self, *namespaces: str, also: Sequence[Subject] = ()) -> Iterator[History]:
        """Watch pods and PodGroups of namespaces, and further subjects, without a gap while the block runs.

        Raises:
            TimeoutError: not all of them can be listed.
        """
        own = [Subject(*kind, name) for name in namespaces for kind in (("v1", "Pod"), self.gang.podgroup)]
        subjects = {*own, *also}
        with Observer(self.cluster, [*own, *also], self.deadline) as observer:
            history = History(self.cluster, namespaces[0], "", observer.changes(_TICK), gang=self.gang)
            self.histories.append(history)
            if not history.until(lambda: history.listed >= subjects, self.deadline.remaining):
                raise TimeoutError("pods, PodGroups and jobs could not be listed")
            yield history

    def delete_pods(self, history: History, *names: str) -> None:
        """Delete pods by name, and record in the history that the case did it.

        Raises:
            ApiError: the API server refuses it.
        """
        for item in history.present:
            if item.name in names:
                history.dismiss(item)
                self.cluster.delete(Ref("v1", "Pod", item.namespace, item.name), uid=item.uid)

    def find_doubt(self) -> str:
        """Why nothing can be concluded from what was watched; empty when something can."""
        return next(filter(None, (item.find_doubt() for item in self.histories)), "")

    def settle(
        self, history: History, reached: Callable[[], bool], wrong: Callable[[], str], hold_seconds: float
    ) -> str:
        """Wait until `reached` has held for `hold_seconds`; returns what is not as claimed, empty when all is.

        `wrong` is called after every change and returns what contradicts the claim. The wait ends early with that, and
        when the run has become inconclusive.
        """

        def ended() -> str:
            return history.find_doubt() or wrong()

        while not (ended() or self.deadline.passed):
            self.progress(f"{self.case.title}: {history.picture()}")
            try:
                if not history.until(lambda: bool(ended()) or reached(), _REPORT_SECONDS):
                    continue
                # Only a state that lasts counts: it may be on the way to another one.
                if not history.until(lambda: bool(ended()) or not reached(), hold_seconds):
                    return ""
            except TimeoutError:
                break
        return ended() or f"not settled after {self.deadline.elapsed:.0f} s: {history.picture()}"

    def outcome(
        self,
        history: History | None,
        problem: str,
        *,
        heads: Sequence[str] = _HEADS,
        rows: Sequence[Sequence[str]] | None = None,
        lines: Sequence[str] | None = None,
        figures: Mapping[str, object] | None = None,
    ) -> Outcome:
        """The outcome of this case; rows and lines default to those of the pods and PodGroups."""
        case = self.case
        shown = rows if rows is not None else history.rows() if history else ()
        below = lines if lines is not None else history.lines() if history else ()
        return Outcome(
            case.scenario,
            case.name,
            case.title,
            case.control,
            problem,
            round(self.deadline.elapsed, 1),
            heads=tuple(heads) if history or rows is not None else (),
            rows=tuple(tuple(row) for row in shown),
            lines=tuple(below),
            figures={name: str(value) for name, value in (figures or {}).items()},
            events=history.events() if history else (),
            watched_until=datetime.now(UTC).isoformat(timespec="milliseconds") if history else "",
            groups=tuple(short(item.name) for item in history.groups.values()) if history else (),
        )


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a scenario: a run with gang scheduling, or a `control`, which shows what happens without.

    `title` is the head of its table.
    `wiring` is the scheduler of the training operator's jobs: none, volcano, or empty where it does not matter.
    `schedulers` are the gang schedulers that the case can be played with.
    `manifest` gives the objects to apply by hand, for namespaces whose names begin with the given one. `run` creates
    them, watches, and judges the history. `seconds` is its time limit.
    """

    scenario: str
    name: str
    title: str
    control: bool
    wiring: str
    nodes: Nodes
    manifest: Callable[[str], Sequence[Object]]
    run: Callable[[Stand], Outcome]
    seconds: float = 90.0
    schedulers: frozenset[str] = frozenset({VOLCANO.name})


def no_contradiction() -> str:
    """Nothing contradicts the claim, in any state."""
    return ""


@dataclass(kw_only=True)
class Course:
    """A case that goes through several states, while it runs. `figures` are measurements by name."""

    stand: Stand
    history: History
    figures: dict[str, object] = field(default_factory=dict)

    def settle(
        self,
        reached: Callable[[], bool],
        wrong: Callable[[], str] = no_contradiction,
        hold_seconds: float = 0.0,
        measured: str = "",
    ) -> str:
        """Wait for the next state as `Stand.settle` does; `measured` names the figure of the seconds that it took."""
        since = time.monotonic()
        problem = self.stand.settle(self.history, reached, wrong, hold_seconds)
        if measured and not problem:
            self.figures[measured] = f"{time.monotonic() - since - hold_seconds:.1f} s"
        return problem

    def partly_placed(self, sizes: Mapping[str, int]) -> str:
        """Evidence that a gang was partly placed for too long; empty without any. `sizes` are those of the gangs."""
        times = {name: self.history.in_part(name, size) for name, size in sizes.items()}
        self.figures["longest time a gang was partly placed"] = f"{max(times.values()):.1f} s"
        return "; ".join(
            f"{name} was partly placed for {time} s" for name, time in times.items() if time > LONGEST_IN_PART
        )
