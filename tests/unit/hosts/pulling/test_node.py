"""A node pulls what it lacks, once, and stops where going on would do harm. The runtime's answers are made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.hosts.pulling.ledger import Ledger
from kubeflow_volcano.hosts.pulling.node import Pulled, pull_images
from kubeflow_volcano.hosts.pulling.plan import Todo
from tests.waiting import Clock

D1, D2 = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
NAMES = tuple(f"q.io/a/b{number}:1" for number in range(6))
FORBIDDEN = "unexpected status from HEAD request to https://q.io/v2: 403 Forbidden"


class Runtime:
    """Answers pulls as kfv_pull_host does: with the digest D1, or by name as told."""

    def __init__(self, **answers: Any) -> None:
        self.asked: list[list[str]] = []
        self.answers: dict[str, list[dict[str, Any]]] = {
            name: value if isinstance(value, list) else [value] for name, value in answers.items()
        }

    def __call__(self, names: Sequence[str]) -> Iterable[Mapping[str, Any]]:
        self.asked.append(list(names))
        return [self._answer(name) for name in names]

    def _answer(self, name: str) -> dict[str, Any]:
        repository = name.partition("@")[0].rpartition(":")[0] or name.partition("@")[0]
        good = {
            "name": name,
            "state": "pulled",
            "error": "",
            "seconds": 1.0,
            "size": 1000,
            "digests": [f"{repository}@{D1}"],
            "layers": 2,
            "changed": True,
        }
        told = self.answers.get(name.rpartition("/")[2].partition(":")[0].partition("@")[0], [{}])
        return good | (told.pop(0) if len(told) > 1 else told[0])


def bad(error: str) -> dict[str, Any]:
    return {"state": "failed", "error": error, "changed": False}


CLOCK = Clock()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    nodes = {"node-1": len(NAMES), "node-2": len(NAMES)}
    return Ledger.begin(tmp_path / "ledger.json", per_minute=0, most_refusals=3, nodes=nodes, clock=CLOCK)


def pull(
    ledger: Ledger, runtime: Runtime, names: Sequence[str] = NAMES, node: str = "node-1", parallel: int = 1
) -> Pulled:
    todo = Todo(node, tuple(names), ("q.io/there:1",), {"q.io/gone:1": "gone upstream"})
    return pull_images(todo, ledger, runtime, parallel=parallel, disk_percent=80, wait=CLOCK.wait)


def test_everything_that_is_missing_is_pulled_once_and_summed_up(ledger: Ledger) -> None:
    runtime = Runtime()
    done = pull(ledger, runtime, parallel=4)
    assert [len(names) for names in runtime.asked] == [4, 2]
    assert done.pulled == list(NAMES)
    assert (done.changed, done.present, done.bytes, done.seconds) == (True, 1, 6000, 6.0)
    assert done.skipped == {"q.io/gone:1": "gone upstream"}
    assert ledger.read()["nodes"]["node-1"]["result"] == done.as_dict()


def test_nothing_to_do_asks_nobody_and_changes_nothing(ledger: Ledger) -> None:
    runtime = Runtime()
    done = pull(ledger, runtime, ())
    assert (runtime.asked, done.changed, done.pulled) == ([], False, [])


def test_an_image_that_came_unchanged_is_no_change(ledger: Ledger) -> None:
    done = pull(ledger, Runtime(b0={"changed": False}), NAMES[:1])
    assert (done.changed, done.pulled) == (False, [NAMES[0]])


def test_a_refused_image_is_asked_for_once_on_one_node_and_the_others_go_on(ledger: Ledger) -> None:
    first, second = Runtime(b1=bad(FORBIDDEN)), Runtime()
    one, two = pull(ledger, first), pull(ledger, second, node="node-2")
    assert sum(names.count(NAMES[1]) for names in first.asked) == 1
    assert all(NAMES[1] not in names for names in second.asked)
    assert one.refused == two.refused == {NAMES[1]: FORBIDDEN}
    assert len(two.pulled) == len(NAMES) - 1


def test_after_enough_refusals_nobody_asks_for_anything(ledger: Ledger) -> None:
    runtime = Runtime(**{f"b{number}": bad(FORBIDDEN) for number in range(6)})
    done = pull(ledger, runtime)
    other = Runtime()
    late = pull(ledger, other, node="node-2")
    assert len(runtime.asked) == 3
    assert set(done.refused) == set(NAMES[:3])
    (why,) = set(done.left.values())
    assert why.startswith("3 answers")
    assert other.asked == []
    assert (set(late.refused), set(late.left)) == (set(NAMES[:3]), set(NAMES[3:]))


def test_a_429_is_tried_once_more_at_the_end_and_a_minute_later(ledger: Ledger) -> None:
    runtime = Runtime(b0=[bad("429 Too Many Requests"), {}])
    before = CLOCK.now
    done = pull(ledger, runtime)
    assert CLOCK.now == before + 60
    assert runtime.asked[-1] == [NAMES[0]]
    assert len(done.pulled) == len(NAMES)
    assert ledger.read()["refusals"] == 1


def test_a_second_429_for_the_same_image_ends_the_pull(ledger: Ledger) -> None:
    runtime = Runtime(b0=bad("429 Too Many Requests"))
    done = pull(ledger, runtime, NAMES[:2])
    assert done.failed == {NAMES[0]: "429 Too Many Requests"}
    assert "429" in ledger.barred("q.io/any:1")


def test_a_full_disk_ends_this_node_with_what_is_there_and_needed(ledger: Ledger) -> None:
    disk = {"path": "/var/lib/containerd", "total": 100e9, "free": 15e9, "used_percent": 85.0}
    runtime = Runtime(b2={"state": "full", "disk": disk, "changed": False})
    done, other = pull(ledger, runtime), pull(ledger, Runtime(), node="node-2")
    assert done.pulled == list(NAMES[:2])
    assert set(done.left) == set(NAMES[2:])
    (why,) = set(done.left.values())
    for word in ("/var/lib/containerd ", "85 %", "15.0 GB free", "5.0 GB more"):
        assert word in why
    assert len(other.pulled) == len(NAMES)


@pytest.mark.parametrize(
    ("error", "stopped"),
    [
        ("no space left on device", "no space left on device"),
        ("x509: signed by unknown authority", "its certificate is not trusted: x509: signed by unknown authority"),
    ],
)
def test_what_the_next_image_would_meet_as_well_ends_this_node(ledger: Ledger, error: str, stopped: str) -> None:
    runtime = Runtime(b1=bad(error))
    done = pull(ledger, runtime)
    assert len(runtime.asked) == 2
    assert set(done.left.values()) == {stopped}
    assert ledger.barred("q.io/any:1") == ""


def test_three_times_no_answer_in_a_row_ends_this_node_and_two_do_not(ledger: Ledger) -> None:
    silent = bad("i/o timeout")
    two = pull(ledger, Runtime(b0=silent, b1=silent, b3=silent))
    three = pull(ledger, Runtime(b0=silent, b1=silent, b2=silent), node="node-2")
    assert len(two.pulled) == 3
    assert (len(three.pulled), len(three.failed), len(three.left)) == (0, 3, 3)


def test_an_image_with_another_digest_than_the_registrys_is_named_with_both(ledger: Ledger) -> None:
    ledger.digest(NAMES[0], D2)
    done = pull(ledger, Runtime(), NAMES[:1])
    assert done.pulled == []
    assert D1 in done.failed[NAMES[0]]
    assert D2 in done.failed[NAMES[0]]
    assert done.changed


def test_where_the_registry_says_nothing_nodes_are_held_against_the_first(ledger: Ledger) -> None:
    first = pull(ledger, Runtime(), NAMES[:1])
    second = pull(ledger, Runtime(b0={"digests": [f"q.io/a/b0@{D2}"]}), NAMES[:1], node="node-2")
    assert first.failed == {}
    assert re.search(f"{D2} on .*{D1}", second.failed[NAMES[0]])


def test_a_digest_in_the_name_goes_before_what_anybody_says(ledger: Ledger) -> None:
    name = f"q.io/a/b0@{D1}"
    ledger.digest(name, D2)
    assert pull(ledger, Runtime(), [name]).pulled == [name]
    wrong = pull(ledger, Runtime(b0={"digests": [f"q.io/a/b0@{D2}", f"q.io/else@{D1}"]}), [name], node="node-2")
    assert f"{D1} by its" in wrong.failed[name]
