"""An urgent gang arrives at a cluster that a gang of low priority fills: which pods are evicted, and how many.

Volcano evicts pod by pod, and only if the evictions make room for the whole urgent gang: as many pods as it needs, and
none if it does not fit at all. The other pods of a gang that lost some keep running without any use, unless the job has
the policy PodEvicted, RestartJob. The default scheduler evicts for each single pod, and may end a gang for another one
that cannot start.

In addition to the action preempt this needs `enablePreemptable: false` in the plugin gang, which is upstream's setting:
with true, no pod that a gang needs is ever evicted. A job with minimal resources, such as a vcjob or a job of the
training operator, gets its pods only after overcommit and proportion have admitted it, which they do not do on a full
cluster; and Volcano evicts only for pods that exist. With upstream's settings of both the urgent gang waits until the
other one has ended.

By hand: apply the job `urgent` when the pods of `low` run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.jobs.jobs import RESTART
from kubeflow_volcano.gang_demo.jobs.vcjobs import Task, finish, priority_class, vcjob
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.stand import BY_ANY, Case, Course, Stand, no_contradiction
from kubeflow_volcano.text import counted

LOW, HIGH = "low", "urgent"
GPUS = 4
_VALUES = {LOW: 100, HIGH: 100000}
_HOLD = 3.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Objects of a case: a gang of 4 pods on 4 GPUs, and a gang of `size` pods that is created later."""

    size: int
    priorities: bool = True
    policy: bool = True
    """Whether the first job restarts as a whole when it loses a pod."""
    scheduler: str = "volcano"

    def manifest(self, prefix: str) -> tuple[Object, ...]:
        """The priority classes, the first job, and the second, to be created when the first runs."""
        return (*self.classes(prefix), self.first(prefix), self.second(prefix))

    def classes(self, prefix: str) -> tuple[Object, ...]:
        """The priority classes."""
        return tuple(priority_class(f"{prefix}-{name}", value) for name, value in _VALUES.items() if self.priorities)

    def first(self, prefix: str) -> Object:
        """The job that runs first."""
        return self._job(prefix, LOW, GPUS, policies=(RESTART,) if self.policy else ())

    def second(self, prefix: str) -> Object:
        """The job that is created later."""
        return self._job(prefix, HIGH, self.size)

    def _job(self, prefix: str, name: str, size: int, **more: Any) -> Object:
        priority = f"{prefix}-{name}" if self.priorities else ""
        return vcjob(name, prefix, Task("worker", size), scheduler=self.scheduler, priority=priority, **more)


@dataclass(kw_only=True)
class Displacement(Course):
    """One case while it runs, for its steps."""

    plan: Plan
    namespace: str

    def begin(self) -> str:
        """The first gang takes all GPUs; then the second is created."""
        self.stand.create(*self.plan.classes(self.namespace), self.plan.first(self.namespace))
        if problem := self.settle(lambda: self.history.is_running(LOW, GPUS)):
            return problem
        self.stand.create(self.plan.second(self.namespace))
        return ""

    def lost(self) -> int:
        """Number of pods of the first gang that were deleted or are being deleted."""
        return sum(bool(item.lost) or item.gone for item in self.history.members_of(LOW))

    def left_alone(self) -> str:
        """Evidence of evictions from the first gang; empty without any."""
        return f"{counted(self.lost(), 'pod')} of the first gang evicted" if self.lost() else ""

    def follows(self, done: str, then: str, size: int) -> str:
        """One gang ends, and the other starts as a whole."""
        finish(self.stand, self.history, done)
        return self.settle(
            lambda: self.history.is_running(then, size),
            hold_seconds=0.5,
            measured=f"from the end of {done} to the start of {then}",
        )


def _sequentially(course: Displacement) -> str:
    """Both have the same priority: the second waits until the first has ended."""
    if problem := course.begin():
        return problem
    problem = course.settle(lambda: course.history.is_waiting(HIGH, GPUS), course.left_alone, _HOLD + 1)
    return problem or course.follows(LOW, HIGH, GPUS)


