"""What counts as a job in a queue."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Listing
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.cluster.watch.observer import Change
from kubeflow_volcano.rollout.queues.view import SUBJECTS, QueueView, list_queues, state_of
from tests.unit.rollout.queues.queue_stand import Store, group, queue


def job(name: str, phase: str, queue: str = "a") -> Object:
    status = {"state": {"phase": phase}}
    return new_object("v", "Job", name, "team-a", spec={"queue": queue}, status=status)


def view(*objects: Object) -> Any:
    store: Any = Store()
    store.put(*objects)
    return QueueView.read(store)


def test_a_job_is_told_once_and_by_the_name_that_its_owner_gave_it() -> None:
    found = view(
        queue("a"),
        group("mnist-1", "a", owner="mnist"),
        group("bare", "a", "Pending"),
        group("other", "b"),
        job("own", "Running"),
    )
    assert found.jobs("a") == [
        "Job team-a/own (Running)",
        "PodGroup team-a/bare (Pending)",
        "TFJob team-a/mnist (Running)",
    ]
    assert found.jobs("b") == ["PodGroup team-a/other (Running)"]


@pytest.mark.parametrize(("phase", "inside"), [("Completed", False), ("Failed", False), ("Aborted", True), ("", True)])
def test_a_job_of_volcano_counts_until_it_can_never_run_again(phase: str, inside: bool) -> None:  # noqa: FBT001  a column of the table
    assert bool(view(job("own", phase)).jobs("a")) is inside


def test_a_podgroup_counts_as_long_as_it_is_there() -> None:
    assert view(group("done", "a", "Completed")).jobs("a") == ["PodGroup team-a/done (Completed)"]


def test_what_names_no_queue_is_in_the_default_one() -> None:
    bare = group("bare", "a")
    bare["spec"] = None
    assert view(bare).jobs("default") == ["PodGroup team-a/bare (Running)"]


def test_a_queue_is_empty_when_it_is_closed_without_jobs_and_parts() -> None:
    assert view(queue("a", "Closed")).is_drained("a")
    assert not view(queue("a", "Closing")).is_drained("a")
    assert not view(queue("a", "Closed"), group("g", "a")).is_drained("a")
    assert not view(queue("a", "Closed"), queue("b", parent="a")).is_drained("a")
    assert not view().is_drained("a")


def test_a_queue_that_no_controller_has_seen_is_open() -> None:
    assert state_of({"metadata": {"name": "a"}}) == "Open"


def test_news_are_taken_in() -> None:
    found = QueueView()
    for subject in SUBJECTS:
        assert not found.complete
        found.take(Change(subject, "RESET", (), 0))
    assert found.complete
    found.take(Change(SUBJECTS[1], "ADDED", (group("g", "a"),), 0))
    assert found.jobs("a")
    found.take(Change(SUBJECTS[1], "DELETED", (group("g", "a"),), 0))
    assert not found.jobs("a")


def test_without_volcano_there_is_no_queue() -> None:
    class Bare:
        def list(self, api: str, kind: str) -> Listing:
            raise NotServed(api, kind)

    cluster: Any = Bare()
    assert list_queues(cluster) == {}
