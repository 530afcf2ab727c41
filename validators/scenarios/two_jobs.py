"""Two jobs of 4 workers each on 4 GPUs: each gets some and waits for the rest, or one comes whole behind the other.

Without gang scheduling both jobs hold GPUs that the other lacks, neither ever starts to train, and no GPU comes free:
a deadlock that only a person ends. With gang scheduling one job gets all 4 GPUs and the other none until it has ended.

Without gang scheduling it is a race between two jobs that are created at the same time. Where one of them wins all,
both are removed and created anew, and the table says how many attempts it took: of 12 runs one after the other, at a
load of 20, ten took one and two took two.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watching import Subject
from validators.probes.record import Member
from validators.scenarios.history import History, succeeded
from validators.scenarios.jobs import job, replicas
from validators.scenarios.model import Case, Nodes, Outcome
from validators.scenarios.stand import Stand

__all__ = ["CASES", "deadlocked", "manifest", "not_one_after_the_other"]

WORKERS, GPUS = 4, 4
LASTS = "4s"
"""How long each worker of the gang run trains, so that the second job's turn comes."""

BINDING_SECONDS = 3.0
"""Within this time the bindings of one gang, which go to the API server one by one, have all been seen."""

_KINDS = {"first": "TFJob", "second": "PyTorchJob"}
"""Of two kinds, because an operator works on one job of a kind after the other, and on different kinds at once."""

_HOLD_SECONDS = 6.0
_MOST_ATTEMPTS = 5


def manifest(namespace: str, lasts: str = "") -> tuple[Object, ...]:
    """Two jobs of four workers with a GPU each, which succeed after a time when `lasts` says so."""
    roles = {"Worker": replicas(WORKERS, lasts=lasts)}
    return tuple(job(kind, name, namespace, roles) for name, kind in _KINDS.items())


def _ending(namespace: str) -> tuple[Object, ...]:
    return manifest(namespace, LASTS)


def _share(history: History, name: str) -> int:
    """How many workers of a job hold a GPU."""
    holding = history.holding()
    return sum(member.name in holding for member in history.of(name))


def _decided(history: History) -> bool:
    """Every GPU is taken, and a scheduler has refused everybody else."""
    here = history.present
    waiting = [member for member in here if not member.node]
    return len(here) == 2 * WORKERS and len(history.holding()) == GPUS and all(item.judged for item in waiting)


def deadlocked(history: History) -> bool:
    """Both jobs hold GPUs, and neither has all that it needs."""
    return _decided(history) and all(0 < _share(history, name) < WORKERS for name in _KINDS)


def _not_deadlocked(history: History) -> str:
    if history.present_groups:
        return "a PodGroup exists although gang scheduling is off"
    return f"{len(history.holding())} pods hold a GPU of {GPUS}" if len(history.holding()) > GPUS else ""


def not_one_after_the_other(history: History, now: float) -> str:
    """What contradicts that one whole job comes after the other, at any moment so far; `now` is the monotonic time."""
    names = {name: {item.name for item in history.of(name)} for name in _KINDS}
    for _, holders in history.holdings:
        if all(members.intersection(holders) for members in names.values()):
            return f"both jobs held GPUs at the same time: {', '.join(holders)}"
    for name in _KINDS:
        times = [item.bound_monotonic for item in history.of(name) if item.node]
        last = max(times) if len(times) == WORKERS else now
        if times and last - min(times) > BINDING_SECONDS:
            return f"job {name} had {len(times)} of {WORKERS} workers bound {last - min(times):.1f} s after the first"
    schedulers = {item.scheduler for item in history.members.values()}
    return "" if schedulers <= {"volcano"} else f"pods were given to {', '.join(sorted(schedulers))}"


def _create(stand: Stand, objects: Sequence[Object]) -> list[Object]:
    """Create all at the same time, as two people would who know nothing of each other."""
    with ThreadPoolExecutor(len(objects)) as pool:
        return list(pool.map(stand.session.create, objects))


