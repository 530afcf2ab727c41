"""The places of the gang stage: as many as a gang has members, and one GPU each; and how a gang is written."""

from __future__ import annotations

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from tests.bench.contestants import TUNED, contestants
from tests.bench.gangs import NODES, SIZES, Stage, member, node
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


def test_no_pod_has_the_name_of_an_earlier_one() -> None:
    """KWOK deletes pods by name, late on a busy machine: once, six members of the next gang."""
    asked: list[str] = []
    listed = Change(Subject("v1", "Pod"), "RESET", (), 0.0)
    for _ in range(2):
        stage = Stage("", 0, lambda gangs, *_: asked.extend(name for name, _ in gangs), iter([listed]), lambda: (0, 0))
        histories = stage.ask(("gang", 2), ("other", 2))
        assert [item.name for item in histories] == asked[-2:]
    assert len(set(asked)) == len(asked)


def test_the_flags_that_are_measured_are_those_that_are_recommended() -> None:
    page = (ROOT / "docs/gang-scheduling.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("```yaml\nvolcano_scheduler_flags:")
    (recommended,) = foreign.parse(rest.partition("```")[0], "the page")
    assert [f"--{name}={value}" for name, value in recommended.items()] == list(TUNED)
