"""The places of the gang stage: as many as a gang has members, and one GPU each; and how a gang is written."""

from __future__ import annotations

import pytest

from kubeflow_volcano import foreign
from tests.bench.contestants import TUNED, contestants
from tests.bench.gangs import NODES, SIZES, member, node
from tests.places import ROOT

CONTESTANTS = contestants()
VOLCANO = CONTESTANTS["volcano"]


@pytest.mark.parametrize("size", SIZES)
def test_there_are_as_many_places_as_each_gang_has_members(size: int) -> None:
    wanted = member("gang", 0, VOLCANO, size)["spec"]["nodeSelector"].items()
    places = [node(number) for number in range(NODES) if wanted <= node(number)["metadata"]["labels"].items()]
    assert len(places) == size
    assert {item["status"]["allocatable"]["nvidia.com/gpu"] for item in places} == {"1"}


def test_a_gang_that_fits_may_go_anywhere() -> None:
    assert "nodeSelector" not in member("gang", 0, VOLCANO)["spec"]


@pytest.mark.parametrize("name", CONTESTANTS)
def test_pods_of_all_contestants_differ_only_in_what_names_scheduler_and_group(name: str) -> None:
    plain, pod = (member("gang", 3, CONTESTANTS[one], 2, "urgent") for one in ("default", name))
    assert pod["spec"].pop("schedulerName") == CONTESTANTS[name].scheduler
    del plain["spec"]["schedulerName"]
    joins = CONTESTANTS[name].joins("gang")
    for part in ("labels", "annotations"):
        assert joins.get("metadata", {}).get(part, {}).items() <= pod["metadata"].get(part, {}).items()
        pod["metadata"].pop(part, None)
        plain["metadata"].pop(part, None)
    for key, value in joins.get("spec", {}).items():
        assert pod["spec"].pop(key) == value
    assert pod == plain


def test_the_flags_that_are_measured_are_those_that_are_recommended() -> None:
    page = (ROOT / "docs/gang-scheduling.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("```yaml\nvolcano_scheduler_flags:")
    (recommended,) = foreign.parse(rest.partition("```")[0], "the page")
    assert [f"--{name}={value}" for name, value in recommended.items()] == list(TUNED)
