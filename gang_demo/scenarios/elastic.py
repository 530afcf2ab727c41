"""An elastic PyTorchJob of 2 to 4 workers: it starts with two, never with fewer, and grows when GPUs become free.

Two nodes of four GPUs, seven of which others hold: a training 4, a tuning 2, a notebook 1. The notebook ends, then the
tuning, so that 1, 2 and 4 GPUs are free. Without gang scheduling the job starts on the first of them: with one worker,
below the least that it may have.

With gang scheduling alone the job waits for all four workers: operator 1.8 makes `minMember` the sum of the replicas,
and looks neither at `elasticPolicy.minReplicas` nor at `maxReplicas` (pkg/controller.v1/common/job.go). With
`runPolicy.schedulingPolicy.minAvailable: 2` beside `minReplicas: 2` the gang is as small as the job may be: Volcano
holds back the first two until both have a place, and gives the others theirs when there is room.

`replicas` is the most that the job may have, as `maxReplicas` is: the operator makes so many pods at once, and those
without a place stay Pending. Workers meet at worker 0, which comes first: Volcano takes the pods of a job by the
numbers that their names end with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gang_demo.case import Case
from gang_demo.jobs.gangs import Gang, not_loose, refused_for_gpus
from gang_demo.jobs.jobs import holder, job, replicas
from gang_demo.model import Nodes, Outcome
from gang_demo.play.course import nothing
from gang_demo.play.history import History
from gang_demo.play.stand import Stand
from kubeflow_volcano.cluster.objects import Object

__all__ = ["CASES", "contradicted", "manifest", "reached"]

_NODES = Nodes(2, 4)
_JOB = "elastic"
_LEAST, _MOST = 2, 4
_OTHERS = (("training", 4), ("tuning", 2), ("notebook", 1))
_HOLD_SECONDS = 2.5
_COMMAND = ("python3", "-m", "torch.distributed.run", "train.py")
_HEADS = ("GPUS FREE", "WORKERS PLACED", "PODGROUP")


def manifest(namespace: str, *, minimum: int = 0) -> Sequence[Object]:
    """Three pods that hold GPUs, and the job; with `minimum` its gang is that many, else all that it may have."""
    made = job("PyTorchJob", _JOB, namespace, {"Worker": replicas(_MOST, command=_COMMAND)})
    policy = {"schedulingPolicy": {"minAvailable": minimum}} if minimum else {}
    elastic = {"rdzvBackend": "c10d", "minReplicas": _LEAST, "maxReplicas": _MOST, "maxRestarts": 10}
    spec = {"elasticPolicy": elastic, **made["spec"], "runPolicy": made["spec"]["runPolicy"] | policy}
    return *(holder(name, namespace, gpus) for name, gpus in _OTHERS), made | {"spec": spec}


def _run(
    stand: Stand, *, manifest_in: Callable[[str], Sequence[Object]], minimum: int, placed: Sequence[int]
) -> Outcome:
    """`placed` are the workers that must have a node when 1, 2 and 4 GPUs are free; `minimum` is 0 without a gang."""
    namespace = stand.namespace()
    *others, elastic = manifest_in(namespace)
    rows: list[Sequence[str]] = []
    with stand.watching(namespace) as history:
        stand.create(*others)
        problem = stand.settle(history, lambda: len(history.holders) == len(_OTHERS), nothing, 0)
        if not problem:
            stand.create(elastic)
        for free, expected in zip((1, 2, 4), placed, strict=True):
            if problem:
                break
            if free > 1:
                stand.take_away(history, others.pop()["metadata"]["name"])
            there = partial(reached, history, expected, minimum)
            problem = stand.settle(history, there, partial(contradicted, history, expected, minimum), _HOLD_SECONDS)
            rows.append((str(free), f"{history.held(_JOB)} of {_MOST}", ", ".join(_group(history)) or "none"))
        figures = {
            "longest time with fewer workers than minReplicas": f"{history.in_part(_JOB, _LEAST):.2f} s",
            "the first to have a node": ", ".join(_first(history)),
        }
        return stand.outcome(history, problem, heads=_HEADS, rows=rows, lines=(), figures=figures)


def _first(history: History) -> Sequence[str]:
    """Names of the workers that got their nodes first, as many as the job has at least."""
    bound = sorted((item for item in history.of(_JOB) if item.node), key=lambda item: item.bound_monotonic)
    return sorted(item.name for item in bound[:_LEAST])


def _group(history: History) -> tuple[str, ...]:
    """Phase and minMember of the job's PodGroup."""
    return next(((item.phase or "without phase", f"minMember {item.minimum}") for item in history.present_groups), ())


def reached(history: History, expected: int, minimum: int) -> bool:
    """Whether so many workers have a node, and a scheduler has said of the others that there is no room."""
    if minimum:
        gang = Gang(history, _JOB, _MOST, minimum)
        return gang.placed(expected) if expected else gang.withheld()
    workers = history.present_of(_JOB)
    return len(workers) == _MOST and history.held(_JOB) == expected and refused_for_gpus(workers)


def contradicted(history: History, expected: int, minimum: int) -> str:
    """What is not as claimed at any moment so far; empty when all is."""
    if minimum:
        return Gang(history, _JOB, _MOST, minimum).contradicted(expected)
    if (workers := history.held(_JOB)) > expected:
        return f"{workers} workers got a node instead of {expected}"
    return not_loose(history)


def _case(name: str, title: str, minimum: int, placed: Sequence[int], *, stated: bool = False) -> Case:
    manifest_in = partial(manifest, minimum=minimum if stated else 0)
    return Case(
        scenario="elastic",
        name=name,
        title=title,
        control=not stated,
        wiring="volcano" if minimum else "none",
        nodes=_NODES,
        manifest=manifest_in,
        run=partial(_run, manifest_in=manifest_in, minimum=minimum, placed=placed),
    )


CASES = (
    _case("elastic-default", "2 to 4 workers, default scheduler", 0, (1, 2, 4)),
    _case("elastic-all", "2 to 4 workers, gang without minAvailable", _MOST, (0, 0, 4)),
    _case("elastic-gang", "2 to 4 workers, gang with minAvailable 2", _LEAST, (0, 2, 4), stated=True),
)