def _whole(course: Displacement) -> str:
    """The urgent gang needs all GPUs: the other is evicted and waits as a whole, and starts again afterwards."""
    if problem := course.begin():
        return problem
    problem = course.settle(
        lambda: course.history.is_running(HIGH, GPUS) and course.history.is_waiting(LOW, GPUS),
        no_contradiction,
        _HOLD,
        "from creation of the urgent job to its start",
    )
    return problem or course.partly_placed({LOW: GPUS, HIGH: GPUS}) or course.follows(HIGH, LOW, GPUS)


def _remainder(course: Displacement) -> str:
    """The urgent gang needs two GPUs, and the other has no policy: half of it keeps running."""
    if problem := course.begin():
        return problem
    rest = GPUS - course.plan.size

    def reached() -> bool:
        return course.history.is_running(HIGH, course.plan.size) and course.history.placed(LOW) == rest

    problem = course.settle(reached, no_contradiction, _HOLD + 1)
    course.figures["pods of the low gang that keep running without use"] = f"{course.history.placed(LOW)} of {GPUS}"
    return problem


def _no_remainder(course: Displacement) -> str:
    """The same with the policy: the other is deleted and restarted as a whole, although two GPUs stay free."""
    if problem := course.begin():
        return problem

    def reached() -> bool:
        return course.history.is_running(HIGH, course.plan.size) and course.history.is_waiting(LOW, GPUS)

    problem = course.settle(reached, no_contradiction, _HOLD, "from creation of the urgent job to its start")
    course.figures["pods of the low gang that keep running without use"] = f"{course.history.placed(LOW)} of {GPUS}"
    return problem or course.partly_placed({LOW: GPUS, HIGH: course.plan.size}) or course.follows(HIGH, LOW, GPUS)


def _in_vain(course: Displacement) -> str:
    """The default scheduler with an urgent gang that is too big: it evicts the first for four of six pods."""
    if problem := course.begin():
        return problem
    problem = course.settle(
        lambda: course.history.placed(HIGH) == GPUS and not course.history.placed(LOW), no_contradiction, _HOLD
    )
    course.figures["evictions from the low gang"] = course.lost()
    course.figures["pods of the urgent gang with a GPU"] = f"{course.history.placed(HIGH)} of {course.plan.size}"
    return problem


def _not_in_vain(course: Displacement) -> str:
    """Volcano with an urgent gang that is too big: no pod is evicted."""
    if problem := course.begin():
        return problem

    def wrong() -> str:
        taken = course.history.placed(HIGH)
        return course.left_alone() or (
            f"{counted(taken, 'pod')} of a gang that does not fit got a GPU" if taken else ""
        )

    problem = course.settle(lambda: course.history.is_waiting(HIGH, course.plan.size), wrong, _HOLD + 1)
    course.figures["evictions from the low gang"] = course.lost()
    course.figures["pods of the urgent gang with a GPU"] = f"{course.history.placed(HIGH)} of {course.plan.size}"
    return problem


def _run(stand: Stand, plan: Plan, steps: Callable[[Displacement], str]) -> Outcome:
    namespace = stand.namespace()
    with stand.watching(namespace) as history:
        course = Displacement(stand=stand, history=history, plan=plan, namespace=namespace)
        problem = steps(course)
    return stand.outcome(history, problem, figures=course.figures)


def _case(name: str, title: str, plan: Plan, steps: Callable[[Displacement], str], *, control: bool = False) -> Case:
    return Case(
        "preemption",
        f"preemption-{name}",
        title,
        control=control,
        wiring="",
        nodes=Nodes(GPUS),
        manifest=plan.manifest,
        run=partial(_run, plan=plan, steps=steps),
        seconds=180.0,  # the Jobs in the place of vcjobs get back pods that failed only after up to 80 s
        schedulers=BY_ANY,
    )


_DEFAULT = Plan(6, policy=False, scheduler="default-scheduler")

CASES = (
    _case("equal", "no priorities, 4 after 4", Plan(4, priorities=False), _sequentially, control=True),
    _case("whole", "an urgent gang of 4 on 4", Plan(4), _whole),
    _case("remainder", "an urgent 2 on 4, no policy", Plan(2, policy=False), _remainder, control=True),
    _case("no-remainder", "an urgent 2 on 4, RestartJob", Plan(2), _no_remainder),
    _case("in-vain", "default scheduler, 6 on 4", _DEFAULT, _in_vain, control=True),
    _case("fits-not", "an urgent gang of 6 on 4", Plan(6), _not_in_vain),
)
