"""The stage of gangs: 2 to 1,000 members on 1,000 simulated nodes, each with room for one; and one member too many.

Volcano's scheduler places the gangs, with upstream's configuration and flags, and again with other flags ("tuned"); the
default scheduler places the same pods one by one, as the reference. All may send as much to the API server, and stand
on one control plane.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rollout.patches.volcano import CONFIGURATION
from tests.bench import daemons
from tests.bench.claims import Sample
from tests.bench.gang_history import GangHistory, brief
from tests.bench.gang_table import FITTING
from tests.bench.plane import Plane

RELEASE = "1.9.1"
"""The release with whose generation of programs gangs are measured."""
NODES = 1000
SIZES = (2, 10, 50, 200, NODES)
TUNED = ("--schedule-period=200ms", "--percentage-nodes-to-find=1", "--minimum-feasible-nodes=20")
"""The volcano_scheduler_flags that docs/gang-scheduling.md recommends."""

_API = "scheduling.volcano.sh/v1beta1"
_NAMESPACE = "gangs"
_GPU = "nvidia.com/gpu"
_SCHEDULERS = {"volcano": "vc-scheduler", "tuned": "vc-scheduler", "default": "kube-scheduler"}
"""Program by contestant."""
_THREADS = 8
_LIMIT_SECONDS = 300.0
_HOLD_SECONDS = 5.0
"""Five cycles of Volcano's scheduler."""
_MANY = 200
"""So many pods leave work behind that the next gang would have to bear."""
_RATE = ("--kube-api-qps=2000", "--kube-api-burst=2000")
"""As Volcano's scheduler has it by default; the default scheduler's own 50 per second would be what is measured."""


def placements(
    tools: Tools, directory: Path, *, rounds: int, progress: Progress, flags: Sequence[str] = TUNED
) -> Iterator[Sample]:
    """All rounds on one control plane; then, once, gangs with one member more than there are places.

    `flags` are those of Volcano's scheduler as the contestant "tuned".

    Raises:
        ProblemsError: the control plane does not come up, or a gang that fits does not come onto nodes in 5 minutes.
    """
    began = time.monotonic()
    with Plane(tools.programs, directory, (), crowded=True, simulated=True, scheduler_arguments=_RATE) as plane:
        stand = _Stand(plane, tools, progress, flags)
        placed: list[Sample] = []
        for number in range(rounds):
            pair = sorted(("volcano", "default"), reverse=number % 2 == 0)
            placed += [stand.placed(size, contestant, number) for size in SIZES for contestant in pair]
            placed += [stand.placed(size, "tuned", number) for size in SIZES]
        crowded = [stand.crowded(size, contestant) for size in SIZES for contestant in ("default", "volcano")]
        crowded += [stand.crowded(size, "tuned") for size in SIZES]
        yield from placed
        yield from crowded
        yield _summary([*placed, *crowded], plane.peak_mib(_SCHEDULERS["volcano"]), time.monotonic() - began)


