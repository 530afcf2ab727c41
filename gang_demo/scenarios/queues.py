"""Two teams on 8 GPUs, each with a namespace and a queue of its own: shares, what is given back, and the upper limit.

Weights 3 and 1 give team a 6 GPUs and team b 2 when both want more, whoever came first. What one does not use, the
other borrows, and gives back in whole gangs (reclaim). A queue with a capability never holds more, even of what is
free.

Reclaim takes pod by pod as well, node after node. That it takes whole gangs, and no more of them than are owed, is due
to binpack, told to count GPUs, which puts each gang on one node; and to the policy PodEvicted, RestartJob, which ends
the rest of a gang that lost a pod. With binpack as upstream has it, two gangs lost a pod each where one was owed. With
upstream's overcommit nothing is reclaimed on a full cluster, because the job of team b gets no pods.

By hand: apply the jobs of team b when those of team a run. Where there are pods called other, apply them first, and
delete them when both teams wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gang_demo.case import Case
from gang_demo.jobs.gangs import LONGEST_IN_PART
from gang_demo.jobs.jobs import GPU
from gang_demo.jobs.vcjobs import QUEUE, finish
from gang_demo.model import Nodes, Outcome
from gang_demo.play.course import Course
from gang_demo.play.stand import Stand
from gang_demo.scenarios.queue_plan import ALL, JOBS, NODE_GPUS, NODES, SIZE, WEIGHTS, Plan, touched
from kubeflow_volcano.cluster.watch.observer import Subject

__all__ = ["CASES"]

_SHARES: Mapping[str, int] = {"a": 6, "b": 2}
_LIMIT = 4
_HOLD = 3.0


@dataclass(kw_only=True)
class _Course(Course):
    """The course of one case, for its steps."""

    plan: Plan
    prefix: str

    def prepare(self) -> str:
        """Make the queues, and the pods of somebody else where there are any, and wait for both."""
        queues = self.stand.create(*self.plan.shared(self.prefix))
        others = self.stand.create(*self.plan.others(self.prefix))

        def ready() -> bool:
            # Volcano refuses jobs for a queue that its controller has not opened yet.
            states = (self.history.objects.get(f"Queue/{item['metadata']['name']}", [{}])[-1] for item in queues)
            opened = all(item.get("status", {}).get("state") == "Open" for item in states)
            return opened and len(self.history.holders) == len(others)

        return self.settle(ready)

    def submit(self, team: str) -> None:
        self.stand.create(*self.plan.of(self.prefix, team))

    def release(self) -> None:
        """Let somebody else go."""
        names = (item["metadata"]["name"] for item in self.plan.others(self.prefix))
        self.stand.take_away(self.history, *names)

    def fill(self) -> str:
        """Team a comes first, and takes all."""
        self.submit("a")
        return self.settle(lambda: self.all_run("a") and self.now == {"a": ALL, "b": 0})

    def all_run(self, team: str) -> bool:
        return all(self.history.running(job, SIZE) for job in self.plan.names(team))

    def all_wait(self, *jobs: str) -> bool:
        return all(self.history.waiting(job, SIZE) for job in jobs)

    @property
    def now(self) -> dict[str, int]:
        return self.plan.shares(self.history)

    @property
    def whole(self) -> bool:
        """Whether no gang is there in part."""
        return all(self.history.held(job) in {0, SIZE} for job in self.plan.everybody())

    def torn(self) -> str:
        """What shows that a gang held nodes in part for long."""
        times = {job: self.history.in_part(job, SIZE) for job in self.plan.everybody()}
        self.figures["longest time of a gang in part"] = f"{max(times.values()):.1f} s"
        return "; ".join(
            f"{job} held nodes in part for {time} s" for job, time in times.items() if time > LONGEST_IN_PART
        )


def _kept(course: _Course) -> str:
    """Team a has taken all; team b comes, and gets nothing."""
    if problem := course.prepare() or course.fill():
        return problem
    course.submit("b")

    def wrong() -> str:
        lost = touched(course.history, course.plan.names("a"))
        return f"GPUs were given back by {', '.join(lost) or 'nobody'}: {course.now}" if lost or course.now["b"] else ""

    return course.settle(lambda: course.all_wait(*course.plan.names("b")), wrong, _HOLD + 1)


def _reclaimed(course: _Course) -> str:
    """Team a has taken all; team b comes, and gets its share, for which one gang goes as a whole."""
    if problem := course.prepare() or course.fill():
        return problem
    course.submit("b")
    owed = (ALL - _SHARES["a"]) // SIZE
    names = course.plan.names("a")

    def wrong() -> str:
        lost = touched(course.history, names)
        return f"{', '.join(lost)} lost pods, and {owed} gang is owed" if len(lost) > owed else ""

    def reached() -> bool:
        others = course.all_run("b") and course.all_wait(*touched(course.history, names))
        return course.now == _SHARES and course.whole and others

    problem = course.settle(reached, wrong, _HOLD, "from the claim to the shares")
    course.figures["gangs given back"] = len(touched(course.history, names))
    return problem or course.torn()


def _fair(course: _Course) -> str:
    """Both wait, team a came first; when the GPUs become free each gets its share, at once and for good."""
    if problem := course.prepare():
        return problem
    everybody = course.plan.everybody()
    for team in course.plan.jobs:
        course.submit(team)
    if problem := course.settle(lambda: course.all_wait(*everybody)):
        return problem
    course.release()

    def wrong() -> str:
        lost = touched(course.history, everybody)
        return f"{', '.join(lost)} lost pods" if lost else course.plan.above(course.history, _SHARES)

    def reached() -> bool:
        return course.now == _SHARES and course.whole

    problem = course.settle(reached, wrong, _HOLD, "from the free GPUs to the shares")
    return problem or course.torn()


def _unlimited(course: _Course) -> str:
    """Only team a is there, and takes all."""
    return course.prepare() or course.fill()


def _limited(course: _Course) -> str:
    """Only team a is there; half of the GPUs stay free. When one of its gangs ends, another takes its place."""
    if problem := course.prepare():
        return problem
    course.submit("a")
    names = course.plan.names("a")

    def wrong() -> str:
        return course.plan.above(course.history, {"a": _LIMIT})

    def ended(job: str) -> bool:
        found = course.history.of(job)
        return bool(found) and all(item.ended for item in found)

    def full() -> bool:
        others = [job for job in names if not course.history.held(job) and not ended(job)]
        return course.now["a"] == _LIMIT and course.whole and course.all_wait(*others)

    if problem := course.settle(full, wrong, _HOLD):
        return problem
    first = next(job for job in names if course.history.held(job))
    finish(course.stand, course.history, first)
    return course.settle(lambda: ended(first) and full(), wrong, 1.0, "from the end of a gang to the next one")


def _run(plan: Plan, steps: Callable[[_Course], str]) -> Callable[[Stand], Outcome]:
    def run(stand: Stand) -> Outcome:
        spaces = [stand.namespace(f"-{team}") for team in WEIGHTS]
        with stand.watching(*spaces, also=[Subject(*QUEUE)]) as history:
            course = _Course(stand=stand, history=history, plan=plan, prefix=spaces[0].removesuffix("-a"))
            problem = steps(course)
        for team in plan.jobs:
            held_at_last = f"{course.now[team]} of {ALL}, {plan.most(history, team)} at most"
            course.figures[f"GPUs of team {team}"] = held_at_last
        return stand.outcome(history, problem, lines=plan.lines(history), figures=course.figures)

    return run


def _case(name: str, title: str, plan: Plan, steps: Callable[[_Course], str], *, control: bool = False) -> Case:
    return Case(
        "queues",
        name,
        title,
        control=control,
        wiring="",
        nodes=Nodes(NODES, NODE_GPUS),
        manifest=plan.manifest,
        run=_run(plan, steps),
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
