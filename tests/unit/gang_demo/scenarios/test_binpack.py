"""Fragmentation as a figure, and what differs between spreading and packing."""

from __future__ import annotations

import pytest

from kubeflow_volcano.gang_demo.scenarios.binpack import CASES, fragmentation, manifest


@pytest.mark.parametrize(
    ("free", "share"),
    [
        ([3, 3, 3, 3], 1.0),
        ([0, 4, 4, 4], 0.0),
        ([2, 2, 4, 4], pytest.approx(1 / 3)),
        ([0, 0, 0, 0], 0.0),
        ([], 0.0),
    ],
)
def test_fragmentation_is_the_share_of_free_gpus_that_a_member_cannot_use(free: list[int], share: float) -> None:
    assert fragmentation(free, 4) == share


def test_fragmentation_depends_on_what_is_asked_for() -> None:
    assert [fragmentation([1, 2, 3], asked) for asked in (1, 3, 4)] == [0.0, 0.5, 1.0]


def test_only_the_scheduler_of_the_small_pods_differs() -> None:
    spread, packed = (manifest("n", packed=packed) for packed in (False, True))

    assert {item["spec"]["schedulerName"] for item in spread[:-1]} == {"default-scheduler"}
    assert {item["spec"]["schedulerName"] for item in packed[:-1]} == {"volcano"}
    assert spread[-1] == packed[-1]
    assert {case.wiring for case in CASES} == {"volcano"}
