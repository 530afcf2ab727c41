"""Two teams on 8 GPUs, each with its own namespace and queue: shares, reclaim of borrowed GPUs, and the capability.

Weights 3 and 1 give team a 6 GPUs and team b 2 if both request more, in any order of arrival. A team borrows what the
other does not use, and Volcano takes it back in whole gangs (reclaim). A queue never holds more than its capability,
even if GPUs are free.

Reclaim evicts pod by pod, too, node after node. Two settings make it evict whole gangs, and no more of them than are
owed: binpack with a weight for GPUs, which places each gang on one node, and the policy PodEvicted, RestartJob, which
ends the rest of a gang that lost a pod. With upstream's settings of binpack, two gangs lost a pod each where one was
owed. With upstream's overcommit nothing is reclaimed on a full cluster, as the job of team b gets no pods.

By hand: apply the jobs of team b when those of team a run. If there are pods named other, apply them first, and delete
them when both teams wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from kubeflow_volcano.cluster.watch.observer import Subject
from kubeflow_volcano.gang_demo.jobs.jobs import GPU
from kubeflow_volcano.gang_demo.jobs.vcjobs import QUEUE, finish
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.stand import Case, Course, Stand
from kubeflow_volcano.gang_demo.scenarios.queue_plan import (
    ALL,
    JOBS,
    NODE_GPUS,
    NODES,
    SIZE,
    WEIGHTS,
    Plan,
    jobs_with_losses,
)

_SHARES: Mapping[str, int] = {"a": 6, "b": 2}
_LIMIT = 4
_HOLD = 3.0


@dataclass(kw_only=True)
class _Course(Course):
    """One case while it runs, for its steps."""

    plan: Plan
    prefix: str

    def prepare(self) -> str:
        """Create the queues, and the other pods if there are any, and wait for both."""
        queues = self.stand.create(*self.plan.shared(self.prefix))
        others = self.stand.create(*self.plan.others(self.prefix))

        def ready() -> bool:
            # Volcano refuses jobs for a queue that its controller has not opened yet.
            states = (self.history.objects.get(f"Queue/{item['metadata']['name']}", [{}])[-1] for item in queues)
            opened = all(item.get("status", {}).get("state") == "Open" for item in states)
            return opened and len(self.history.holders) == len(others)

        return self.settle(ready)

    def submit(self, team: str) -> None:
        self.stand.create(*self.plan.jobs_of(self.prefix, team))

    def release(self) -> None:
        """Delete the other pods."""
        names = (item["metadata"]["name"] for item in self.plan.others(self.prefix))
        self.stand.delete_pods(self.history, *names)

    def fill(self) -> str:
        """Team a arrives first and takes all GPUs."""
        self.submit("a")
        return self.settle(lambda: self.all_run("a") and self.now == {"a": ALL, "b": 0})

    def all_run(self, team: str) -> bool:
        return all(self.history.is_running(job, SIZE) for job in self.plan.names(team))

    def all_wait(self, *jobs: str) -> bool:
        return all(self.history.is_waiting(job, SIZE) for job in jobs)

    @property
    def now(self) -> dict[str, int]:
        return self.plan.shares(self.history)

    @property
    def is_whole(self) -> bool:
        """Whether no gang is partly placed."""
        return all(self.history.placed(job) in {0, SIZE} for job in self.plan.all_names())


def _kept(course: _Course) -> str:
    """Team a has taken all GPUs; team b arrives and gets none."""
    if problem := course.prepare() or course.fill():
        return problem
    course.submit("b")

    def wrong() -> str:
        lost = jobs_with_losses(course.history, course.plan.names("a"))
        return (
            f"GPUs were reclaimed from {', '.join(lost) or 'no job'}: {course.now}" if lost or course.now["b"] else ""
        )

    return course.settle(lambda: course.all_wait(*course.plan.names("b")), wrong, _HOLD + 1)


def _reclaimed(course: _Course) -> str:
    """Team a has taken all GPUs; team b arrives and gets its share, for which one whole gang is evicted."""
    if problem := course.prepare() or course.fill():
        return problem
    course.submit("b")
    owed = (ALL - _SHARES["a"]) // SIZE
    names = course.plan.names("a")

    def wrong() -> str:
        lost = jobs_with_losses(course.history, names)
        return f"{', '.join(lost)} lost pods, and {owed} gang is owed" if len(lost) > owed else ""

    def reached() -> bool:
        others = course.all_run("b") and course.all_wait(*jobs_with_losses(course.history, names))
        return course.now == _SHARES and course.is_whole and others

    problem = course.settle(reached, wrong, _HOLD, "from the arrival of team b to the shares")
    course.figures["gangs evicted"] = len(jobs_with_losses(course.history, names))
    return problem or course.partly_placed(dict.fromkeys(course.plan.all_names(), SIZE))


def _fair(course: _Course) -> str:
    """Both wait, team a arrived first; when the GPUs become free each gets its share at once and keeps it."""
    if problem := course.prepare():
        return problem
    jobs = course.plan.all_names()
    for team in course.plan.jobs:
        course.submit(team)
    if problem := course.settle(lambda: course.all_wait(*jobs)):
        return problem
    course.release()

    def wrong() -> str:
        lost = jobs_with_losses(course.history, jobs)
        return f"{', '.join(lost)} lost pods" if lost else course.plan.above(course.history, _SHARES)

    def reached() -> bool:
        return course.now == _SHARES and course.is_whole

    problem = course.settle(reached, wrong, _HOLD, "from the free GPUs to the shares")
    return problem or course.partly_placed(dict.fromkeys(course.plan.all_names(), SIZE))


def _unlimited(course: _Course) -> str:
    """Team a is alone and takes all GPUs."""
    return course.prepare() or course.fill()


def _limited(course: _Course) -> str:
    """Team a is alone; half of the GPUs stay free. When one of its gangs ends, another one starts."""
    if problem := course.prepare():
        return problem
    course.submit("a")
    names = course.plan.names("a")

    def wrong() -> str:
        return course.plan.above(course.history, {"a": _LIMIT})

    def ended(job: str) -> bool:
        members = course.history.members_of(job)
        return bool(members) and all(item.ended for item in members)

    def full() -> bool:
        others = [job for job in names if not course.history.placed(job) and not ended(job)]
        return course.now["a"] == _LIMIT and course.is_whole and course.all_wait(*others)

    if problem := course.settle(full, wrong, _HOLD):
        return problem
    first = next(job for job in names if course.history.placed(job))
    finish(course.stand, course.history, first)
    return course.settle(lambda: ended(first) and full(), wrong, 1.0, "from the end of a gang to the next one")


def _run(stand: Stand, plan: Plan, steps: Callable[[_Course], str]) -> Outcome:
    spaces = [stand.namespace(f"-{team}") for team in WEIGHTS]
    with stand.watching(*spaces, also=[Subject(*QUEUE)]) as history:
        course = _Course(stand=stand, history=history, plan=plan, prefix=spaces[0].removesuffix("-a"))
        problem = steps(course)
    for team in plan.jobs:
        held_at_last = f"{course.now[team]} of {ALL}, {plan.most(history, team)} at most"
        course.figures[f"GPUs of team {team}"] = held_at_last
    return stand.outcome(history, problem, lines=plan.lines(history), figures=course.figures)


def _case(name: str, title: str, plan: Plan, steps: Callable[[_Course], str], *, control: bool = False) -> Case:
    return Case(
        "queues",
        name,
        title,
        control=control,
        wiring="",
        nodes=Nodes(NODES, NODE_GPUS),
        manifest=plan.manifest,
        run=partial(_run, plan=plan, steps=steps),
    )


_ONE = Plan({"a": None, "b": None}, {"a": JOBS, "b": 1})
_TWO = Plan({"a": {}, "b": {}}, {"a": JOBS, "b": JOBS}, occupied=True)
_KEPT = Plan({"a": {"reclaimable": False}, "b": {}}, {"a": JOBS, "b": 1})
_LENT = Plan({"a": {"reclaimable": True}, "b": {}}, {"a": JOBS, "b": 1})
_FREE = Plan({"a": {}}, {"a": JOBS})
_CAPPED = Plan({"a": {"capability": {GPU: str(_LIMIT)}}}, {"a": JOBS})

CASES = (
    _case("queues-one", "one queue for both", _ONE, _kept, control=True),
    _case("queues-share", "two queues, weights 3 and 1", _TWO, _fair),
    _case("queues-kept", "a has borrowed, not reclaimable", _KEPT, _kept, control=True),
    _case("queues-reclaim", "a has borrowed, reclaimable", _LENT, _reclaimed),
    _case("queues-uncapped", "a alone, no capability", _FREE, _unlimited, control=True),
    _case("queues-capability", f"a alone, capability {_LIMIT}", _CAPPED, _limited),
)
