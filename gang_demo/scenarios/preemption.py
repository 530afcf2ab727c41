"""An urgent gang comes to a cluster that is full with a gang of low priority: who goes, and how much of it.

Volcano evicts pod by pod, and only when that makes room for all of the urgent gang: as many pods as it needs, and none
when it does not fit at all. Of a gang that loses some of its pods the others run on, and are of no use, unless its job
says what is to happen then (PodEvicted, RestartJob). The default scheduler evicts for each pod that asks, and may end
a gang for another one that cannot start.

Beside the action preempt this needs `enablePreemptable: false` in plugin gang, as upstream has it; with the switch on,
no pod that a gang needs is ever evicted. A job that states its minimal resources, as vcjobs and jobs of the training
operator do, gets its pods only when overcommit and proportion admit it, which they do not on a full cluster; and it is
for pods that Volcano evicts. With upstream's settings of these two the urgent gang waits until the other has ended.

By hand: apply the job `urgent` when the pods of `low` run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gang_demo.case import Case
from gang_demo.jobs.gangs import LONGEST_IN_PART
from gang_demo.jobs.vcjobs import RESTART, Task, finish, priority_class, vcjob
from gang_demo.model import Nodes, Outcome
from gang_demo.play.course import Course, nothing
from gang_demo.play.stand import Stand
from kubeflow_volcano.cluster.objects import Object

__all__ = ["CASES", "Displacement", "Plan"]

LOW, HIGH = "low", "urgent"
GPUS = 4
_VALUES = {LOW: 100, HIGH: 100000}
_HOLD = 3.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a case has: a gang of 4 pods on 4 GPUs, and a gang of `size` that comes later."""

    size: int
    priorities: bool = True
    policy: bool = True
    """Whether the first job starts again as a whole when it loses a pod."""
    scheduler: str = "volcano"

    def manifest(self, prefix: str) -> tuple[Object, ...]:
        """The priority classes, the first job and the second, which is to come when the first runs."""
        return (*self.classes(prefix), self.first(prefix), self.second(prefix))

    def classes(self, prefix: str) -> tuple[Object, ...]:
        """The priority classes."""
        return tuple(priority_class(f"{prefix}-{name}", value) for name, value in _VALUES.items() if self.priorities)

    def first(self, prefix: str) -> Object:
        """The job that is there."""
        return self._job(prefix, LOW, GPUS, policies=(RESTART,) if self.policy else ())

    def second(self, prefix: str) -> Object:
        """The job that comes."""
        return self._job(prefix, HIGH, self.size)

    def _job(self, prefix: str, name: str, size: int, **more: Any) -> Object:
        priority = f"{prefix}-{name}" if self.priorities else ""
        return vcjob(name, prefix, Task("worker", size), scheduler=self.scheduler, priority=priority, **more)


@dataclass(kw_only=True)
class Displacement(Course):
    """The course of one case, for its steps."""

    plan: Plan
    namespace: str

    def begin(self) -> str:
        """The first gang takes all GPUs; then the second comes."""
        self.stand.create(*self.plan.classes(self.namespace), self.plan.first(self.namespace))
        if problem := self.settle(lambda: self.history.running(LOW, GPUS)):
            return problem
        self.stand.create(self.plan.second(self.namespace))
        return ""

    def lost(self) -> int:
        """Pods of the first gang that are gone, or going."""
        return sum(bool(item.lost) or item.gone for item in self.history.of(LOW))

    def left_alone(self) -> str:
        """What shows that the first gang was not."""
        return f"{self.lost()} pods of the first gang were evicted" if self.lost() else ""

    def follows(self, done: str, then: str, size: int) -> str:
        """When a gang has ended, the other starts as a whole."""
        finish(self.stand, self.history, done)
        return self.settle(
            lambda: self.history.running(then, size), hold_seconds=0.5, measured=f"from the end of {done} to {then}"
        )

    def torn(self, size: int) -> str:
        """What shows that one of the gangs was there in part for long."""
        times = {LOW: self.history.in_part(LOW, GPUS), HIGH: self.history.in_part(HIGH, size)}
        self.figures["longest time of a gang in part"] = f"{max(times.values()):.1f} s"
        return "; ".join(
            f"{name} held GPUs in part for {time} s" for name, time in times.items() if time > LONGEST_IN_PART
        )


