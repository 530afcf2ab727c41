"""Cases of several pictures from their beginning to their end, on a stage where every picture is written by hand."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.play.stand import Case, Stand
from kubeflow_volcano.gang_demo.scenarios import preemption, queues, volcano_job
from tests.samples.histories import deleted, group, history, pod, seen

Step = Callable[[History], object]
Picture = Sequence[Step]


class Stage:
    """Stands for a Stand and its cluster; each wait of the case sees the changes of the next picture, one by one."""

    def __init__(self, *pictures: Picture) -> None:
        self.pictures = iter(pictures)
        self.history = history()
        self.created: list[str] = []
        self.patched: list[str] = []
        self.taken: list[str] = []
        self.cluster = self

    def namespace(self, suffix: str = "") -> str:
        return f"n{suffix}"

    @contextlib.contextmanager
    def watching(self, *_: str, **__: object) -> Iterator[History]:
        yield self.history

    def create(self, *objects: Object) -> tuple[Object, ...]:
        self.created += [item["metadata"]["name"] for item in objects]
        return objects

    def patch(self, ref: Any, _: object) -> None:
        self.patched.append(ref.name)

    def delete_pods(self, record: History, *names: str) -> None:
        """Whatever is deleted, the next picture tells of it."""
        record.dismiss(*(item for item in record.present if item.name in names))
        self.taken += names

    def settle(self, _: History, reached: Callable[[], bool], wrong: Callable[[], str], __: float) -> str:
        for step in next(self.pictures):
            step(self.history)
            if problem := wrong():
                return problem
        return "" if reached() else "not settled"

    def outcome(self, _: History, problem: str, **more: Any) -> Any:
        return SimpleNamespace(problem=problem, **more)


def play(case: Case, *pictures: Picture) -> tuple[Any, Stage]:
    stage = Stage(*pictures)
    return case.run(cast("Stand", stage)), stage


def by_name(cases: Sequence[Case], name: str) -> Case:
    return next(case for case in cases if case.name == name)


def member(name: str, uid: str = "", **more: Any) -> Object:
    job, task, _ = name.rsplit("-", 2)
    made = pod(name, labels={"volcano.sh/job-name": job, "volcano.sh/task-spec": task}, **more)
    return made | {"metadata": made["metadata"] | {"uid": uid or name}}


def come(*items: Object) -> Step:
    return lambda record: seen(record, *items)


def go(*items: Object) -> Step:
    return lambda record: deleted(record, *items)


def gang(job: str, size: int, uid: str = "", **more: Any) -> list[Object]:
    return [member(f"{job}-worker-{number}", f"{uid}{job}-{number}", **more) for number in range(size)]


RUNS = gang("low", 4, node="x")
WAITS = gang("low", 4, "again-", judged=True)
URGENT = gang("urgent", 4, node="x")
ENDED = gang("urgent", 4, node="x", phase="Succeeded")


class TestPreemption:
    """Who goes for whom."""

    CASE = by_name(preemption.CASES, "preemption-whole")

    def test_the_other_goes_whole_and_comes_again(self) -> None:
        outcome, stage = play(
            self.CASE,
            [come(*RUNS)],
            [go(*RUNS), come(*URGENT), come(*WAITS)],
            [come(*ENDED), come(*gang("low", 4, "again-", node="x"))],
        )

        assert outcome.problem == ""
        assert stage.created == ["n-low", "n-urgent", "low", "urgent"]
        assert stage.patched == [f"urgent-worker-{number}" for number in range(4)]

    def test_not_when_half_of_it_stays(self) -> None:
        outcome, _ = play(self.CASE, [come(*RUNS)], [go(*RUNS[:2]), come(*URGENT[:2]), come(*WAITS[:2])])

        assert outcome.problem == "not settled"

    def test_without_priorities_nobody_goes(self) -> None:
        case = by_name(preemption.CASES, "preemption-equal")
        outcome, _ = play(case, [come(*RUNS)], [come(*gang("urgent", 4, judged=True)), go(RUNS[0])])

        assert outcome.problem.startswith("1 pod ")

    def test_for_a_gang_that_does_not_fit_nobody_goes(self) -> None:
        case = by_name(preemption.CASES, "preemption-fits-not")
        waits, starts = gang("urgent", 6, judged=True), gang("urgent", 1, node="x")

        assert play(case, [come(*RUNS)], [come(*waits)])[0].problem == ""
        assert "got a GPU" in play(case, [come(*RUNS)], [come(*waits), come(*starts)])[0].problem

    def test_the_default_scheduler_ends_a_gang_in_vain(self) -> None:
        case = by_name(preemption.CASES, "preemption-in-vain")
        outcome, _ = play(case, [come(*RUNS)], [go(*RUNS), come(*URGENT), come(*gang("urgent", 6)[4:])])

        assert outcome.problem == ""
        assert outcome.figures["evictions from the low gang"] == 4
        assert outcome.figures["pods of the urgent gang with a GPU"] == "4 of 6"


def opened(*names: str) -> Step:
    states = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "status": {"state": "Open"}}
    return come(*({**states, "metadata": {"name": name}} for name in names))


ALL = [item for number in range(1, 5) for item in gang(f"a-{number}", 2, node="x")]
B_WAITS, B_RUNS = gang("b-1", 2, judged=True), gang("b-1", 2, node="x")


class TestQueues:
    """Who has how much, and who gives back."""

    READY = (opened("n-a", "n-b"),)

    def test_one_gang_is_given_back_as_a_whole(self) -> None:
        back = [go(*ALL[:2]), come(*gang("a-1", 2, "again-", judged=True)), come(*B_RUNS)]
        outcome, _ = play(by_name(queues.CASES, "queues-reclaim"), self.READY, [come(*ALL)], back)

        assert outcome.problem == ""
        assert outcome.figures["gangs evicted"] == 1
        assert outcome.figures["GPUs of team a"] == "6 of 8, 8 at most"

    def test_two_that_lose_a_pod_each_are_too_many(self) -> None:
        torn = [come(*B_WAITS), go(ALL[0]), go(ALL[2])]
        outcome, _ = play(by_name(queues.CASES, "queues-reclaim"), self.READY, [come(*ALL)], torn)

        assert re.match("a-1, a-2 .*1 gang", outcome.problem)

    @pytest.mark.parametrize(("steps", "problem"), [([], ""), ([go(ALL[0])], "GPUs were reclaimed from a-1")])
    def test_what_is_not_reclaimable_is_kept(self, steps: Picture, problem: str) -> None:
        case = by_name(queues.CASES, "queues-kept")
        outcome, _ = play(case, self.READY, [come(*ALL)], [come(*B_WAITS), *steps])

        assert outcome.problem.startswith(problem)
        assert bool(outcome.problem) == bool(problem)

    def test_a_share_is_never_more_not_even_for_a_moment(self) -> None:
        others = [pod(f"other-{number}", node="x") for number in range(4)]
        waits = [item for team in "ab" for number in range(1, 5) for item in gang(f"{team}-{number}", 2, judged=True)]
        start = (self.READY[0], come(*others)), [come(*waits)]
        six, case = ALL[:6], by_name(queues.CASES, "queues-share")

        assert play(case, *start, [go(*others), come(*six), come(*B_RUNS)])[0].problem == ""
        above = play(case, *start, [go(*others), come(*six), come(ALL[6])])[0].problem
        assert re.match("team a .*7 GPUs.* 6$", above)

    def test_a_share_of_halves_is_none(self) -> None:
        others = [pod(f"other-{number}", node="x") for number in range(4)]
        waits = [item for team in "ab" for number in range(1, 5) for item in gang(f"{team}-{number}", 2, judged=True)]
        halves = [*ALL[:5], ALL[6]]
        start = (self.READY[0], come(*others)), [come(*waits)]
        outcome, stage = play(by_name(queues.CASES, "queues-share"), *start, [go(*others), come(*halves, *B_RUNS)])

        assert outcome.problem == "not settled"
        assert stage.taken == [f"other-{number}" for number in range(4)]

    def test_a_capability_of_halves_is_none(self) -> None:
        waits = gang("a-4", 2, judged=True)
        outcome, _ = play(
            by_name(queues.CASES, "queues-capability"), [opened("n-a")], [come(*ALL[:3], ALL[4]), come(*waits)]
        )

        assert outcome.problem == "not settled"

    def test_a_capability_holds_while_one_gang_follows_another(self) -> None:
        waits = [item for number in (3, 4) for item in gang(f"a-{number}", 2, judged=True)]
        ended = gang("a-1", 2, node="x", phase="Succeeded")
        case, first = by_name(queues.CASES, "queues-capability"), [come(*ALL[:4]), come(*waits)]

        outcome, stage = play(case, [opened("n-a")], first, [come(*ended), come(*ALL[4:6])])
        assert outcome.problem == ""
        assert stage.patched == ["a-1-worker-0", "a-1-worker-1"]
        outcome, _ = play(case, [opened("n-a")], [*first, come(ALL[4])])
        assert re.match("team a .*5 GPUs.* 4$", outcome.problem)


def whole(uid: str = "", **more: Any) -> list[Object]:
    names = [f"train-ps-{number}" for number in range(2)] + [f"train-worker-{number}" for number in range(4)]
    return [member(name, f"{uid}{name}", **more) for name in names]


def job(phase: str, retries: int = 0) -> Step:
    status = {"state": {"phase": phase}, "retryCount": retries}
    return come(new_object("batch.volcano.sh/v1alpha1", "Job", "train", "n", status=status))


class TestVolcanoJob:
    """A job that starts, starts again and ends as one."""

    OTHER = pod("other", node="x")
    HELD = ([come(OTHER)], [come(*whole(judged=True)), come(group("Inqueue", 6)), job("Pending")])
    STARTS: Picture = (go(OTHER), come(*whole(node="x")), job("Running"))
    AGAIN: Picture = (
        go(*whole()),
        job("Restarting", 1),
        job("Pending", 1),
        come(*whole("2-", node="x")),
        job("Running", 1),
    )

    @pytest.fixture(autouse=True)
    def no_plugins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(volcano_job.Training, "plugins", lambda _: "")

    def gang(self, *pictures: Picture) -> Any:
        return play(by_name(volcano_job.CASES, "vcjob-gang"), *self.HELD, *pictures)[0]

    def test_all_as_claimed(self) -> None:
        done = [come(*whole("2-", node="x", phase="Succeeded")[2:]), go(*whole("2-")[:2]), job("Completed", 1)]
        outcome = self.gang(self.STARTS, self.AGAIN, done)

        assert outcome.problem == ""
        assert outcome.figures["pods replaced when one was evicted"] == "6 of 6"

    def test_not_when_one_starts_while_a_gpu_is_missing(self) -> None:
        early = [*self.HELD[1], come(whole(node="x")[2])]
        outcome, _ = play(by_name(volcano_job.CASES, "vcjob-gang"), self.HELD[0], early)

        assert outcome.problem.startswith("1 of 6 pods ")

    def test_not_when_it_starts_again_in_part(self) -> None:
        part = [go(whole()[3]), come(whole("2-", node="x")[3])]

        assert re.search("train-worker-1 .*while train-ps-0", self.gang(self.STARTS, part).problem)

    def test_not_when_a_restart_was_not_counted(self) -> None:
        uncounted = [go(*whole()), come(*whole("2-", node="x")), job("Running")]

        assert "0 restarts" in self.gang(self.STARTS, uncounted).problem

    def test_without_policies_one_comes_again_and_the_job_goes_on(self) -> None:
        five = [come(*whole(node="x")[:5]), come(whole(judged=True)[5]), job("Running")]
        alone = [go(whole()[3]), come(whole("2-", node="x")[3])]
        ended = [*whole(phase="Succeeded", node="x")[2:]]
        ended[1] = whole("2-", phase="Succeeded", node="x")[3]
        case = by_name(volcano_job.CASES, "vcjob-loose")
        outcome, _ = play(case, self.HELD[0], five, [come(*whole(node="x"))], alone, [come(*ended)])

        assert outcome.problem == ""
        assert outcome.figures["pods replaced when one was evicted"] == "1 of 6"
        assert outcome.figures["parameter servers still running when all workers are done"] == "2 of 2"
