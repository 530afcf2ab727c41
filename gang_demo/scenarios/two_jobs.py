"""Two jobs of 4 workers each on 4 GPUs: each gets some and waits for the rest, or one comes whole behind the other.

Without gang scheduling both jobs hold GPUs that the other lacks, neither ever starts to train, and no GPU comes free:
a deadlock that only a person ends. With gang scheduling one job gets all 4 GPUs and the other none until it has ended.

Without gang scheduling it is a race between two jobs that are created at the same time. Where one of them wins all,
both are removed and created anew, and the table says how many attempts it took: of 12 runs one after the other, at a
load of 20, ten took one and two took two.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from gang_demo.case import Case
from gang_demo.jobs.gangs import Gang, not_loose, refused_for_gpus
from gang_demo.jobs.jobs import job, replicas
from gang_demo.model import Nodes, Outcome
from gang_demo.play.history import History, succeeded
from gang_demo.play.stand import Stand
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.observer import Subject
from kubeflow_volcano.experiment.record import Member

__all__ = ["CASES", "KINDS", "deadlocked", "ended", "manifest", "not_one_after_the_other"]

WORKERS, GPUS = 4, 4
LASTS = "4s"
"""How long each worker of the gang run trains, so that the second job's turn comes."""

KINDS = {"first": "TFJob", "second": "PyTorchJob"}
"""Of two kinds, because an operator works on one job of a kind after the other, and on different kinds at once."""

_HOLD_SECONDS = 6.0
_MOST_ATTEMPTS = 5


def manifest(namespace: str, lasts: str = "") -> tuple[Object, ...]:
    """Two jobs of four workers with a GPU each, which succeed after a time when `lasts` says so."""
    roles = {"Worker": replicas(WORKERS, lasts=lasts)}
    return tuple(job(kind, name, namespace, roles) for name, kind in KINDS.items())


def _ending(namespace: str) -> tuple[Object, ...]:
    return manifest(namespace, LASTS)


def _decided(history: History) -> bool:
    """Every GPU is taken, and a scheduler has refused everybody else for lack of them."""
    there = history.present
    return len(there) == 2 * WORKERS and len(history.holders) == GPUS and refused_for_gpus(there)


def deadlocked(history: History) -> bool:
    """Both jobs hold GPUs, and neither has all that it needs."""
    return _decided(history) and all(0 < history.held(name) < WORKERS for name in KINDS)


def not_one_after_the_other(history: History) -> str:
    """What contradicts that one whole job comes after the other, at any moment so far."""
    names = {name: {item.uid for item in history.of(name)} for name in KINDS}
    for item in history.holdings:
        if all(members & item.holders for members in names.values()):
            told = sorted(history.members[uid].name for uid in item.holders)
            return f"both jobs held GPUs at the same time: {', '.join(told)}"
    return next(filter(None, (Gang.of_all(history, name, WORKERS).contradicted(WORKERS) for name in KINDS)), "")


def _create(stand: Stand, objects: Sequence[Object]) -> list[Object]:
    """Create all at the same time, as two people would who know nothing of each other."""
    with ThreadPoolExecutor(len(objects)) as pool:
        return list(pool.map(stand.session.create, objects))


def _deadlock(stand: Stand) -> Outcome:
    namespace = stand.namespace()
    with stand.watching(namespace) as history:
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            jobs = _create(stand, manifest(namespace))
            history.until(lambda: _decided(history) or bool(_stopped(history)), stand.deadline.remaining)
            if deadlocked(history) or _stopped(history) or attempt == _MOST_ATTEMPTS:
                break
            stand.progress(f"{stand.case.title}: one job was quicker and got all; both are removed and created anew")
            _remove(stand, history, jobs)
        problem = stand.settle(
            history, lambda: deadlocked(history), lambda: not_loose(history) or _whole(history), _HOLD_SECONDS
        )
    held = ", ".join(f"{name} {history.held(name)} of {WORKERS}" for name in KINDS)
    figures = {"GPUs held": held, "stood so for": f"{_HOLD_SECONDS:.0f} s", "attempts": attempt}
    return stand.outcome(history, problem, figures=figures)


def _stopped(history: History) -> str:
    """Why another attempt would not help."""
    return not_loose(history) or history.doubt()


def _whole(history: History) -> str:
    """Which job got everything, where nobody does without luck."""
    whole = [name for name in KINDS if history.held(name) == WORKERS]
    return f"job {whole[0]} got all GPUs in each of {_MOST_ATTEMPTS} attempts" if whole else ""


def _remove(stand: Stand, history: History, jobs: Sequence[Object]) -> None:
    history.dismiss(*history.present)
    stand.session.delete(*jobs)
    refs = [Ref.of(item) for item in jobs]
    gone = history.until(lambda: not history.present, stand.deadline.remaining)
    if not gone or any(stand.cluster.get(ref) for ref in refs):
        raise TimeoutError("the jobs of the attempt before did not go")
    stand.session.gone(*(item["metadata"]["uid"] for item in jobs))
    history.begin()


def _one_after_the_other(stand: Stand) -> Outcome:
    namespace = stand.namespace()
    also = [Subject("kubeflow.org/v1", kind, namespace) for kind in KINDS.values()]
    with stand.watching(namespace, also=also) as history:
        _create(stand, _ending(namespace))
        problem = stand.settle(history, lambda: ended(history), lambda: not_one_after_the_other(history), 0.5)
    order = sorted((name for name in KINDS if _bound(history.of(name))), key=lambda name: _bound(history.of(name)))
    figures = {
        "order": ", then ".join(order),
        "time to bind a whole job": ", ".join(_spread(history.of(name)) for name in order),
    }
    lines = [f"{KINDS[name]} {name}: {'Succeeded' if _succeeded(history, name) else 'unfinished'}" for name in order]
    return stand.outcome(history, problem, figures=figures, lines=lines)


def ended(history: History) -> bool:
    """Whether both jobs have succeeded with all their workers, and each was a gang of all of them."""
    done = [member for member in history.members.values() if member.ended]
    gangs = {item.name for item in history.groups.values() if item.minimum == WORKERS}
    return len(done) == 2 * WORKERS and gangs >= set(KINDS) and all(_succeeded(history, name) for name in KINDS)


def _succeeded(history: History, name: str) -> bool:
    return succeeded(history.objects.get(f"{KINDS[name]}/{name}", ()))


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
