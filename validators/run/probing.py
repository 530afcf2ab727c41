"""Running the probes that open checks wait for, side by side, within one session that removes what they made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.fitting import tolerations
from kubeflow_volcano.experiment.session import Options, Session
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.facts import Evidence, Facts, Probe, Unread
from kubeflow_volcano.validators.core.resources import APISERVICES, NODES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.collect import unread

_MAKES_ONE = Rule("create", "", "namespaces")


@dataclass
class Probing:
    """The probes of one pass, and what they found out so far."""

    session: Session
    facts: Facts
    progress: Progress
    evidences: dict[Evidence[Any], Any] = field(default_factory=dict)
    """Of each probe that came to its end: its evidence, or why there is none."""

    @classmethod
    def begin(cls, cluster: Cluster, facts: Facts, options: Options, progress: Progress) -> Probing:
        """In a new session, which has made nothing yet."""
        tolerated = _tolerations(facts, progress)
        return cls(Session(cluster, progress, options, tolerated), facts, progress)

    def without_namespaces(self, checks: Iterable[Check]) -> Mapping[str, Unread]:
        """Why checks cannot be judged whose probes make namespaces, by id, where none could be deleted again."""
        waiting = [item.id for item in checks if isinstance(item.probe, Probe) and _makes_one(item.probe)]
        held = self.session.obstacles() if waiting else ()
        if not held:
            return {}
        known = all(item.cause.kind == APISERVICES.kind for item in held)
        found = "; ".join(item.found for item in held)
        todo = " ".join(dict.fromkeys(item.todo for item in held))
        why = Unread(
            "NamespacesStay",
            f"it takes a namespace of its own, which could not be deleted: {found}.",
            f"{todo} Or let probes stay in a namespace that exists (--probe-namespace, validation_probe_namespace).",
            ("B2",) if known else (),
        )
        self.progress("no probe makes a namespace, because none could be deleted")
        return dict.fromkeys(waiting, why)

    def run(self, probes: Iterable[Probe[Any]]) -> None:
        """Act, and remove everything again, however it ends.

        Probes of different rooms run side by side, each room in namespaces of its own. Where all stay in a namespace
        that exists, they run one after the other: there a probe would see, and the quota count, the objects of others.
        """
        rooms: dict[str, list[Probe[Any]]] = {}
        for probe in probes:
            rooms.setdefault("" if self.session.options.namespace else probe.room, []).append(probe)
        names = (", then ".join(probe.name for probe in room) for room in rooms.values())
        self.progress(f"probes, side by side: {'; '.join(names)}" if len(rooms) > 1 else f"probes: {next(names)}")
        try:
            self.session.sweep()
            in_parallel(lambda name: self._room(name, rooms[name]), rooms, len(rooms))
        finally:  # a signal in the meantime takes effect behind it
            self.session.close()

    def _room(self, name: str, probes: Iterable[Probe[Any]]) -> None:
        part = self.session.part(name)
        for probe in probes:
            evidence = self._evidence(probe, part)
            if self.session.stopped:  # what was cut short says nothing
                return
            self.evidences[probe] = evidence

    def _evidence(self, probe: Probe[Any], session: Session) -> Any:
        try:
            return probe.run(session, self.facts, lambda line: self._announce(probe, line))
        except ApiError as error:
            return unread(f"what probe {probe.name} asked for", error)
        except ProblemsError as error:
            problem = error.problems[0]
            return Unread("ProbeRefused", problem.found, problem.todo)
        except Exception as error:  # noqa: BLE001  a probe that breaks may not end the run, and proves nothing
            message = f"probe {probe.name} broke: {type(error).__name__}: {error}"
            return Unread("ProbeBroke", message, "report this together with the report file; it is a defect.")

    def _announce(self, probe: Probe[Any], line: str) -> None:
        """Lines of probes that run side by side bear their names; one that is cut short has nothing more to say."""
        if not self.session.stopped:
            self.progress(f"{probe.name}: {line}")


def _makes_one(probe: Probe[Any]) -> bool:
    return not probe.asks_first and _MAKES_ONE in probe.needs


def _tolerations(facts: Facts, progress: Progress) -> tuple[Mapping[str, str], ...]:
    """Tolerations for the taints of the real nodes, if there are any: simulated nodes are always tainted."""
    nodes = facts.objects.get(NODES, ())
    needed = tolerations([item for item in nodes if item["metadata"]["name"] not in facts.simulated_nodes] or nodes)
    if needed:
        names = ", ".join(f"{item['key']}:{item['effect']}" for item in needed)
        progress(f"every node keeps pods off, so those of probes tolerate {names}")
    return needed
