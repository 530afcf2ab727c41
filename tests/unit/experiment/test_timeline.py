"""Which runs of events are drawn, and with what."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.experiment.timeline import picture_of, pictures


def event(seconds: float, name: str, what: str = "created") -> dict[str, str]:
    return {"at": f"2026-01-01T00:00:{seconds:06.3f}Z", "name": name, "event": what.partition(" ")[0], "what": what}


def item(id_: str, category: str, *events: dict[str, str], **observed: Any) -> dict[str, Any]:
    return {"id": id_, "category": category, "observed": {"events": list(events), **observed}}


def test_a_job_through_the_operator_is_drawn_as_well_and_other_events_are_not() -> None:
    checks = [item("C10", "workloads", event(0, "x")), item("G6", "operator", event(0, "w-0"), groups={"w": "Inqueue"})]
    (picture,) = pictures({"checks": checks})
    assert ([check["id"] for check in picture.checks], picture.title) == (["G6"], "")
    assert [row.name for row in picture.rows] == ["w-0"]


def test_controls_are_drawn_behind_their_check_with_their_own_groups() -> None:
    control = {"title": "the same without", "groups": {"g": "Running"}, "events": [event(5, "g"), event(7, "a0")]}
    first, second = pictures({"checks": [item("H6", "gang", event(0, "a0"), event(1, "a1"), controls=[control])]})
    assert ([row.name for row in first.rows], first.seconds) == (["a0", "a1"], 1.06)
    assert (second.title, second.checks, second.seconds) == ("the same without", (), 2.12)
    assert [(row.name, row.is_group) for row in second.rows] == [("a0", False), ("g", True)]


def test_a_step_that_goes_on_with_another_is_drawn_with_it() -> None:
    checks = [item("H2", "gang", event(0, "p0")), item("H3", "gang", event(0, "p0"), event(2, "p3"))]
    (picture,) = pictures({"checks": checks})
    assert [check["id"] for check in picture.checks] == ["H2", "H3"]


def test_a_run_that_belongs_to_no_check_is_drawn_until_its_pods_have_ended() -> None:
    picture = picture_of(
        [event(0, "w"), event(1, "w", "bound to n"), event(3, "w", "ended"), event(4, "g")], ["g"], "one"
    )
    bars = [(bar.kind, bar.x, bar.width) for bar in picture.rows[0].bars]
    assert (picture.title, picture.seconds) == ("one", 4.24)
    assert bars == [("waiting", 0, 236), ("bound", 236, 472)]
    assert [(row.name, row.is_group) for row in picture.rows] == [("w", False), ("g", True)]


def test_a_pod_that_is_made_anew_is_drawn_again() -> None:
    told = ["created", "bound to n", "deleted by another client", "created", "judged", "bound to m"]
    picture = picture_of([event(second, "w", what) for second, what in enumerate(told)], [], "one")
    bars = [(bar.kind, bar.x, bar.width) for bar in picture.rows[0].bars]
    assert [kind for kind, _, _ in bars] == ["waiting", "bound", "waiting", "bound"]
    assert [(mark.kind, mark.x) for mark in picture.rows[0].marks] == [("lost", 377), ("judged", 755)]


def test_what_holds_to_the_end_of_the_watch_is_drawn_so_long() -> None:
    picture = picture_of([event(0, "w"), event(1, "w", "bound to n")], [], "one", "2026-01-01T00:00:10Z")
    assert round(picture.seconds, 3) == 10.6
    assert [(bar.kind, bar.x, bar.width) for bar in picture.rows[0].bars] == [("waiting", 0, 94), ("bound", 94, 906)]
