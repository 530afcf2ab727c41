"""An elastic PyTorchJob of 2 to 4 workers: it starts with two, never with fewer, and grows when GPUs become free.

Two nodes have four GPUs each. Other pods hold seven of them: a training 4, a tuning 2, a notebook 1. The notebook ends,
then the tuning, so that first 1, then 2, then 4 GPUs are free. Without gang scheduling the job starts on the first free
GPU with one worker, fewer than its minimum.

With gang scheduling alone the job waits for all four workers: operator 1.8 sets `minMember` to the sum of the replicas
and ignores `elasticPolicy.minReplicas` and `maxReplicas` (pkg/controller.v1/common/job.go). With
`runPolicy.schedulingPolicy.minAvailable: 2` beside `minReplicas: 2` the gang is the minimum of the job: Volcano places
the first two workers together, and the others as soon as GPUs are free.

`replicas` equals `maxReplicas`: the operator creates all pods at once, and those without a node stay Pending. Workers
meet at worker 0, which Volcano places first: it orders the pods of a job by the numbers at the end of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.jobs.gangs import Gang, are_refused_for_gpus, find_gang
from kubeflow_volcano.gang_demo.jobs.jobs import holder, job, replicas
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.play.stand import BY_ANY, Case, Stand, no_contradiction

_NODES = Nodes(2, 4)
_JOB = "elastic"
_LEAST, _MOST = 2, 4
_OTHERS = (("training", 4), ("tuning", 2), ("notebook", 1))
_HOLD_SECONDS = 2.5
_COMMAND = ("python3", "-m", "torch.distributed.run", "train.py")
_HEADS = ("GPUS FREE", "WORKERS PLACED", "PODGROUP")


def manifest(namespace: str, *, minimum: int = 0) -> Sequence[Object]:
    """Three pods that hold GPUs, and the job; its gang has `minimum` pods, or all without it."""
    made = job("PyTorchJob", _JOB, namespace, {"Worker": replicas(_MOST, command=_COMMAND)})
    policy = {"schedulingPolicy": {"minAvailable": minimum}} if minimum else {}
    elastic = {"rdzvBackend": "c10d", "minReplicas": _LEAST, "maxReplicas": _MOST, "maxRestarts": 10}
    spec = {"elasticPolicy": elastic, **made["spec"], "runPolicy": made["spec"]["runPolicy"] | policy}
    return *(holder(name, namespace, gpus) for name, gpus in _OTHERS), made | {"spec": spec}


def _run(
    stand: Stand, *, manifest_in: Callable[[str], Sequence[Object]], minimum: int, placed: Sequence[int]
) -> Outcome:
    """`placed` are the numbers of workers on nodes when 1, 2 and 4 GPUs are free; `minimum` is 0 without a gang."""
    namespace = stand.namespace()
    *others, elastic = manifest_in(namespace)
    rows: list[Sequence[str]] = []
    with stand.watching(namespace) as history:
        stand.create(*others)
        problem = stand.settle(history, lambda: len(history.holders) == len(_OTHERS), no_contradiction, 0)
        if not problem:
            stand.create(elastic)
        for free, expected in zip((1, 2, 4), placed, strict=True):
            if problem:
                break
            if free > 1:
                stand.delete_pods(history, others.pop()["metadata"]["name"])
            there = partial(is_reached, history, expected, minimum)
            problem = stand.settle(
                history, there, partial(find_contradiction, history, expected, minimum), _HOLD_SECONDS
            )
            rows.append((str(free), f"{history.placed(_JOB)} of {_MOST}", ", ".join(_group(history)) or "none"))
        figures = {
            "longest time with fewer workers than minReplicas": f"{history.in_part(_JOB, _LEAST):.2f} s",
            "workers placed first": ", ".join(_first(history)),
        }
        return stand.outcome(history, problem, heads=_HEADS, rows=rows, lines=(), figures=figures)


def _first(history: History) -> Sequence[str]:
    """Names of the workers that were placed first, as many as the minimum of the job."""
    bound = sorted((item for item in history.members_of(_JOB) if item.node), key=lambda item: item.bound_monotonic)
    return sorted(item.name for item in bound[:_LEAST])


def _group(history: History) -> tuple[str, ...]:
    """Phase and minMember of the job's PodGroup."""
    return next(((item.phase or "without phase", f"minMember {item.minimum}") for item in history.present_groups), ())


def is_reached(history: History, expected: int, minimum: int) -> bool:
    """Whether `expected` workers have a node, and a scheduler has refused the others."""
    if minimum:
        gang = Gang(history, _JOB, _MOST, minimum)
        return gang.is_placed(expected) if expected else gang.is_withheld()
    workers = history.present_of(_JOB)
    return len(workers) == _MOST and history.placed(_JOB) == expected and are_refused_for_gpus(workers)


def find_contradiction(history: History, expected: int, minimum: int) -> str:
    """What contradicts the claim, at any moment so far; empty when nothing does."""
    if minimum:
        return Gang(history, _JOB, _MOST, minimum).find_contradiction(expected)
    if (workers := history.placed(_JOB)) > expected:
        return f"{workers} workers got a node instead of {expected}"
    return find_gang(history)


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
        schedulers=BY_ANY,
    )


CASES = (
    _case("elastic-default", "2 to 4 workers, default scheduler", 0, (1, 2, 4)),
    _case("elastic-all", "2 to 4 workers, gang without minAvailable", _MOST, (0, 0, 4)),
    _case("elastic-gang", "2 to 4 workers, gang with minAvailable 2", _LEAST, (0, 2, 4), stated=True),
)
