"""Two jobs of 4 workers each on 4 GPUs: each gets some GPUs and waits for the rest, or one runs after the other.

Without gang scheduling both jobs hold GPUs that the other one needs, neither starts to train, and no GPU becomes free:
a deadlock that only a person can end. With gang scheduling one job gets all 4 GPUs, and the other none until the first
has ended.

Without gang scheduling two jobs that are created at the same time race for the GPUs. If one of them gets all, both are
deleted and recreated, and the table says how many attempts it took: of 12 runs one after the other, at a load of 20,
ten took one and two took two.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kubeflow_volcano.catalog.gangs import KUBERNETES
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.observer import Subject
from kubeflow_volcano.experiment.record import Member
from kubeflow_volcano.gang_demo.jobs.gangs import Gang, are_refused_for_gpus, find_gang
from kubeflow_volcano.gang_demo.jobs.jobs import job, replicas
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.history import History, has_succeeded
from kubeflow_volcano.gang_demo.play.stand import BY_ANY, Case, Stand

WORKERS, GPUS = 4, 4
LASTS = "4s"
"""How long each worker of the gang run trains, before the second job starts."""

KINDS = {"first": "TFJob", "second": "PyTorchJob"}
"""Of two kinds, as an operator handles jobs of one kind one after the other, and different kinds at once."""

_HOLD_SECONDS = 6.0
_MOST_ATTEMPTS = 5


def manifest(namespace: str, lasts: str = "") -> tuple[Object, ...]:
    """Two jobs of four workers with a GPU each, which succeed after `lasts`, if given."""
    roles = {"Worker": replicas(WORKERS, lasts=lasts)}
    return tuple(job(kind, name, namespace, roles) for name, kind in KINDS.items())


def _ending(namespace: str) -> tuple[Object, ...]:
    return manifest(namespace, LASTS)


def _decided(history: History) -> bool:
    """Whether every GPU is taken and a scheduler has refused all other pods for insufficient GPUs."""
    there = history.present
    return len(there) == 2 * WORKERS and len(history.holders) == GPUS and are_refused_for_gpus(there)


def are_deadlocked(history: History) -> bool:
    """Whether both jobs hold GPUs, and neither has all that it needs."""
    return _decided(history) and all(0 < history.placed(name) < WORKERS for name in KINDS)


def find_overlap(history: History) -> str:
    """Evidence that the jobs did not run one after the other, each as a whole; empty without any."""
    names = {name: {item.uid for item in history.members_of(name)} for name in KINDS}
    for item in history.holdings:
        if all(members & item.holders for members in names.values()):
            names_of_pods = sorted(history.members[uid].name for uid in item.holders)
            return f"both jobs held GPUs at the same time: {', '.join(names_of_pods)}"
    return next(filter(None, (Gang.of_all(history, name, WORKERS).find_contradiction(WORKERS) for name in KINDS)), "")


def _create(stand: Stand, objects: Sequence[Object]) -> list[Object]:
    """Create all at the same time, as two independent users would."""
    with ThreadPoolExecutor(len(objects)) as pool:
        return list(pool.map(stand.session.create, stand.translated(*objects)))


def _deadlock(stand: Stand) -> Outcome:
    namespace = stand.namespace()
    with stand.watching(namespace) as history:
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            jobs = _create(stand, manifest(namespace))
            history.until(lambda: _decided(history) or bool(_stopped(history)), stand.deadline.remaining)
            if are_deadlocked(history) or _stopped(history) or attempt == _MOST_ATTEMPTS:
                break
            stand.progress(f"{stand.case.title}: one job got all GPUs; recreating both")
            _remove(stand, history, jobs)
        problem = stand.settle(
            history,
            lambda: are_deadlocked(history),
            lambda: find_gang(history) or _whole(history),
            _HOLD_SECONDS,
        )
    held = ", ".join(f"{name} {history.placed(name)} of {WORKERS}" for name in KINDS)
    figures = {"GPUs held": held, "deadlock held for": f"{_HOLD_SECONDS:.0f} s", "attempts": attempt}
    return stand.outcome(history, problem, figures=figures)


def _stopped(history: History) -> str:
    """Why another attempt would not help."""
    return find_gang(history) or history.find_doubt()


def _whole(history: History) -> str:
    """The job that got all GPUs, which is possible without gang scheduling, but rare."""
    whole = [name for name in KINDS if history.placed(name) == WORKERS]
    return f"job {whole[0]} got all GPUs in each of {_MOST_ATTEMPTS} attempts" if whole else ""


def _remove(stand: Stand, history: History, jobs: Sequence[Object]) -> None:
    history.dismiss(*history.present)
    stand.session.delete(*jobs)
    refs = [Ref.of(item) for item in jobs]
    gone = history.until(lambda: not history.present, stand.deadline.remaining)
    if not gone or any(stand.cluster.get(ref) for ref in refs):
        raise TimeoutError("the jobs of the previous attempt were not deleted")
    stand.session.gone(*(item["metadata"]["uid"] for item in jobs))
    history.begin()


def _sequentially(stand: Stand) -> Outcome:
    namespace = stand.namespace()
    own = [Subject("batch/v1", "Job", namespace)]
    trainings = [Subject("kubeflow.org/v1", kind, namespace) for kind in KINDS.values()]
    also = own if stand.gang is KUBERNETES else trainings
    with stand.watching(namespace, also=also) as history:
        _create(stand, _ending(namespace))
        problem = stand.settle(history, lambda: have_ended(history), lambda: find_overlap(history), 0.5)
    order = sorted(
        (name for name in KINDS if _bound(history.members_of(name))), key=lambda name: _bound(history.members_of(name))
    )
    figures = {
        "order": ", then ".join(order),
        "time to bind a whole job": ", ".join(_spread(history.members_of(name)) for name in order),
    }
    lines = [f"{_job(history, name)}: {'Succeeded' if _succeeded(history, name) else 'unfinished'}" for name in order]
    return stand.outcome(history, problem, figures=figures, lines=lines)


def have_ended(history: History) -> bool:
    """Whether both jobs have succeeded with all their workers, each as a gang."""
    done = [member for member in history.members.values() if member.ended]
    gangs = {item.name for item in history.groups.values() if item.minimum == WORKERS}
    return len(done) == 2 * WORKERS and gangs >= set(KINDS) and all(_succeeded(history, name) for name in KINDS)


def _succeeded(history: History, name: str) -> bool:
    return has_succeeded(history.objects.get(_job(history, name).replace(" ", "/"), ()))


def _job(history: History, name: str) -> str:
    """Kind and name of a job."""
    return f"Job {name}-worker" if history.gang is KUBERNETES else f"{KINDS[name]} {name}"


def _bound(members: Sequence[Member]) -> float:
    """Monotonic time of a job's first binding; 0 if no pod is bound."""
    return min((item.bound_monotonic for item in members if item.node), default=0.0)


def _spread(members: Sequence[Member]) -> str:
    times = [item.bound_monotonic for item in members if item.node]
    return f"{max(times) - min(times):.2f} s"


_case = partial(Case, "two-jobs", nodes=Nodes(GPUS), schedulers=BY_ANY)

CASES = (
    _case(
        "two-jobs-default",
        "two jobs, default scheduler",
        control=True,
        wiring="none",
        manifest=manifest,
        run=_deadlock,
        seconds=120.0,
    ),
    _case(
        "two-jobs-gang",
        "two jobs, gang scheduling",
        control=False,
        wiring="volcano",
        manifest=_ending,
        run=_sequentially,
        seconds=180.0,  # each time that a gang was refused, kube-scheduler lets its pods wait longer
    ),
)
