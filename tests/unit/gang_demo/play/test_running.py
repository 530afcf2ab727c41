"""Whether a case can be judged by what went on beside it, and what comes of one that cannot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.gang_demo.catalogue import CASES
from kubeflow_volcano.gang_demo.model import Outcome
from kubeflow_volcano.gang_demo.play import running
from kubeflow_volcano.gang_demo.play.running import play, play_all, pods_of_programs, versions
from kubeflow_volcano.gang_demo.play.stand import Stand
from kubeflow_volcano.progress import silent
from tests.samples.histories import deleted, history, pod

GOOD = Outcome("source", "source-default", "first", control=True, problem="", seconds=1.0)


class Programs:
    """Stands for the cluster: Volcano's scheduler alone, whose pod may have started at another time at each look."""

    def __init__(self, *starts: str, phase: str = "Running") -> None:
        self.version = {"gitVersion": "v1.30.2"}
        self.starts: Iterator[str] = iter(starts)
        self.phase = phase

    def get(self, ref: Ref) -> Object | None:
        if ref.name != "volcano-scheduler":
            return None
        containers = [{"image": "docker.io/volcanosh/vc-scheduler:v1.10.0"}]
        return {
            "spec": {
                "selector": {"matchLabels": {"app": "s", "part": "t"}},
                "template": {"spec": {"containers": containers}},
            }
        }

    def list(self, *_: str, labels: str, **__: str) -> Any:
        assert labels == "app=s,part=t"
        status = {"phase": self.phase, "containerStatuses": [{"state": {"running": {"startedAt": next(self.starts)}}}]}
        return SimpleNamespace(items=({"metadata": {"uid": "u"}, "status": status},))


def played(cluster: Programs, run: Callable[[Any], Outcome], doubt: str = "") -> Outcome:
    def outcome(_: object, problem: str) -> Outcome:
        return replace(GOOD, problem=problem)

    made = SimpleNamespace(cluster=cluster, find_doubt=lambda: doubt, outcome=outcome, histories=[])
    return play(run, cast("Stand", made))


class TestPlay:
    """One case."""

    def test_a_quiet_one_is_judged_and_says_what_it_ran_on(self) -> None:
        found = played(Programs("1", "1"), lambda _: GOOD)

        assert (found.judged, found.verdict) == (True, "as claimed")
        assert found.versions == {"Kubernetes": "1.30.2", "Volcano": "1.10.0"}

    @pytest.mark.parametrize("problem", ["", "too many"])
    def test_not_when_a_scheduler_started_anew_whatever_came_out(self, problem: str) -> None:
        found = played(Programs("1", "2"), lambda _: replace(GOOD, problem=problem))

        assert re.match("inconclusive: .*Volcano", found.verdict)

    @pytest.mark.parametrize("problem", ["", "too many"])
    def test_not_when_the_history_is_doubtful(self, problem: str) -> None:
        doubt = "the watch broke off"
        found = played(Programs("1", "1"), lambda _: replace(GOOD, problem=problem), doubt)

        assert found.verdict == f"inconclusive: {doubt}"

    def test_not_when_it_broke_off(self) -> None:
        def run(_: Stand) -> Outcome:
            raise NotServed("kubeflow.org/v1", "TFJob")

        assert played(Programs("1", "1"), run).verdict.startswith("inconclusive: it broke")


def test_doubt_is_that_of_any_history_of_the_case() -> None:
    gone = pod("a", node="x")
    nothing = cast("Any", None)
    records = [history(), deleted(history(gone), gone)]

    assert "from outside" in Stand(nothing, nothing, nothing, nothing, nothing, records).find_doubt()


def test_a_pod_that_does_not_run_is_none() -> None:
    now, ended = (pods_of_programs(cast("Cluster", Programs("1", phase=phase))) for phase in ("Running", "Failed"))

    assert (bool(now["Volcano"]), bool(ended["Volcano"]), bool(now["training operator"])) == (True, False, False)
    assert versions(cast("Cluster", Programs())) == {"Kubernetes": "1.30.2", "Volcano": "1.10.0"}


class TestRunAll:
    """A case that could not be judged is played once more."""

    UNSURE = replace(GOOD, problem="the watch broke off", judged=False)
    WRONG = replace(GOOD, problem="too many")

    @staticmethod
    def run(monkeypatch: pytest.MonkeyPatch, *outcomes: Outcome, left: tuple[object, ...] = ()) -> list[Outcome]:
        ends = iter(outcomes)
        session = SimpleNamespace(tracked=(), close=lambda: SimpleNamespace(left=left))
        monkeypatch.setattr(running, "_played", lambda *_: (session, next(ends)))
        found = play_all(cast("Cluster", None), CASES[:1], lambda _: None, silent)
        assert not list(ends), "all were asked for"
        return found

    def test_and_what_then_comes_out_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch, self.UNSURE, self.WRONG) == [self.WRONG]
        assert self.run(monkeypatch, self.UNSURE, self.UNSURE) == [self.UNSURE]

    def test_a_verdict_is_final(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch, self.WRONG) == [self.WRONG]
        assert self.run(monkeypatch, GOOD) == [GOOD]

    def test_not_beside_what_could_not_be_removed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        item = SimpleNamespace(ref="Pod n/a", why="it stays")
        (found,) = self.run(monkeypatch, self.UNSURE, left=(item,))

        assert found.problem.startswith(self.UNSURE.problem)
        assert found.problem.endswith(f": {item.ref} {item.why}")
