"""The stage of gangs: how four schedulers place 2 to 1,000 members on simulated nodes, each with room for one.

One after the other runs on one control plane, and all may send as much to the API server: the default scheduler, which
places the same pods one by one and is the reference, and those of contestants.py. What a scheduler does not do within
the limit is a result.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.observer import Change, Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from tests.bench.claims import Sample
from tests.bench.contestants import (
    FLAGGED,
    PREEMPTING,
    REFERENCE,
    TUNED,
    Contestant,
    contestants,
    kinds_of_gangs,
)
from tests.bench.gang_history import GangHistory, brief
from tests.bench.gang_table import COMPETING, CROWDED, DISPLACING, FITTING
from tests.bench.plane import Plane

GENERATION = "1.37"
"""The generation of programs with which gangs are measured."""
NODES = 1000
SIZES = (2, 10, 50, 200, 1000)
LIMIT_SECONDS = 120.0
"""A gang for which there is room and that is not whole by then stalls."""

_COSCHEDULING = ("1.30", "scheduler-plugins")
_NAMESPACE, _QUEUES = "gangs", "scheduling.volcano.sh/v1beta1"
_GPU = "nvidia.com/gpu"
_URGENT = "urgent"
_COMPETING = (10, 200)
_THREADS = 8
_NUMBERS = itertools.count()
_DISPLACING_SECONDS = 60.0
_HOLD_SECONDS = 5.0
"""Five cycles of Volcano's scheduler."""
_MANY = 200
"""So many pods leave work behind that the next gang would have to bear."""


