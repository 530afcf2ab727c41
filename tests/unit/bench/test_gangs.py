"""The places of the gang stage: as many as a gang has members, and one GPU each."""

from __future__ import annotations

import pytest

from tests.bench.gangs import NODES, SIZES, member, node


@pytest.mark.parametrize("size", SIZES)
def test_there_are_as_many_places_as_each_gang_has_members(size: int) -> None:
    wanted = member(0, "volcano", size)["spec"]["nodeSelector"].items()
    places = [node(number) for number in range(NODES) if wanted <= node(number)["metadata"]["labels"].items()]
    assert len(places) == size
    assert {item["status"]["allocatable"]["nvidia.com/gpu"] for item in places} == {"1"}


def test_a_gang_that_fits_may_go_anywhere() -> None:
    assert "nodeSelector" not in member(0, "volcano", 0)["spec"]
