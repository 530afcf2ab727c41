"""The experiment that the project grew from: a TFJob of 2 PS and 4 workers of one GPU each, on one GPU and on four.

Without gang scheduling one worker starts and holds its GPU while three wait; with it nobody starts until all six can.
"""

from __future__ import annotations

from collections.abc import Callable

from kubeflow_volcano.cluster.objects import Object
from validators.scenarios.history import ROLE, History, status
from validators.scenarios.jobs import job, replicas
from validators.scenarios.model import Case, Nodes, Outcome
from validators.scenarios.stand import Stand

__all__ = ["CASES", "manifest", "not_partial", "not_whole", "not_withheld", "partial", "whole", "withheld"]

PS, WORKERS = 2, 4
_EVERYBODY = PS + WORKERS


def manifest(namespace: str) -> tuple[Object, ...]:
    """The job: two parameter servers on CPU, four workers that ask for one GPU each."""
    return (job("TFJob", "dist-mnist", namespace, {"PS": replicas(PS, gpus=0), "Worker": replicas(WORKERS)}),)


def _counted(history: History, role: str) -> dict[str, int]:
    """Members of a role ('ps', 'worker') by status."""
    counts: dict[str, int] = {}
    for member in history.present:
        if member.labels.get(ROLE) == role:
            counts[status(member)] = counts.get(status(member), 0) + 1
    return counts


def partial(history: History) -> bool:
    """One worker runs, the others have been judged and wait."""
    workers = {"Running": 1, "Unschedulable": WORKERS - 1}
    return _counted(history, "worker") == workers and _counted(history, "ps") == {"Running": PS}


def withheld(history: History) -> bool:
    """The group has been judged and nobody runs."""
    groups = history.present_groups
    return len(groups) == 1 and groups[0].phase == "Pending" and bool(groups[0].judged) and not history.bound()


def whole(history: History) -> bool:
    """Everybody runs."""
    return _counted(history, "worker") == {"Running": WORKERS} and _counted(history, "ps") == {"Running": PS}


def not_partial(history: History) -> str:
    """What shows that there is gang scheduling."""
    return "a PodGroup exists although gang scheduling is off" if history.present_groups else ""


def not_withheld(history: History) -> str:
    """What shows that there is none, or another one."""
    if most := history.most_bound():
        return f"{most} of {_EVERYBODY} pods got a node although the gang does not fit"
    for group in history.present_groups:
        if group.minimum != _EVERYBODY:
            return f"the PodGroup asks for {group.minimum} members instead of {_EVERYBODY}"
    return ""


def not_whole(history: History) -> str:
    """What shows that somebody else placed the pods."""
    schedulers = {member.scheduler for member in history.members.values()}
    return "" if schedulers <= {"volcano"} else f"pods were given to {', '.join(sorted(schedulers))}"


def _run(
    reached: Callable[[History], bool], wrong: Callable[[History], str], hold_seconds: float
) -> Callable[[Stand], Outcome]:
    def run(stand: Stand) -> Outcome:
        namespace = stand.namespace()
        with stand.watching(namespace) as history:
            stand.create(*manifest(namespace))
            problem = stand.settle(history, lambda: reached(history), lambda: wrong(history), hold_seconds)
        return stand.outcome(history, problem, figures={"most pods bound at once": history.most_bound()})

    return run


CASES = (
    Case(
        "source",
        "source-default",
        "default scheduler, 1 GPU",
        control=True,
        wiring="none",
        nodes=Nodes(1),
        manifest=manifest,
        run=_run(partial, not_partial, 5.0),
    ),
    Case(
        "source",
        "source-gang-short",
        "gang scheduling, 1 GPU",
        control=False,
        wiring="volcano",
        nodes=Nodes(1),
        manifest=manifest,
        run=_run(withheld, not_withheld, 8.0),
    ),
    Case(
        "source",
        "source-gang-fits",
        "gang scheduling, 4 GPUs",
        control=False,
        wiring="volcano",
        nodes=Nodes(4),
        manifest=manifest,
        run=_run(whole, not_whole, 1.0),
    ),
)