def placements(
    directory: Path, *, rounds: int, progress: Progress, nodes: int = NODES, flags: Sequence[str] = TUNED
) -> Iterator[Sample]:
    """All rounds on one control plane; then, once, gangs that do not fit, that compete and that displace others.

    `flags` are those of Volcano's scheduler as the contestant "tuned".

    Raises:
        ProblemsError: the control plane does not come up, or a program of it ends.
    """
    tools = ensure_tools(load_generation(GENERATION), progress=progress)
    sizes = [size for size in SIZES if size <= nodes]
    competing = [size for size in _COMPETING if size in sizes]
    named = contestants(flags)
    placing = [name for name in named if name != PREEMPTING]
    programs = tools.programs | _coscheduling(progress)
    gates = tools.generation.node.arguments
    with Plane(programs, directory, (), crowded=True, simulated=True, arguments=gates) as plane:
        stand = _Stand(plane, tools, progress, nodes)
        samples: list[Sample] = []
        for number in range(rounds):
            for name in reversed(placing) if number % 2 else placing:
                stand.take_turn(name, named[name])
                samples += [stand.fitting(size, number) for size in sizes]
        for name, contestant in named.items():
            stand.take_turn(name, contestant)
            if name != PREEMPTING:
                samples += [stand.crowded(size) for size in sizes]
                samples += [stand.competing(size) for size in competing]
            if name != FLAGGED:
                samples += [stand.displacing(size, over) for over in competing for size in (over, over // 2)]
        yield from samples
        yield from (_summary(name, samples) for name in placing)


def _coscheduling(progress: Progress) -> dict[str, Path]:
    """The scheduler of scheduler-plugins, alone of all programs of its generation."""
    name, extra = _COSCHEDULING
    generation = load_generation(name, extras=[extra])
    alone = replace(generation, tools=tuple(tool for tool in generation.tools if tool.name == extra))
    return ensure_tools(alone, progress=progress).programs


class Stage:
    """Gangs that are watched while `cpu` counts what the scheduler and the API server use."""

    def __init__(
        self,
        title: str,
        number: int,
        create: Callable[[Sequence[tuple[str, int]], int, str], None],
        changes: Iterator[Change | None],
        cpu: Callable[[], tuple[float, float]],
    ) -> None:
        self.title, self.number = title, number
        self._create, self._changes, self._cpu, self._before = create, changes, cpu, cpu()
        self.gangs: list[GangHistory] = []
        while not next(changes):
            pass

    def ask(self, *gangs: tuple[str, int], places: int = 0, priority: str = "") -> list[GangHistory]:
        """Have gangs with these names and members, whose pods are created in turns.

        No pod has the name of one that was before: KWOK deletes pods by name, and late on a busy machine.
        """
        fresh = [(f"{name}{next(_NUMBERS)}", members) for name, members in gangs]
        found = [GangHistory(name, members, time.monotonic()) for name, members in fresh]
        self.gangs += found
        self._create(fresh, places, priority)
        return found

    def wait(self, over: Callable[[], bool], seconds: float = LIMIT_SECONDS, *, hold: float = 0.0) -> bool:
        """Whether it was so within the time, and nothing changed since for as long as `hold`."""
        until = time.monotonic() + seconds
        for change in self._changes:
            if change:
                for gang in self.gangs:
                    gang.take(change)
            if over() and time.monotonic() - max(gang.latest for gang in self.gangs) >= hold:
                return True
            if time.monotonic() > until:
                break
        return False

    def used(self) -> tuple[float, float]:
        """CPU seconds of the scheduler and of the API server."""
        (scheduler, server), (scheduler_before, server_before) = self._cpu(), self._before
        return scheduler - scheduler_before, server - server_before


class _Stand:
    """The nodes, and one scheduler at a time."""

    def __init__(self, plane: Plane, tools: Tools, progress: Progress, nodes: int) -> None:
        self._plane, self._tools, self._progress = plane, tools, progress
        self._name, self._contestant = REFERENCE, contestants()[REFERENCE]
        self._cluster = Cluster.connect(plane.kubeconfig)
        progress(f"gangs: creating {nodes} nodes")
        for kind in kinds_of_gangs(tools):
            self._cluster.apply(kind, manager="bench")
        self._cluster.create(_object("v1", "Namespace", _NAMESPACE))
        self._cluster.create(_object("scheduling.k8s.io/v1", "PriorityClass", _URGENT, value=1000))
        _create(self._cluster, (node(number) for number in range(nodes)))
        account = Ref("v1", "ServiceAccount", _NAMESPACE, "default")
        apis = {one.api for one in contestants().values()} - {""}
        for _ in plane.tries("an account and PodGroups of every kind"):
            if self._cluster.get(account) and all("PodGroup" in self._cluster.kinds(api) for api in apis):
                break
        queue = self._cluster.create(_object(_QUEUES, "Queue", "default", spec={"weight": 1, "reclaimable": True}))
        # As Volcano's controllers do it, which do not run: its scheduler places nothing of a queue that is not open.
        self._cluster.replace({**queue, "status": {"state": "Open"}}, subresource="status")

    def take_turn(self, name: str, contestant: Contestant) -> None:
        """Its scheduler in the place of the one before; what it reads at its start is not measured."""
        self._plane.stop(self._contestant.program)
        self._name, self._contestant = name, contestant
        self._plane.start(contestant.program, contestant.arguments(self._plane.directory, self._tools))
        with self._stage() as stage:
            (gang,) = stage.ask(("first", 2))
            stage.wait(lambda: gang.whole)
        self._plane.settle()

    def fitting(self, size: int, number: int) -> Sample:
        """A gang that fits, alone on the cluster, until all of its members have nodes."""
        with self._stage(f"gang of {size}", number) as stage:
            (gang,) = stage.ask(("gang", size))
            stage.wait(lambda: gang.whole)
            return self._sample(stage, FITTING, gang.seconds if gang.whole else LIMIT_SECONDS)

    def crowded(self, size: int) -> Sample:
        """A gang with one member more than there are places; who places pods one by one shows how many there were.

        The seconds are those until the last one of those that were placed, else until each was said to find no node.
        """
        with self._stage(f"{size + 1} members, {size} places") as stage:
            (gang,) = stage.ask(("gang", size + 1), places=size)
            stage.wait(lambda: gang.settled, hold=_HOLD_SECONDS)
            seconds = gang.seconds if gang.bound else gang.judged or LIMIT_SECONDS
            return self._sample(stage, CROWDED, seconds)

    def competing(self, size: int) -> Sample:
        """Two gangs at once where one has room: the seconds until one is whole, then those until the other is.

        The first one ends as soon as nothing changes any more.
        """
        with self._stage(f"two gangs of {size}, {size} places") as stage:
            gangs = stage.ask(("left", size), ("right", size), places=size)
            stage.wait(lambda: sum(gang.held for gang in gangs) == size, hold=_HOLD_SECONDS)
            first, other = sorted(gangs, key=lambda gang: not gang.whole)
            held, began, follows = [gang.held for gang in gangs], time.monotonic(), None
            if first.whole:
                self._delete("v1", "Pod", f"bench/gang={first.name}")
                if stage.wait(lambda: other.whole):
                    follows = max(other.bound.values()) - began
            seconds = first.seconds if first.whole else LIMIT_SECONDS
            return self._sample(stage, COMPETING, seconds, held=held, whole=first.whole, follows=follows)

    def displacing(self, size: int, over: int) -> Sample:
        """An urgent gang where another one has all places: the seconds until it is whole, and what the other keeps."""
        with self._stage(f"urgent gang of {size} over one of {over}") as stage:
            (low,) = stage.ask(("low", over), places=over)
            stage.wait(lambda: low.whole)
            (urgent,) = stage.ask((_URGENT, size), places=over, priority=_URGENT)
            stage.wait(lambda: urgent.whole, _DISPLACING_SECONDS, hold=_HOLD_SECONDS)
            seconds = urgent.seconds if urgent.whole else _DISPLACING_SECONDS
            return self._sample(stage, DISPLACING, seconds, held=[urgent.held, low.held], began=low.whole)

    def _sample(self, stage: Stage, kind: str, seconds: float, **more: object) -> Sample:
        """What was measured; facts are those of the gang that was asked for last."""
        facts = stage.gangs[-1].facts() | more | {"kind": kind}
        self._progress(
            f"gangs, round {stage.number + 1}: {self._name}, {stage.title}: {facts['held']}, {seconds:.2f} s"
        )
        peak = self._plane.peak_mib(self._contestant.program)
        return Sample(GENERATION, stage.title, self._name, stage.number, seconds, *stage.used(), peak, facts)

    @contextmanager
    def _stage(self, title: str = "", number: int = 0) -> Iterator[Stage]:
        program = self._contestant.program
        subjects = [Subject("v1", "Pod", _NAMESPACE)]
        with Observer(self._cluster, subjects, Deadline(4 * LIMIT_SECONDS), trim=brief) as observer:
            watched = observer.changes(tick=0.2)

            def cpu() -> tuple[float, float]:
                return self._plane.cpu_seconds(program), self._plane.server_seconds()

            stage = Stage(title, number, self._ask, watched, cpu)
            yield stage
        self._clear()
        if sum(gang.members for gang in stage.gangs) >= _MANY:
            self._plane.settle()

    def _ask(self, gangs: Sequence[tuple[str, int]], places: int, priority: str) -> None:
        contestant = self._contestant
        for name, members in gangs if contestant.api else ():
            spec = contestant.group(members, priority)
            self._cluster.create(_object(contestant.api, "PodGroup", name, _NAMESPACE, spec=spec))
        largest = max(members for _, members in gangs)
        turns = [(name, number) for number in range(largest) for name, members in gangs if number < members]
        _create(self._cluster, (member(name, number, contestant, places, priority) for name, number in turns))

    def _delete(self, api_version: str, kind: str, labels: str = "") -> None:
        path = self._cluster.resource(api_version, kind).path(_NAMESPACE)
        body = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        query = {"labelSelector": labels} if labels else {}
        self._cluster.request("DELETE", path, query=query, body=body, deadline=Deadline(LIMIT_SECONDS))

    def _clear(self) -> None:
        """Take the gangs away, and wait until nothing of them is left."""
        kinds = [("v1", "Pod"), *([(self._contestant.api, "PodGroup")] if self._contestant.api else [])]
        for kind in kinds:
            self._delete(*kind)
        for _ in self._plane.tries("the gangs to be gone"):
            if not any(self._cluster.list(*kind, namespace=_NAMESPACE, brief=True).items for kind in kinds):
                return


def _summary(name: str, samples: Iterable[Sample]) -> Sample:
    """What the claims are about, of all gangs of a contestant together."""
    own = [sample for sample in samples if sample.contestant == name]
    fitting, crowded, pairs = (
        [sample.facts for sample in own if sample.facts["kind"] == kind] for kind in (FITTING, CROWDED, COMPETING)
    )
    facts: dict[str, object] = {
        "gangs": len(fitting),
        "partial": sum(bool(found["partial"]) for found in fitting),
        "stalled": sum(not found["whole"] for found in fitting),
        "without_room": sum(int(str(found["bound"])) for found in crowded),
        "left_empty": sum(int(str(found["members"])) - 1 - int(str(found["held"])) for found in crowded),
        "deadlocks": sum(found["follows"] is None for found in pairs),
    }
    return Sample(
        GENERATION,
        "gangs",
        name,
        0,
        sum(sample.seconds for sample in own),
        sum(sample.client_cpu for sample in own),
        sum(sample.server_cpu for sample in own),
        max(sample.peak_mib for sample in own),
        facts,
    )


def _create(cluster: Cluster, objects: Iterable[Object]) -> None:
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(cluster.create, objects):
            pass


def _object(api_version: str, kind: str, name: str, namespace: str = "", **rest: object) -> Object:
    meta: Object = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}


def node(number: int) -> Object:
    """A node with one GPU; labels say to which smaller sets of places it belongs."""
    name = f"gang-node-{number}"
    room = {"cpu": "8", "memory": "32Gi", "pods": "110", _GPU: "1"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated"}
    found = _object("v1", "Node", name, status={"capacity": room, "allocatable": room, "conditions": [ready]})
    sets = {f"bench/places-{size}": "true" for size in SIZES if number < size}
    found["metadata"]["labels"] = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **sets}
    return found


def member(gang: str, number: int, contestant: Contestant, places: int = 0, priority: str = "") -> Object:
    """A pod of the gang that takes the one GPU of a node; with `places`, of one of that set."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi", _GPU: "1"}, "limits": {_GPU: "1"}}
    container = {"name": "main", "image": "registry.example/team/worker:v1", "resources": resources}
    joins = contestant.joins(gang)
    spec: Object = {"containers": [container], "automountServiceAccountToken": False, **joins.get("spec", {})}
    spec |= {"schedulerName": contestant.scheduler, **({"priorityClassName": priority} if priority else {})}
    if places:
        spec["nodeSelector"] = {f"bench/places-{places}": "true"}
    pod = _object("v1", "Pod", f"{gang}-{number}", _NAMESPACE, spec=spec)
    pod["metadata"] |= joins.get("metadata", {})
    pod["metadata"]["labels"] = {"bench/gang": gang, **pod["metadata"].get("labels", {})}
    return pod
