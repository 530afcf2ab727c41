"""Nodes that pull in processes of their own keep to one pace and know of each other's refusals."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from kubeflow_volcano.catalog.images.limits import Meaning
from kubeflow_volcano.hosts.pulling.ledger import Ledger, new_place
from tests.waiting import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def begun(directory: Path, clock: Clock, per_minute: int = 20, most_refusals: int = 3) -> Ledger:
    nodes = {"node-1": 4, "node-2": 0}
    path = directory / "ledger.json"
    return Ledger.begin(path, per_minute=per_minute, most_refusals=most_refusals, nodes=nodes, clock=clock)


def test_requests_of_all_nodes_together_keep_to_the_pace(tmp_path: Path, clock: Clock) -> None:
    ledger, other = begun(tmp_path, clock), Ledger(tmp_path / "ledger.json", clock)
    assert ledger.acquire(3) == 0
    assert other.acquire(3) == 9
    clock.now += 9
    assert other.acquire(3) == 0


def test_requests_that_turn_up_later_are_waited_for_by_the_next(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock)
    ledger.acquire(3)
    ledger.charge(11)
    assert ledger.acquire(3) == pytest.approx(42)


def test_a_registry_of_ones_own_sets_no_pace(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock, per_minute=0)
    assert [ledger.acquire(50) for _ in range(5)] == [0] * 5


def test_after_a_429_all_wait_a_minute_and_go_on_half_as_fast(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock)
    assert ledger.add("q.io/c:1", Meaning.RATE_LIMITED, "429")
    assert ledger.acquire(1) == 60
    clock.now += 60
    assert ledger.acquire(1) == 0
    assert ledger.acquire(1) == 6


def test_a_refused_image_is_barred_for_all_and_others_are_not(tmp_path: Path, clock: Clock) -> None:
    begun(tmp_path, clock).add("q.io/a:1", Meaning.REFUSED, "403")
    other = Ledger(tmp_path / "ledger.json", clock)
    assert other.barred("q.io/a:1") == "403"
    assert other.barred("q.io/b:1") == ""


def test_too_many_refusals_stop_everything_and_say_so(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock)
    ledger.add("q.io/a:1", Meaning.REFUSED, "403")
    assert ledger.add("q.io/c:1", Meaning.RATE_LIMITED, "429")
    assert ledger.barred("q.io/z:1") == ""
    ledger.add("q.io/b:1", Meaning.REFUSED, "404")
    assert ledger.barred("q.io/z:1").startswith("3 answers")


def test_401_bars_the_image_and_is_not_counted(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock)
    for number in range(9):
        ledger.add(f"q.io/{number}:1", Meaning.UNAUTHORIZED, "401")
    assert ledger.barred("q.io/3:1") == "401"
    assert ledger.barred("q.io/z:1") == ""


def test_5xx_counts_for_all_nodes_and_no_answer_for_none(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock)
    for meaning in (Meaning.SILENT, Meaning.UNTRUSTED, Meaning.FULL, Meaning.FAILED) * 3:
        ledger.add("q.io/a:1", meaning, "x")
    assert ledger.barred("q.io/z:1") == ""
    for _ in range(3):
        ledger.add("q.io/a:1", Meaning.UNAVAILABLE, "503")
    assert ledger.barred("q.io/z:1").startswith("3 answers")


def test_what_the_mirror_was_asked_before_counts_too(tmp_path: Path, clock: Clock) -> None:
    path, known = tmp_path / "ledger.json", {"q.io/a:1": "404"}
    ledger = Ledger.begin(
        path, per_minute=0, most_refusals=3, nodes={}, refusals=2, refused=known, digests={"q.io/b:1": "d"}, clock=clock
    )
    assert (ledger.barred("q.io/a:1"), ledger.barred("q.io/b:1"), ledger.digest("q.io/b:1")) == ("404", "", "d")
    ledger.add("q.io/c:1", Meaning.REFUSED, "404")
    assert ledger.barred("q.io/b:1").startswith("3 answers")


def test_the_first_digest_of_a_name_stays(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock)
    assert ledger.digest("q.io/a:1") == ""
    assert ledger.digest("q.io/a:1", "sha256:1") == "sha256:1"
    assert ledger.digest("q.io/a:1", "sha256:2") == "sha256:1"


def test_only_one_of_all_processes_tells_how_far_they_are(tmp_path: Path, clock: Clock) -> None:
    ledger, other = begun(tmp_path, clock), Ledger(tmp_path / "ledger.json", clock)
    assert ledger.to_report(10) is None
    clock.now += 10
    assert ledger.to_report(10) is not None
    assert other.to_report(10) is None


def test_a_node_is_done_with_as_many_as_it_says_and_in_the_end_with_all(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock)
    ledger.done("node-1", 3)
    assert ledger.read()["nodes"]["node-1"] == {"done": 3, "total": 4, "result": None}
    ledger.finish("node-1", {"pulled": []})
    assert ledger.read()["nodes"]["node-1"] == {"done": 4, "total": 4, "result": {"pulled": []}}


def test_what_interrupted_runs_left_is_removed_after_a_day_and_not_before(tmp_path: Path) -> None:
    old, recent = new_place(tmp_path), new_place(tmp_path)
    os.utime(old.parent, (0, 0))
    place = new_place(tmp_path)
    assert [path.parent.exists() for path in (old, recent, place)] == [False, True, True]


def _refuse_many(path: Path, process: int) -> None:
    for number in range(25):
        Ledger(path).add(f"q.io/{process}/{number}:1", Meaning.REFUSED, "404")


@pytest.mark.programs
def test_nothing_is_lost_when_several_processes_write_at_the_same_time(tmp_path: Path, clock: Clock) -> None:
    ledger = begun(tmp_path, clock, most_refusals=1000)
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=_refuse_many, args=(ledger.path, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0] * 4
    assert len(ledger.read()["refused"]) == 100
    assert ledger.read()["refusals"] == 100
    assert json.loads(ledger.path.read_text())["stopped"] == ""


def test_it_removes_its_own_files_only(tmp_path: Path, clock: Clock) -> None:
    place = new_place(tmp_path)
    ledger = begun(place.parent, clock)
    ledger.acquire(1)
    (place.parent / "notes").write_text("of a person")
    ledger.remove()
    assert [path.name for path in place.parent.iterdir()] == ["notes"]
    (place.parent / "notes").unlink()
    begun(place.parent, clock).remove()
    assert not [*tmp_path.iterdir()]
