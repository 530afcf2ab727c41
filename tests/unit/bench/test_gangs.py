"""The places of the gang stage: as many as a gang has members, and one GPU each."""

from __future__ import annotations

import pytest

from kubeflow_volcano import foreign
from tests.bench.gangs import NODES, SIZES, TUNED, member, node
from tests.places import ROOT


@pytest.mark.parametrize("size", SIZES)
def test_there_are_as_many_places_as_each_gang_has_members(size: int) -> None:
    wanted = member(0, "volcano", size)["spec"]["nodeSelector"].items()
    places = [node(number) for number in range(NODES) if wanted <= node(number)["metadata"]["labels"].items()]
    assert len(places) == size
    assert {item["status"]["allocatable"]["nvidia.com/gpu"] for item in places} == {"1"}


def test_a_gang_that_fits_may_go_anywhere() -> None:
    assert "nodeSelector" not in member(0, "volcano", 0)["spec"]


def test_the_flags_that_are_measured_are_those_that_are_recommended() -> None:
    page = (ROOT / "docs/gang-scheduling.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("```yaml\nvolcano_scheduler_flags:")
    (recommended,) = foreign.parse(rest.partition("```")[0], "the page")
    assert [f"--{name}={value}" for name, value in recommended.items()] == list(TUNED)
