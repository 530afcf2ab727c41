"""In which order a roll-out changes a cluster; what it applies is tested on real ones (tests/integration)."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, Self

import pytest

from kubeflow_volcano.apply.problems import not_ready
from kubeflow_volcano.apply.result import ApplyResult
from kubeflow_volcano.apply.schedule import LOCK_LOST
from kubeflow_volcano.catalog.symptoms.read import symptoms
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.readiness import Readiness, State
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.settings.settings import parse


def stale(events: list[str]) -> Any:
    """What a run does about stale objects, as a list of events; it is tested on a real cluster."""
    return SimpleNamespace(
        remove_unserved_webhooks=lambda: events.append("webhooks removed"),
        prune=lambda: events.append("pruned"),
        warn=lambda: events.append("stale named"),
        record=lambda: events.append("recorded"),
    )


def test_the_password_is_kept_under_the_lock_and_before_the_first_object(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Lock:
        def __init__(self, *_: object) -> None:
            self.lost = threading.Event()

        def __enter__(self) -> Self:
            events.append("locked")
            return self

        def __exit__(self, *_: object) -> None:
            events.append("free")

    monkeypatch.setattr(run, "Lock", Lock)
    monkeypatch.setattr(run, "keep_password", lambda *_: events.append("kept"))
    monkeypatch.setattr(run, "StaleObjects", lambda *_: stale(events))
    for name in ("ensure_namespace", "record_created_queues", "record_run"):
        monkeypatch.setattr(run, name, lambda *_, **__: None)
    engine: Any = SimpleNamespace(
        parts={}, apply=lambda: events.append("applied"), result=lambda: None, deadline=Deadline(60)
    )
    prepared: Any = SimpleNamespace(settings=parse({}))

    run._locked(SimpleNamespace(), engine, prepared, silent)  # type: ignore[arg-type]  # noqa: SLF001  the order is the point

    assert events == ["locked", "kept", "webhooks removed", "applied", "stale named", "recorded", "free"]


@pytest.mark.parametrize(
    ("reason", "message", "symptom"),
    [
        ("ErrImagePull", "Head https://m.lan/v2/a/manifests/1: 403 Forbidden", "refused"),
        ("ErrImagePull", "no match for platform in manifest sha256:5c3f: not found", "platform"),
        ("CreateContainerError", "failed to generate spec: no command specified", "no-command"),
        ("ImagePullBackOff", "Back-off pulling image a/b:1", ""),
        ("CrashLoopBackOff", "401 Unauthorized", ""),
    ],
)
def test_an_image_that_does_not_arrive_is_told_as_checks_tell_it(reason: str, message: str, symptom: str) -> None:
    answer = Readiness(State.FAILED, reason, message)
    problem = not_ready("Katib", answer, Deadline(60), run._explained)  # noqa: SLF001  what the engine is given
    known = {item.id: item for item in symptoms()}
    assert [item.id for item in known.values() if item.todo in problem.todo] == ([symptom] if symptom else [])
    assert not symptom or known[symptom].cause in problem.found


@pytest.mark.parametrize("arrives", [True, False])
def test_a_rollout_of_volcano_is_done_when_its_scheduler_has_made_the_default_queue(
    monkeypatch: pytest.MonkeyPatch, *, arrives: bool
) -> None:
    events: list[str] = []
    monkeypatch.setattr(run, "reconcile_queues", lambda *_: events.append("reconciled"))
    for name in ("delete_unused_companions", "restart_older_operators", "wait_for_former_pods"):
        monkeypatch.setattr(run, name, lambda *_: None)

    def wait(refs: list[Ref]) -> bool:
        events.extend(map(str, refs))
        return arrives

    prepared: Any = SimpleNamespace(settings=parse({}), scope=SimpleNamespace(parts=()))
    nothing = ApplyResult((), (), 0.0)
    engine: Any = SimpleNamespace(parts={"volcano": ()}, wait=wait, check=False, result=lambda: nothing)
    run._finish(engine, prepared)  # noqa: SLF001  the order is the point
    assert events == ["Queue default", "reconciled"][: 1 + arrives]


@pytest.mark.parametrize("exists", [True, False])
def test_a_refused_object_of_volcano_leaves_the_queues_to_a_scheduler_that_works(
    monkeypatch: pytest.MonkeyPatch, *, exists: bool
) -> None:
    """Nothing is waited for in vain; without the Queue default the run says what was left undone."""
    events: list[str] = []
    monkeypatch.setattr(run, "reconcile_queues", lambda *_: events.append("reconciled"))
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "volcano-system"}}
    problems: list[Problem] = []
    engine: Any = SimpleNamespace(
        parts={"volcano": (service,)},
        check=False,
        cluster=SimpleNamespace(get=lambda _ref: {} if exists else None),
        is_waited_for=lambda _ref: False,
        add_problem=problems.append,
    )
    run._queues(engine, parse({"volcano_queues": [{"name": "research"}]}))  # noqa: SLF001  one step of several
    assert events == ["reconciled"] * exists
    assert ["volcano_queues" in item.found for item in problems] == [True] * (not exists)


def test_after_a_failure_the_last_steps_follow_and_nothing_is_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Lock:
        def __init__(self, *_: object) -> None:
            self.lost = threading.Event()

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    stale = SimpleNamespace(prune=lambda: events.append("pruned"))
    for step in ("remove_unserved_webhooks", "warn", "record"):
        setattr(stale, step, lambda: None)
    monkeypatch.setattr(run, "Lock", Lock)
    monkeypatch.setattr(run, "StaleObjects", lambda *_: stale)
    monkeypatch.setattr(run, "_finish", lambda *_: events.append("last steps"))
    for name in ("ensure_namespace", "keep_password", "record_created_queues", "record_run"):
        monkeypatch.setattr(run, name, lambda *_, **__: None)
    result = ApplyResult((), (Problem("refused", "", ""),), 0.0)
    engine: Any = SimpleNamespace(
        parts={},
        apply=lambda: True,
        finish=lambda: events.append("waited"),
        result=lambda: result,
        deadline=Deadline(60),
    )
    prepared: Any = SimpleNamespace(settings=parse({}))
    assert run._locked(SimpleNamespace(), engine, prepared, silent) is result  # type: ignore[arg-type]  # noqa: SLF001
    assert events == ["waited", "last steps"]


def test_without_the_lock_the_last_steps_are_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lock:
        def __init__(self, *_: object) -> None:
            self.lost = threading.Event()

        def __enter__(self) -> Self:
            self.lost.set()
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(run, "Lock", Lock)
    for name in ("ensure_namespace", "keep_password", "record_created_queues", "record_run"):
        monkeypatch.setattr(run, name, lambda *_, **__: None)
    monkeypatch.setattr(run, "StaleObjects", lambda *_: stale([]))
    problems: list[Problem] = []
    engine: Any = SimpleNamespace(
        parts={},
        apply=lambda: True,
        finish=lambda: True,
        result=lambda: None,
        deadline=Deadline(60),
        add_problem=problems.append,
    )
    prepared: Any = SimpleNamespace(settings=parse({}))
    run._locked(SimpleNamespace(), engine, prepared, silent)  # type: ignore[arg-type]  # noqa: SLF001
    assert problems[0].reason == LOCK_LOST
