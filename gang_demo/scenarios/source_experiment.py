"""The experiment that this project started with: a TFJob of 2 PS and 4 workers of one GPU each, on one GPU and on four.

Without gang scheduling one worker starts and holds its GPU while three wait; with it no pod starts until all six can.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.jobs.gangs import Gang, are_refused_for_gpus, find_gang
from kubeflow_volcano.gang_demo.jobs.jobs import job, replicas
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.history import ROLE, History
from kubeflow_volcano.gang_demo.play.stand import BY_ANY, Case, Stand

PS, WORKERS = 2, 4
_SIZE = PS + WORKERS
_JOB = "dist-mnist"


def manifest(namespace: str) -> tuple[Object, ...]:
    """The job: two parameter servers on CPU, four workers that request one GPU each."""
    return (job("TFJob", _JOB, namespace, {"PS": replicas(PS, gpus=0), "Worker": replicas(WORKERS)}),)


def is_in_part(history: History) -> bool:
    """Whether the parameter servers and one worker run, and the other workers were refused for lack of GPUs."""
    running = sorted(item.labels.get(ROLE, "") for item in history.present if item.phase == "Running")
    there = len(history.present) == _SIZE and are_refused_for_gpus(history.present)
    return there and running == ["ps"] * PS + ["worker"]


def _default(stand: Stand) -> Outcome:
    return _play(stand, is_in_part, find_gang, 5.0)


def _withheld(stand: Stand) -> Outcome:
    return _play(
        stand, lambda history: _gang(history).is_withheld(), lambda history: _gang(history).find_contradiction(0), 8.0
    )


def _whole(stand: Stand) -> Outcome:
    return _play(
        stand,
        lambda history: _gang(history).is_whole() and history.is_running(_JOB, _SIZE),
        lambda history: _gang(history).find_contradiction(_SIZE),
        1.0,
    )


def _gang(history: History) -> Gang:
    return Gang.of_all(history, _JOB, _SIZE)


def _play(
    stand: Stand, reached: Callable[[History], bool], wrong: Callable[[History], str], hold_seconds: float
) -> Outcome:
    namespace = stand.namespace()
    with stand.watching(namespace) as history:
        stand.create(*manifest(namespace))
        problem = stand.settle(history, partial(reached, history), partial(wrong, history), hold_seconds)
    return stand.outcome(history, problem, figures={"most pods bound at once": history.most_bound()})


_case = partial(Case, "source", manifest=manifest, schedulers=BY_ANY)

CASES = (
    _case("source-default", "default scheduler, 1 GPU", control=True, wiring="none", nodes=Nodes(1), run=_default),
    _case(
        "source-gang-short", "gang scheduling, 1 GPU", control=False, wiring="volcano", nodes=Nodes(1), run=_withheld
    ),
    _case("source-gang-fits", "gang scheduling, 4 GPUs", control=False, wiring="volcano", nodes=Nodes(4), run=_whole),
)
