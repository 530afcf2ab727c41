"""Presets of Volcano's scheduler on its real programs: what each evicts, and that upstream's evicts nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubeflow_volcano.catalog.evictions.presets import PRESETS, UPSTREAM
from tests.integration.breaking import made, space
from tests.integration.test_explain_eviction import is_open, priority_class, queue, vcjob
from tests.integration.volcanos import GPUS, QUIET_SECONDS, Volcano, volcano
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

DESERVED = {"deserved": {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "2"}}


@pytest.fixture(scope="module", params=["1.30", "1.35"])
def stand(request: pytest.FixtureRequest) -> Iterator[Volcano]:
    with volcano(request.param) as found:
        yield found


def of_action(action: str) -> list[str]:
    return [name for name, preset in PRESETS.items() if action in preset.actions]


@pytest.mark.parametrize("preset", [UPSTREAM, *of_action("preempt")])
def test_an_urgent_gang_replaces_a_whole_gang_of_its_queue(stand: Volcano, preset: str) -> None:
    stand.installed(volcano_scheduler_preset=preset)
    with space(stand.cluster) as namespace:
        low, high = f"{namespace}-low", f"{namespace}-high"
        with made(stand.cluster, priority_class(low, 5), priority_class(high, 5000)):
            stand.create(namespace, vcjob("slow", GPUS, GPUS, priorityClassName=low))
            until(lambda: stand.placed(namespace, "slow") == [GPUS])
            stand.create(namespace, vcjob("urgent", GPUS, GPUS, priorityClassName=high))

            if preset == UPSTREAM:
                left = at_last(lambda: stand.placed(namespace, "slow", "urgent"), [0, GPUS], QUIET_SECONDS, every=1)
                assert left == [GPUS, 0]
            else:
                until(lambda: stand.placed(namespace, "slow", "urgent") == [0, GPUS], every=1)


@pytest.mark.parametrize("preset", [UPSTREAM, *of_action("reclaim")])
def test_a_queue_takes_back_its_share_for_a_whole_gang_and_no_more(stand: Volcano, preset: str) -> None:
    stand.installed(volcano_scheduler_preset=preset)
    with space(stand.cluster) as namespace:
        share = DESERVED if preset != UPSTREAM and PRESETS[preset].sharing == "capacity" else {}
        rich, owed = f"{namespace}-rich", f"{namespace}-owed"
        for name in (rich, owed):  # they go with the cluster
            stand.cluster.create(queue(name, **share))
        until(lambda: all(is_open(stand.cluster, name) for name in (rich, owed)))
        stand.create(namespace, vcjob("early", GPUS, 1, rich))
        until(lambda: stand.placed(namespace, "early") == [GPUS])
        stand.create(namespace, vcjob("late", 2, 2, owed))

        if preset == UPSTREAM:
            assert at_last(lambda: stand.placed(namespace, "early", "late"), [2, 2], QUIET_SECONDS, every=1) == [
                GPUS,
                0,
            ]
        else:
            until(lambda: stand.placed(namespace, "early", "late") == [2, 2], every=1)
            assert at_last(lambda: stand.placed(namespace, "early", "late"), [GPUS, 0], QUIET_SECONDS, every=1) == [
                2,
                2,
            ]