def _deadlock(stand: Stand) -> Outcome:
    namespace = stand.namespace()
    with stand.watching(namespace) as history:
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            jobs = _create(stand, manifest(namespace))
            history.until(lambda: _decided(history) or bool(_not_deadlocked(history)), stand.deadline.remaining)
            if deadlocked(history) or _not_deadlocked(history) or attempt == _MOST_ATTEMPTS:
                break
            stand.progress(f"{stand.case.title}: one job was quicker and got all; both are removed and created anew")
            _remove(stand, history, jobs)
        problem = stand.settle(
            history, lambda: deadlocked(history), lambda: _not_deadlocked(history) or _whole(history), _HOLD_SECONDS
        )
    held = ", ".join(f"{name} {_share(history, name)} of {WORKERS}" for name in _KINDS)
    figures = {"GPUs held": held, "stood so for": f"{_HOLD_SECONDS:.0f} s", "attempts": attempt}
    return stand.outcome(history, problem, figures=figures)


def _whole(history: History) -> str:
    """Which job got everything, where nobody does without luck."""
    whole = [name for name in _KINDS if _share(history, name) == WORKERS]
    return f"job {whole[0]} got all GPUs in each of {_MOST_ATTEMPTS} attempts" if whole else ""


def _remove(stand: Stand, history: History, jobs: Sequence[Object]) -> None:
    for member in history.present:
        member.removing = True
    stand.session.delete(*jobs)
    refs = [Ref.of(item) for item in jobs]
    gone = history.until(lambda: not history.present, stand.deadline.remaining)
    if not gone or any(stand.cluster.get(ref) for ref in refs):
        raise TimeoutError("the jobs of the attempt before did not go")
    stand.session.gone(*(item["metadata"]["uid"] for item in jobs))
    history.begin()


def _one_after_the_other(stand: Stand) -> Outcome:
    namespace = stand.namespace()
    also = [Subject("kubeflow.org/v1", kind, namespace) for kind in _KINDS.values()]
    with stand.watching(namespace, also=also) as history:
        _create(stand, _ending(namespace))
        problem = stand.settle(
            history, lambda: _done(history), lambda: not_one_after_the_other(history, time.monotonic()), 0.5
        )
    order = sorted((name for name in _KINDS if _bound(history.of(name))), key=lambda name: _bound(history.of(name)))
    figures = {
        "order": ", then ".join(order),
        "time to bind a whole job": ", ".join(_spread(history.of(name)) for name in order),
    }
    lines = [f"{_KINDS[name]} {name}: {'Succeeded' if _succeeded(history, name) else 'unfinished'}" for name in order]
    return stand.outcome(history, problem, figures=figures, lines=lines)


def _done(history: History) -> bool:
    ended = [member for member in history.members.values() if member.ended]
    return len(ended) == 2 * WORKERS and all(_succeeded(history, name) for name in _KINDS)


def _succeeded(history: History, name: str) -> bool:
    return succeeded(history.objects.get(f"{_KINDS[name]}/{name}", ()))


def _bound(members: Sequence[Member]) -> float:
    """Monotonic time of a job's first binding; 0 where nobody is bound."""
    return min((item.bound_monotonic for item in members if item.node), default=0.0)


def _spread(members: Sequence[Member]) -> str:
    times = [item.bound_monotonic for item in members if item.node]
    return f"{max(times) - min(times):.2f} s"


CASES = (
    Case(
        "two-jobs",
        "two-jobs-default",
        "two jobs, default scheduler",
        control=True,
        wiring="none",
        nodes=Nodes(GPUS),
        manifest=manifest,
        run=_deadlock,
        seconds=120.0,
    ),
    Case(
        "two-jobs",
        "two-jobs-gang",
        "two jobs, gang scheduling",
        control=False,
        wiring="volcano",
        nodes=Nodes(GPUS),
        manifest=_ending,
        run=_one_after_the_other,
    ),
)
