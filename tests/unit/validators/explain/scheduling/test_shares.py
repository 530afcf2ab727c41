"""Shares of queues by weight, and the pods that ask for nothing."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.scheduling.shares import Share, divide
from tests.samples.jobs import explained, group, healthy, member, reasons, tfjob


def share(weight: int, wanted: int, ceiling: int | None = None, guarantee: int = 0) -> Share:
    most = {} if ceiling is None else {"cpu": Decimal(ceiling)}
    return Share(weight, most, {"cpu": Decimal(guarantee)}, wanted={"cpu": Decimal(wanted)})


def deserved(cpu: int, **queues: Share) -> dict[str, int]:
    divide(queues, {"cpu": Decimal(cpu)})
    return {name: int(item.deserved["cpu"]) for name, item in queues.items()}


def test_what_one_does_not_want_goes_to_the_others() -> None:
    assert deserved(8, a=share(1, 8), b=share(1, 8)) == {"a": 4, "b": 4}
    assert deserved(8, a=share(3, 8), b=share(1, 8)) == {"a": 6, "b": 2}
    assert deserved(8, a=share(1, 8), b=share(1, 1)) == {"a": 7, "b": 1}
    assert deserved(8, a=share(1, 8, ceiling=2), b=share(1, 8)) == {"a": 2, "b": 6}
    assert deserved(8, a=share(1, 1, guarantee=3), b=share(1, 8))["a"] == 3
    assert deserved(8, a=share(1, 2), b=share(1, 2)) == {"a": 2, "b": 2}


def queue(name: str, weight: int = 1) -> Object:
    found = next(item for item in healthy() if item["kind"] == "Queue")
    found["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    return found | {"spec": {"weight": weight}}


def rivals(weight: int, *, other_waits: bool = True) -> list[str]:
    """Queue a holds 4 of 8 CPUs and wants 2 more; another job in b of that many CPUs waits for a label."""
    job, held, other = tfjob(cpu="2", workers=1), tfjob("held"), tfjob("other")
    around = [
        queue("a", weight),
        queue("b"),
        group(held, 1, phase="Running", queue="a"),
        member(held, on="n1", cpu="4"),
    ]
    if other_waits:
        around += [group(other, 1, phase="Inqueue", queue="b")]
        around += [member(other, cpu="4", spec={"nodeSelector": {"disk": "ssd"}})]
    return reasons(explained(job, group(job, 1, phase="Inqueue", queue="a"), member(job, cpu="2"), *around))


def test_a_queue_that_has_its_share_waits_although_nodes_have_room() -> None:
    assert rivals(1) == ["OverShare"]
    assert rivals(3) == ["Unexplained"]
    assert rivals(1, other_waits=False) == ["Unexplained"]


def test_what_others_are_guaranteed_is_kept_from_a_queue() -> None:
    """8 CPUs, of which 5 are guaranteed to queue b: 4 are one too many."""
    other = queue("b")
    other["spec"]["guarantee"] = {"resource": {"cpu": "5"}}
    job = tfjob(workers=4)
    answer = explained(job, group(job, 4, cpu="4"), other)
    assert reasons(answer) == ["GuaranteedToOthers"]
    assert re.search(r"\b4 .*, 3 of 8", answer.findings[0].problem.found)
    assert reasons(explained(job, group(job, 4, cpu="3"), other)) == ["Unexplained"]
    assert reasons(explained(job, group(job, 4, cpu="4", queue="b"), other)) == ["Unexplained"]


def behind(image: str = "volcanosh/vc-scheduler:v1.10.0", *, cpu: str = "0", phase: str = "Inqueue") -> list[str]:
    """A job that asks for nothing, and somebody's pod that does neither and fits no node."""
    scheduler = next(item for item in healthy() if item["metadata"]["name"] == "volcano-scheduler")
    scheduler["spec"]["template"]["spec"]["containers"][0]["image"] = image
    job, other = tfjob(workers=1, cpu=cpu), tfjob("other")
    stuck = member(other, cpu="0", spec={"nodeSelector": {"disk": "ssd"}})
    around = [scheduler, group(other, 1, phase=phase), stuck]
    return reasons(explained(job, group(job, 1, phase="Inqueue"), member(job, cpu=cpu), *around))


def test_a_pod_without_requests_waits_behind_one_that_fits_nowhere() -> None:
    assert behind() == ["BehindBestEffort"]
    assert behind("volcanosh/vc-scheduler:v1.12.0") == ["Unexplained"]
    assert behind(cpu="1") == ["Unexplained"]
    assert behind(phase="Pending") == ["Unexplained"]


def test_a_pod_of_another_namespace_that_lacks_its_claim_stops_those_behind_it() -> None:
    job, other = tfjob(workers=1, cpu="0"), tfjob("other")
    ahead, stuck = group(other, 1, phase="Inqueue"), member(other, cpu="0")
    for item in (ahead, stuck):
        item["metadata"]["namespace"] = "elsewhere"
    asked = [job, group(job, 1, phase="Inqueue"), member(job, cpu="0"), ahead, stuck]
    assert reasons(explained(*asked)) == ["Unexplained"]
    said = {"type": "PodScheduled", "status": "False", "message": 'persistentvolumeclaim "data" not found'}
    stuck["status"]["conditions"] = [said]
    assert reasons(explained(*asked)) == ["BehindBestEffort"]


@pytest.mark.parametrize("cpu", ["0", "1"])
def test_a_gang_does_not_wait_for_its_pods_without_requests(cpu: str) -> None:
    job = tfjob(workers=2, cpu="0")
    parts = [member(job, 0, on="n1", cpu=cpu), member(job, 1, cpu="0")]
    found = {item.reason: item.blocks for item in explained(job, group(job, 2, phase="Inqueue"), *parts).findings}
    assert found["NotHeldTogether"] is False
    asks = [member(job, 0, on="n1"), member(job, 1)]
    assert "NotHeldTogether" not in reasons(explained(job, group(job, 2, phase="Inqueue"), *asks))