def _one_after_the_other(course: Displacement) -> str:
    """Both are as urgent: the second waits until the first has ended."""
    if problem := course.begin():
        return problem
    problem = course.settle(lambda: course.history.waiting(HIGH, GPUS), course.left_alone, _HOLD + 1)
    return problem or course.follows(LOW, HIGH, GPUS)


def _whole(course: Displacement) -> str:
    """The urgent gang needs all GPUs: the other goes as a whole, waits as a whole, and comes again afterwards."""
    if problem := course.begin():
        return problem
    problem = course.settle(
        lambda: course.history.running(HIGH, GPUS) and course.history.waiting(LOW, GPUS),
        nothing,
        _HOLD,
        "from the urgent job to its start",
    )
    return problem or course.torn(GPUS) or course.follows(HIGH, LOW, GPUS)


def _remainder(course: Displacement) -> str:
    """The urgent gang needs two GPUs, and the other has no policy: half of it runs on."""
    if problem := course.begin():
        return problem
    rest = GPUS - course.plan.size

    def reached() -> bool:
        return course.history.running(HIGH, course.plan.size) and course.history.held(LOW) == rest

    problem = course.settle(reached, nothing, _HOLD + 1)
    course.figures["pods of the low gang that run on in vain"] = f"{course.history.held(LOW)} of {GPUS}"
    return problem


def _no_remainder(course: Displacement) -> str:
    """The same with the policy: the other goes as a whole, although two GPUs stay free, and comes again as a whole."""
    if problem := course.begin():
        return problem

    def reached() -> bool:
        return course.history.running(HIGH, course.plan.size) and course.history.waiting(LOW, GPUS)

    problem = course.settle(reached, nothing, _HOLD, "from the urgent job to its start")
    course.figures["pods of the low gang that run on in vain"] = f"{course.history.held(LOW)} of {GPUS}"
    return problem or course.torn(course.plan.size) or course.follows(HIGH, LOW, GPUS)


def _in_vain(course: Displacement) -> str:
    """The default scheduler and an urgent gang that is too big: the first is ended for four pods of six."""
    if problem := course.begin():
        return problem
    problem = course.settle(lambda: course.history.held(HIGH) == GPUS and not course.history.held(LOW), nothing, _HOLD)
    course.figures["evictions from the low gang"] = course.lost()
    course.figures["pods of the urgent gang with a GPU"] = f"{course.history.held(HIGH)} of {course.plan.size}"
    return problem


def _not_in_vain(course: Displacement) -> str:
    """Volcano, and an urgent gang that is too big: nobody is evicted."""
    if problem := course.begin():
        return problem

    def wrong() -> str:
        taken = course.history.held(HIGH)
        return course.left_alone() or (f"{taken} pods of a gang that does not fit got a GPU" if taken else "")

    problem = course.settle(lambda: course.history.waiting(HIGH, course.plan.size), wrong, _HOLD + 1)
    course.figures["evictions from the low gang"] = course.lost()
    course.figures["pods of the urgent gang with a GPU"] = f"{course.history.held(HIGH)} of {course.plan.size}"
    return problem


def _run(plan: Plan, steps: Callable[[Displacement], str]) -> Callable[[Stand], Outcome]:
    def run(stand: Stand) -> Outcome:
        namespace = stand.namespace()
        with stand.watching(namespace) as history:
            course = Displacement(stand=stand, history=history, plan=plan, namespace=namespace)
            problem = steps(course)
        return stand.outcome(history, problem, figures=course.figures)

    return run


def _case(name: str, title: str, plan: Plan, steps: Callable[[Displacement], str], *, control: bool = False) -> Case:
    return Case(
        "preemption",
        f"preemption-{name}",
        title,
        control=control,
        wiring="",
        nodes=Nodes(GPUS),
        manifest=plan.manifest,
        run=_run(plan, steps),
    )


_DEFAULT = Plan(6, policy=False, scheduler="default-scheduler")

CASES = (
    _case("equal", "no priorities, 4 after 4", Plan(4, priorities=False), _one_after_the_other, control=True),
    _case("whole", "an urgent gang of 4 on 4", Plan(4), _whole),
    _case("remainder", "an urgent 2 on 4, no policy", Plan(2, policy=False), _remainder, control=True),
    _case("no-remainder", "an urgent 2 on 4, RestartJob", Plan(2), _no_remainder),
    _case("in-vain", "default scheduler, 6 on 4", _DEFAULT, _in_vain, control=True),
    _case("fits-not", "an urgent gang of 6 on 4", Plan(6), _not_in_vain),
)
