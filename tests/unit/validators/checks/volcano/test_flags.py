"""F1 where Volcano's own programs are up and do nothing for jobs."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.checks.volcano import second, volcano
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import facts
from tests.unit.validators.checks.volcano.test_second import OWN, WORKLOADS, part


@pytest.mark.parametrize(
    ("program", "words", "status"),
    [
        ("scheduler", ["--scheduler-name=vc"], "OtherName"),
        ("scheduler", ["--scheduler-name=vc", "--scheduler-name=volcano"], ""),
        ("controllers", ["--controllers=*,-job-controller"], "ControllerOff"),
        ("controllers", ["--controllers=gc-controller,pg-controller"], "ControllerOff"),
        ("controllers", ["--controllers=*,-gc-controller"], ""),
        ("controllers", ["--controllers=+job-controller"], ""),
    ],
)
def test_flags_that_leave_jobs_out_are_named(program: str, words: list[str], status: str) -> None:
    changed = part(program, "volcano-system", *words)
    others = [item for item in OWN if item["metadata"]["name"] != f"volcano-{program}"]
    outcome = volcano.components(facts(changed, *others, workloads=WORKLOADS, known={second.RIGHTS: {}}))
    assert (outcome.reason, Ref.of(changed) in outcome.objects) == (status or "AsClaimed", True)


@pytest.mark.parametrize(("may", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_a_scheduler_without_rights_fails(may: bool, status: Status) -> None:  # noqa: FBT001  a parameter
    ref = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
    outcome = volcano.components(facts(*OWN, workloads=WORKLOADS, known={second.RIGHTS: {ref: may}}))
    assert outcome.status is status
    assert may or (outcome.reason, outcome.objects) == ("WithoutRights", (ref,))
