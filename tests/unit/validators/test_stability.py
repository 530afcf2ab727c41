"""What counts as a turn for the worse between two sights of a pod."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from validators.stability import _kept
from validators.testing import instant, pod

NOT_READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}


def turns(before: Object, after: Object) -> tuple[int, int]:
    flapped: Counter[Ref] = Counter()
    restarted: Counter[Ref] = Counter()
    _kept({before["metadata"]["uid"]: before}, (after,), flapped, restarted)
    return flapped.total(), restarted.total()


def restarted(times: int) -> Object:
    found = pod("default/a")
    found["status"]["containerStatuses"][0]["restartCount"] = times
    return found


def test_ready_to_not_ready_is_a_turn_and_the_way_back_is_none() -> None:
    assert turns(pod("default/a"), pod("default/a", status=NOT_READY)) == (1, 0)
    assert turns(pod("default/a", status=NOT_READY), pod("default/a")) == (0, 0)
    assert turns(pod("default/a"), pod("default/a")) == (0, 0)


def test_restarts_are_counted() -> None:
    assert turns(restarted(1), restarted(3)) == (0, 2)


@pytest.mark.parametrize(
    "after",
    [
        {"status": NOT_READY | {"phase": "Succeeded"}},
        {"status": NOT_READY, "metadata": {"deletionTimestamp": instant(1)}},
        {"status": NOT_READY, "owner": "Job/j"},
        {"status": NOT_READY, "metadata": {"labels": {"kfv.io/run": "1"}}},
        {"status": NOT_READY, "metadata": {"uid": "another pod of that name"}},
    ],
)
def test_an_end_on_purpose_and_pods_of_probes_do_not_count(after: dict[str, Any]) -> None:
    assert turns(pod("default/a"), pod("default/a", **after)) == (0, 0)