class _Stand:
    """The nodes, Volcano's scheduler beside the default one, and one gang at a time."""

    def __init__(self, plane: Plane, tools: Tools, progress: Progress, flags: Sequence[str]) -> None:
        self._plane, self._progress = plane, progress
        self._flags, self._running = {"volcano": (), "tuned": tuple(flags)}, ""
        self._cluster = Cluster.connect(plane.kubeconfig)
        progress(f"gangs: creating {NODES} nodes")
        manifest = tools.source("volcano.sh/volcano", "installer/volcano-development.yaml")
        volcano = [obj for obj in foreign.parse(manifest.read_bytes(), str(manifest)) if obj]
        for obj in volcano:
            if obj["kind"] == "CustomResourceDefinition":
                self._cluster.apply(obj, manager="bench")
        for _ in plane.tries("PodGroups and queues to be served"):
            if {"PodGroup", "Queue"} <= self._cluster.kinds(_API).keys():
                break
        self._cluster.create(_object("v1", "Namespace", _NAMESPACE))
        _create(self._cluster, (node(number) for number in range(NODES)))
        self._scheduler = daemons.volcano(plane.directory, _configuration(volcano))
        self._run("volcano")
        for _ in plane.tries("an account and a queue to be made"):
            if self._ready():
                break

    def _run(self, contestant: str) -> None:
        """Volcano's scheduler with the flags of the contestant, in the place of the one before."""
        program = _SCHEDULERS[contestant]
        if self._running:
            self._plane.stop(program)
        self._plane.start(program, [*self._scheduler, *_RATE, *self._flags[contestant]])
        self._running = contestant

    def placed(self, size: int, contestant: str, number: int) -> Sample:
        """A gang that fits, alone on the cluster, until all of its members have nodes."""
        sample, history = self._watched(f"{FITTING}{size}", size, contestant, number=number, places=0)
        if not history.whole:
            raise ProblemsError(
                Problem(
                    f"{len(history.bound)} of {size} pods have a node after {_LIMIT_SECONDS:.0f} s ({contestant}).",
                    "all: there is room for them.",
                    f"read {self._plane.directory}/{_SCHEDULERS[contestant]}.log.",
                )
            )
        return sample

    def crowded(self, size: int, contestant: str) -> Sample:
        """A gang with one member more than there are places; who places pods one by one shows how many there were."""
        stage = f"{size + 1} members, {size} places"
        sample, history = self._watched(stage, size + 1, contestant, number=0, places=size)
        if contestant == "default" and len(history.bound) != size:
            raise ProblemsError(
                Problem(
                    f"{len(history.bound)} pods found a node where {size} should ({stage}).",
                    f"{size} places, for the gang to find one too few.",
                    f"read {self._plane.directory}/{_SCHEDULERS[contestant]}.log.",
                )
            )
        return sample

    def _watched(
        self, stage: str, size: int, contestant: str, *, number: int, places: int
    ) -> tuple[Sample, GangHistory]:
        program = _SCHEDULERS[contestant]
        if contestant in self._flags and contestant != self._running:
            self._run(contestant)
            self._history(2, contestant, 0)  # not counted: the program reads the cluster first
            self._clear()
        before = self._plane.cpu_seconds(program), self._plane.server_seconds()
        history = self._history(size, contestant, places)
        cpu = self._plane.cpu_seconds(program) - before[0], self._plane.server_seconds() - before[1]
        seconds = (history.judged or 0.0) - history.started if places and not history.bound else history.seconds
        peak = self._plane.peak_mib(program)
        self._progress(f"gangs, round {number + 1}: {contestant}, {stage}: {len(history.bound)} bound, {seconds:.2f} s")
        self._clear()
        if size >= _MANY:
            self._plane.settle()
        return Sample(RELEASE, stage, contestant, number, seconds, *cpu, peak, history.facts()), history

    def _history(self, size: int, contestant: str, places: int) -> GangHistory:
        subjects = [Subject("v1", "Pod", _NAMESPACE), Subject(_API, "PodGroup", _NAMESPACE)]
        with Observer(self._cluster, subjects, Deadline(_LIMIT_SECONDS), trim=brief) as observer:
            changes = observer.changes(tick=0.2)
            watched: set[Subject] = set()
            while len(watched) < len(subjects):
                watched |= {change.subject for change in (next(changes),) if change}
            history = GangHistory(size, time.monotonic())
            self._cluster.create(_group(size))
            scheduler = "volcano" if contestant in self._flags else "default-scheduler"
            _create(self._cluster, (member(number, scheduler, places) for number in range(size)))
            for change in changes:
                if change:
                    history.take(change)
                if _over(history, contestant, places):
                    break
        return history

    def _clear(self) -> None:
        """Take the gang away, and wait until nothing of it is left."""
        path = self._cluster.resource("v1", "Pod").path(_NAMESPACE)
        body = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        self._cluster.request("DELETE", path, body=body, deadline=Deadline(_LIMIT_SECONDS))
        ref = Ref(_API, "PodGroup", _NAMESPACE, "gang")
        if group := self._cluster.get(ref):
            self._cluster.delete(ref, uid=group["metadata"]["uid"])
        for _ in self._plane.tries("the pods to be gone"):
            if not self._cluster.list("v1", "Pod", namespace=_NAMESPACE, brief=True).items:
                return

    def _ready(self) -> bool:
        wanted = Ref("v1", "ServiceAccount", _NAMESPACE, "default"), Ref(_API, "Queue", "", "default")
        return all(self._cluster.get(ref) is not None for ref in wanted)


def _over(history: GangHistory, contestant: str, places: int) -> bool:
    """Whether there is nothing more to see."""
    if not places:
        return history.whole
    if contestant == "default":
        return len(history.bound) >= places
    since = min([*history.bound.values(), *([] if history.judged is None else [history.judged])], default=None)
    return since is not None and time.monotonic() - since >= _HOLD_SECONDS


def _summary(samples: Iterable[Sample], peak: float, seconds: float) -> Sample:
    """What the claims are about, of all gangs together."""
    gangs = [sample for sample in samples if sample.contestant != "default"]
    fitting = [sample for sample in gangs if sample.stage.startswith(FITTING)]
    facts: dict[str, object] = {
        "gangs": len(fitting),
        "partial": sum(bool(sample.facts["partial"]) for sample in fitting),
        "without_room": sum(int(str(sample.facts["bound"])) for sample in gangs if sample not in fitting),
    }
    cpu, server = sum(sample.client_cpu for sample in gangs), sum(sample.server_cpu for sample in gangs)
    return Sample(RELEASE, "gangs", "volcano", 0, seconds, cpu, server, peak, facts)


def _create(cluster: Cluster, objects: Iterable[Object]) -> None:
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(cluster.create, objects):
            pass


def _configuration(volcano: Iterable[Object]) -> str:
    """The scheduler's configuration as upstream ships it."""
    return next(str(obj["data"][CONFIGURATION]) for obj in volcano if CONFIGURATION in (obj.get("data") or {}))


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


def member(number: int, scheduler: str, places: int) -> Object:
    """A pod that takes the one GPU of a node; with `places`, of one of that set."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi", _GPU: "1"}, "limits": {_GPU: "1"}}
    container = {"name": "main", "image": "registry.example/team/worker:v1", "resources": resources}
    spec: Object = {"schedulerName": scheduler, "containers": [container], "automountServiceAccountToken": False}
    if places:
        spec["nodeSelector"] = {f"bench/places-{places}": "true"}
    pod = _object("v1", "Pod", f"member-{number}", _NAMESPACE, spec=spec)
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "gang"}
    return pod


def _group(size: int) -> Object:
    return _object(_API, "PodGroup", "gang", _NAMESPACE, spec={"minMember": size, "queue": "default"})
