"""When a probe pod counts as ended."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.experiment.ended import phase_of
from tests.samples.facts import pod

RUNS: dict[str, Any] = {"running": {}}
ENDED: dict[str, Any] = {"terminated": {"exitCode": 0}}
FAILED: dict[str, Any] = {"terminated": {"exitCode": 1}}


@pytest.mark.parametrize(
    ("phase", "states", "expected"),
    [
        ("Pending", {}, "Pending"),
        ("Running", {"probe": RUNS}, "Running"),
        ("Succeeded", {"probe": ENDED}, "Succeeded"),
        ("Running", {"probe": ENDED, "linkerd-proxy": RUNS}, "Succeeded"),
        ("Running", {"linkerd-proxy": RUNS, "probe": FAILED}, "Failed"),
        ("Running", {"probe": RUNS, "linkerd-proxy": FAILED}, "Running"),
    ],
)
def test_a_container_beside_the_probes_own_does_not_keep_it_from_ending(
    phase: str, states: dict[str, Any], expected: str
) -> None:
    statuses = [{"name": name, "state": state} for name, state in states.items()]
    assert phase_of(pod("kfv/a", status={"phase": phase, "containerStatuses": statuses})) == expected


def test_a_pod_that_nobody_has_looked_at_is_pending() -> None:
    assert phase_of(pod("kfv/a", status={})) == "Pending"
